"""What a session imports before it draws, one thread at a time.

Every session runs in a thread of its own, and Python lets two threads import at once. Where one of them imports
`package.part` while the other is in the middle of `package`, which needs the part too, it gives one of them a module
that is not complete, and the session ends with an ImportError (NumPy with `numpy.typing`). So the modules of the entry
and of a page are imported here before they run. Imports inside functions and those of the models are not among them.

The modules of the first page begin to load when the server starts: else its first visitor would wait for them.
"""

import logging
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
_importing = RLock()  # a module may import others here while it is imported
log = logging.getLogger(__name__)


def import_alone(*names: str) -> None:
    """Import the modules, each while no other thread imports here; at once if all of them are there."""
    for name in names:
        if not _is_complete(name):
            with _importing:
                import_module(name)


def import_first_page() -> Thread:
    """Import the modules of the first page in the background."""

    def work() -> None:
        for name in FIRST_PAGE:
            try:
                import_alone(name)
            except Exception:  # the page that needs it says so
                log.exception("%s cannot be imported", name)

    thread = Thread(target=work, name="imports", daemon=True)
    thread.start()
    return thread


def _is_complete(name: str) -> bool:
    module = sys.modules.get(name)
    return module is not None and not getattr(module.__spec__, "_initializing", False)
