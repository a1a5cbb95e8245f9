"""The life of the server: its log, how its parts are while it runs, its memory, and its end.

A part is the engine or the jobs; trainings are processes of their own, which go on. Nothing keeps the process alive for
long.

What the first page needs begins to load early: Streamlit fetches the part of its script that draws an element when the
first such element arrives.

The log is lines with time on the standard error, as Streamlit writes its own. Free memory goes back to the system:
Linux's C library is told so; elsewhere nothing happens.
"""

import ctypes
import logging
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from threading import Timer
from typing import Any, Protocol
from weakref import WeakSet

import anyio.to_thread

from app import streamlit_shims
from app.operations.status import StatusWriter
from app.server import imports

log = logging.getLogger(__name__)

LONGEST = 8.0  # seconds after which the process ends whatever still runs
_parts: "WeakSet[Part]" = WeakSet()
LEVEL_VARIABLE = "CROSSLIGHT_LOG"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
LOGGERS = ("app", "explainers")  # the loggers of all our modules are below these
FORMAT = "%(asctime)s %(levelname)-7s crosslight %(name)s: %(message)s"
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
M_ARENA_MAX = -8  # of malloc.h
ARENAS = 2  # as many as comparisons that compute at once; the default is eight for each core, and each keeps its own


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
    bound_arenas()
    streamlit_shims.send_at_once()
    for sentence in streamlit_shims.moved():
        log.warning(sentence)
    imports.import_first_page()
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
    return ", ".join(f"<./static/js/{name}>; rel=modulepreload" for name in streamlit_shims.late_scripts())


class OneLine(logging.Formatter):
    """A message is one line, whatever a library or a person has put into it; a traceback follows below it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = CONTROLS.sub(lambda sign: repr(sign.group())[1:-1], record.message)
        return super().formatMessage(record)


class OwnHandler(logging.StreamHandler[Any]):
    """Silent where the root has handlers, to which each record goes all the same: no line is written twice."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            super().emit(record)


def set_up_log() -> None:
    """Set the log up, once however often it is called; the level is that of CROSSLIGHT_LOG, else INFO."""
    wanted = os.environ.get(LEVEL_VARIABLE, "INFO").strip().upper()
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.setLevel(wanted if wanted in LEVELS else "INFO")
        if any(isinstance(handler, OwnHandler) for handler in logger.handlers):
            continue
        handler = OwnHandler()
        handler.setFormatter(OneLine(FORMAT))
        logger.addHandler(handler)
        if wanted not in LEVELS and name == LOGGERS[0]:
            logger.warning("%s is %r. Choose one of: %s.", LEVEL_VARIABLE, wanted, ", ".join(LEVELS))


def bound_arenas() -> None:
    """Bound what the C library keeps: every run has a thread of its own, and each thread would get an arena."""
    function = _function("mallopt")
    if function is not None:
        function(M_ARENA_MAX, ARENAS)


def release_memory() -> None:
    """Give back what is free now; takes some milliseconds."""
    function = _function("malloc_trim")
    if function is not None:
        function(0)


@cache
def _function(name: str) -> Callable[..., int] | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
