"""What the first page needs and would otherwise load late: parts of Streamlit's script, and the modules of the page.

Streamlit fetches the part that draws an element when the first such element arrives, and Python imports the page's
modules when its first visitor comes. Both begin earlier here.
"""

from functools import cache
from importlib import import_module
from threading import Thread

from app.streamlit_shims import late_scripts

MODULES = ("app.compare.views", "pandas", "app.train.view")  # of the page; Streamlit needs pandas for a component


@cache
def link_header() -> str:
    """Return the value of the header `Link` of the page; empty where Streamlit has renamed its scripts."""
    return ", ".join(f"<./static/js/{name}>; rel=modulepreload" for name in late_scripts())


def import_page() -> Thread:
    """Import the modules of the first page in the background."""
    thread = Thread(target=lambda: [import_module(name) for name in MODULES], name="imports", daemon=True)
    thread.start()
    return thread
