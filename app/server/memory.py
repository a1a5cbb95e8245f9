"""Free memory goes back to the system: Linux's C library is told so; elsewhere nothing happens."""

import ctypes
import sys
from collections.abc import Callable
from functools import cache

M_ARENA_MAX = -8  # of malloc.h
ARENAS = 2  # as many as comparisons that compute at once; the default is eight for each core, and each keeps its own


def bound_arenas() -> None:
    """Bound what the C library keeps: every run has a thread of its own, and each thread would get an arena."""
    function = _function("mallopt")
    if function is not None:
        function(M_ARENA_MAX, ARENAS)


def release() -> None:
    """Give back what is free now; takes some milliseconds."""
    function = _function("malloc_trim")
    if function is not None:
        function(0)


@cache
def _function(name: str) -> Callable[..., int] | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
