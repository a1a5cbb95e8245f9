"""The results of load tests in Markdown; `python -m app.load.table` writes assets/docs/load.md from the stored ones."""

import json
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from app.load.measure import QUIET, SETTLED, SOAK_LOOK
from explainers.installation import ASSETS
from explainers.report.tables import Table, TableColumn, key_column

DOCS = ASSETS / "docs"
RESULTS, DOCUMENT = DOCS / "load", DOCS / "load.md"
CLIENTS = "clients"  # the stored result that compares clients
COMMAND = ".venv/bin/python -m app.load --start --model {model} {what} --out assets/docs/load/{name}.json"
HEAD = """# Load test

Tabs that speak the app's own protocol ask for one comparison after the other, each with a text of its own and no pause
in between, with the default methods. [How the test works](operations.md#load-test). The tables are written by
`.venv/bin/python -m app.load.table` from the results of the commands above them. "First column" and "all columns"
count from the moment at which the text is typed, ticks of the page included; memory and threads are the server's.

A run with another version of the program is not comparable: the version that was measured stands above each table.
"""


CLIENTS_HEAD = """## Why the test has a client of its own

Server and client share the machine. What the client uses is missing at the server, and what it lacks in memory ends the
test. The same tabs, in Chromium by Playwright and in the test's own client, with `one-layer` on {cores} cores, by
`.venv/bin/python -m app.load.clients`:

"""
CLIENTS_END = """
Chromium draws every tick of every tab: with {tabs} tabs it takes {times:.0f} times the processor time of the server
that it should measure, and each further tab about {memory:.0f} MB. So 32 tabs measure the browser. The own client takes
{own:.1%} of the server's time. A load generator such as Locust would not replace it: it brings neither a browser nor
Streamlit's protocol, so that all of app/load/client.py would still be needed, and what it does bring is a loop and a
median. Whether a crowd of real browsers is served rightly is tested apart from load: eight tabs in Chromium, each with
a text of its own (`make browser`, the tests marked `crowded`).
"""


def document() -> str:
    """Return the whole page."""
    stored = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}
    clients = stored.pop(CLIENTS)
    return "\n".join([HEAD, *(_section(name, result) for name, result in stored.items()), clients_section(clients)])


def clients_section(measured: dict[str, Any]) -> str:
    """Return what each client costs beside the server, and what follows."""
    costs = measured["costs"]
    most = {cost["client"]: cost for cost in costs}  # the last of each has the most tabs
    few = next(cost for cost in costs if cost["client"] == "Chromium")
    browser, own = most["Chromium"], most["own"]
    end = CLIENTS_END.format(
        tabs=browser["tabs"],
        times=browser["client_seconds"] / browser["server_seconds"],
        memory=(browser["memory"] - few["memory"]) / (browser["tabs"] - few["tabs"]),
        own=own["client_seconds"] / own["server_seconds"],
    )
    return CLIENTS_HEAD.format(cores=measured["cores"]) + _clients_table(measured["cores"]).markdown(costs) + "\n" + end


def _clients_table(cores: int) -> Table[Mapping[str, Any]]:
    def per_comparison(seconds: str) -> Callable[[Mapping[str, Any]], float]:
        return lambda cost: float(cost[seconds] / cost["comparisons"])

    def share(seconds: str) -> Callable[[Mapping[str, Any]], float]:
        return lambda cost: float(cost[seconds] / cost["seconds"] / cores)

    return Table(
        (
            key_column("client"),
            key_column("tabs"),
            key_column("comparisons"),
            TableColumn("client, s per comparison", per_comparison("client_seconds"), ".3f"),
            TableColumn("server, s per comparison", per_comparison("server_seconds"), ".3f"),
            TableColumn("client, share of the machine", share("client_seconds"), ".0%"),
            TableColumn("server, share of the machine", share("server_seconds"), ".0%"),
            key_column("memory", "client, MB", ",.0f"),
        )
    )


def _section(name: str, result: dict[str, Any]) -> str:
    settings, results = result["settings"], result["results"]
    model, minutes = settings["model"], f"{settings['minutes']:g}"
    soak = "tabs" in results[0]
    sessions = ",".join(str(result["sessions"]) for result in results) if not soak else ""
    what = f"--soak {minutes}" if soak else f"--sessions {sessions} --minutes {minutes}"
    title = f"## `{model}`, tabs that open and close for {minutes} minutes" if soak else f"## `{model}`"
    body = "\n".join(f"- {line}" for line in soak_lines(results[0])) if soak else table(results)
    command = COMMAND.format(model=model, what=what, name=name)
    machine = f"{settings['cores']} cores, Python {settings['python']}, version {settings.get('code', 'not recorded')}."
    return f"{title}\n\n{machine}\n\n```sh\n{command}\n```\n\n{body}\n"


def table(summaries: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table with a row for each number of sessions."""
    return SESSIONS.markdown(summaries)


def _seconds(values: Mapping[str, float]) -> str:
    return f"{values['median']:.2f} / {values['p95']:.2f}"


def _change(values: Sequence[float]) -> str:
    return " → ".join(f"{value:,.0f}" for value in values) or "–"


SESSIONS: Table[Mapping[str, Any]] = Table(
    (
        key_column("sessions"),
        key_column("comparisons"),
        key_column("first_column", "first column, median / p95, s", _seconds),
        key_column("all_columns", "all columns, median / p95, s", _seconds),
        key_column("errors"),
        key_column("refused"),
        key_column("per_session", "done per session", lambda ends: "{}–{}".format(*ends)),
        key_column("fairness", "slowest / fastest", ".2f"),
        key_column("memory", "memory, MB", _change),
        key_column("threads", written=_change),
    )
)


def soak_lines(summary: dict[str, Any]) -> Sequence[str]:
    """Return the sentences of a soak, for a terminal."""
    left = "unknown" if summary["left_over"] is None else str(summary["left_over"])
    settled, last, quiet = summary["threads"]
    return (
        f"{summary['tabs']} tabs in {summary['seconds']} s, {summary['comparisons']} comparisons seen to their end, "
        f"{summary['errors']} errors, {summary['refused']} refused.",
        f"Memory: {summary['memory_at_start']:,} MB at the start, {summary['memory_settled']:,} MB once settled, "
        f"{summary['memory_at_end']:,} MB at the end (at most {summary['peak_memory']:,} MB).",
        f"Mean memory of each five minutes: {', '.join(f'{mean:,.0f}' for mean in means(summary))} MB.",
        f"Threads: {settled} once settled, {last} at the end, {quiet} without tabs.",
        f"{QUIET:.0f} s after the last tab: {left} runs, {summary['idle_load']:.0%} of one core.",
    )


def means(summary: dict[str, Any]) -> list[float]:
    """Return the mean memory of each full five minutes in MB."""
    samples, window = summary["memory_by_sample"], int(SETTLED / SOAK_LOOK)
    return [fmean(samples[begin : begin + window]) for begin in range(0, len(samples) - window + 1, window)]


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
