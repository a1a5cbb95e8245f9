"""What the first page needs and Streamlit's page would load late: parts of its script, and the modules of the page.

Streamlit fetches the part that draws an element when the first such element arrives, and Python imports the page's
modules when its first visitor comes. Both begin earlier here.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from threading import Thread

from app.server.headers import INDEX

SCRIPTS = INDEX.parent / "static" / "js"
ELEMENTS = ("BidiComponent", "Html")  # that show results; a longer header would exceed what proxies accept
IMPORT = re.compile(r"""(?:from|import)\s*["']\./([\w.-]+\.js)["']""")
MODULES = ("app.compare.views", "pandas", "app.train.recovery")  # of the page; Streamlit needs pandas for a component


@cache
def link_header() -> str:
    """The value of the header `Link` of the page; empty where Streamlit has renamed its scripts."""
    drawing = [path.name for kind in ELEMENTS for path in SCRIPTS.glob(f"{kind}.*.js")]
    return ", ".join(f"<./static/js/{name}>; rel=modulepreload" for name in imported(drawing))


def imported(names: list[str]) -> Iterator[str]:
    """The scripts and all that they import, each once, without those that the page names or Streamlit does not have."""
    waiting, seen = list(names), set(re.findall(r"static/js/([\w.-]+\.js)", INDEX.read_text(encoding="utf-8")))
    while waiting:
        name = waiting.pop(0)
        if name not in seen and (SCRIPTS / name).is_file():
            seen.add(name)
            yield name
            waiting += IMPORT.findall((SCRIPTS / name).read_text(encoding="utf-8"))


def import_page() -> Thread:
    """Imports the modules of the first page in the background."""
    thread = Thread(target=lambda: [import_module(name) for name in MODULES], name="imports", daemon=True)
    thread.start()
    return thread
