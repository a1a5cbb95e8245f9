"""Writes assets/docs/load.md from the stored results: `python -m app.load.document`."""

import json
from pathlib import Path
from typing import Any

from app.load.report import table
from app.load.soak import soak_lines

DOCS = Path(__file__).parents[2] / "assets" / "docs"
RESULTS, DOCUMENT = DOCS / "load", DOCS / "load.md"
COMMAND = ".venv/bin/python -m app.load --start --model {model} {what} --out assets/docs/load/{name}.json"
HEAD = """# Load test

Tabs that speak the app's own protocol ask for one comparison after the other, each with a text of its own and no pause
in between, with the default methods. [How the test works](operations.md#load-test). The tables are written by
`.venv/bin/python -m app.load.document` from the results of the commands above them. "First column" and "all columns"
count from the moment at which the text is typed, ticks of the page included; memory and threads are the server's.

A run with another version of the program is not comparable: the version that was measured stands above each table.
"""


def document() -> str:
    """The whole page."""
    stored = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}
    return "\n".join([HEAD, *(_section(name, result) for name, result in stored.items())])


def _section(name: str, result: dict[str, Any]) -> str:
    settings, results = result["settings"], result["results"]
    model, minutes = settings["model"], f"{settings['minutes']:g}"
    soak = "tabs" in results[0]
    sessions = ",".join(str(each["sessions"]) for each in results) if not soak else ""
    what = f"--soak {minutes}" if soak else f"--sessions {sessions} --minutes {minutes}"
    title = f"## `{model}`, tabs that open and close for {minutes} minutes" if soak else f"## `{model}`"
    body = "\n".join(f"- {line}" for line in soak_lines(results[0])) if soak else table(results)
    command = COMMAND.format(model=model, what=what, name=name)
    machine = f"{settings['cores']} cores, Python {settings['python']}, version {settings.get('code', 'not recorded')}."
    return f"{title}\n\n{machine}\n\n```sh\n{command}\n```\n\n{body}\n"


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
