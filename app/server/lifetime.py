"""The life of the server: while it runs it tells how its parts are, and at its end they are stopped.

A part is the engine or the jobs; trainings are processes of their own, which go on. Nothing keeps the process alive for
long.

What the first page needs begins to load early: Streamlit fetches the part of its script that draws an element when the
first such element arrives, and Python would import the page's modules when its first visitor comes.
"""

import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module
from threading import Thread, Timer
from typing import Protocol
from weakref import WeakSet

import anyio.to_thread

from app import streamlit_shims
from app.operations.log_setup import set_up_log
from app.operations.status import StatusWriter
from app.server import memory
from app.streamlit_shims import late_scripts

log = logging.getLogger(__name__)

LONGEST = 8.0  # seconds after which the process ends whatever still runs
_parts: "WeakSet[Part]" = WeakSet()
MODULES = ("app.compare.views", "pandas", "app.train.view")  # of the page; Streamlit needs pandas for a component


class Part(Protocol):
    def snapshot(self) -> Mapping[str, object]:
        """Return numbers for the server's owner, as JSON; nothing that was typed."""
        ...

    def close(self) -> None:
        """Stop within a few seconds."""
        ...


def register(part: Part) -> None:
    """Put the part's snapshot into the status file, and close it when the server ends."""
    _parts.add(part)


def snapshot() -> dict[str, object]:
    return {name: value for part in list(_parts) for name, value in part.snapshot().items()}


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    """Set the server up, and close its parts at the end."""
    os.umask(0o077)  # what the app and its trainings write is for their owner alone
    set_up_log()
    memory.bound_arenas()
    streamlit_shims.send_at_once()
    for sentence in streamlit_shims.moved():
        log.warning(sentence)
    import_page()
    status = StatusWriter(snapshot).start()
    yield
    watchdog = Timer(LONGEST, _end)
    watchdog.daemon = True
    watchdog.start()
    for close in (*(part.close for part in list(_parts)), status.close):
        try:
            await anyio.to_thread.run_sync(close)
        except Exception:  # the others are closed as well
            log.exception("not closed")


def _end() -> None:
    log.warning("the server did not end within %.0f s and is ended", LONGEST)
    os._exit(0)


@cache
def link_header() -> str:
    """Return the value of the header `Link` of the page; empty where Streamlit has renamed its scripts."""
    return ", ".join(f"<./static/js/{name}>; rel=modulepreload" for name in late_scripts())


def import_page() -> Thread:
    """Import the modules of the first page in the background."""
    thread = Thread(target=lambda: [import_module(name) for name in MODULES], name="imports", daemon=True)
    thread.start()
    return thread
