"""Imports in a server where every session runs in a thread of its own: one thread imports at a time.

Python lets two threads import at once. Where one of them imports `package.part` while the other is in the middle of
`package`, which needs the part too, it gives one of them a module that is not complete, and the session ends with an
ImportError (NumPy with `numpy.typing`, SciPy with `scipy.spatial.distance`). So what a session needs before it draws is
imported here, and the modules of a page before the page runs. Those of the first page begin to load when the server
starts: else Python would import them when its first visitor comes.
"""

import sys
from importlib import import_module
from threading import RLock, Thread

FIRST_PAGE = ("app.compare.views", "pandas", "app.train.view")  # Streamlit needs pandas for a component
SESSION = ("app.server.login", "app.train.view")
PAGES = {  # by path in the address
    "": ("app.compare.views", "app.compare.question_form", "app.compare.drawing_options"),
    "annotate": ("app.annotate.page",),
    "reading": ("app.reading.view",),
    "evaluate": ("app.evaluate.form", "app.evaluate.view"),
    "interventions": ("app.interventions.examples", "app.interventions.interchange"),
    "train": ("app.train.form", "app.train.texts_form", "app.train.view"),
    "methods": ("app.reference.methods", "app.reference.narrators", "app.reference.papers"),
}
_importing = RLock()


def import_alone(*names: str) -> None:
    """Import the modules while no other thread imports by this function; at once if all of them are there."""
    if all(map(_is_complete, names)):
        return
    with _importing:
        for name in names:
            import_module(name)


def import_first_page() -> Thread:
    """Import the modules of the first page in the background, each by itself, so that a session may come between."""

    def work() -> None:
        for name in FIRST_PAGE:
            import_alone(name)

    thread = Thread(target=work, name="imports", daemon=True)
    thread.start()
    return thread


def _is_complete(name: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and not getattr(module.__spec__, "_initializing", False)
