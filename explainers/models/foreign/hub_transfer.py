"""How far the downloads of one load are, and how they are stopped.

Whoever loads a model in a thread of its own says so with `transferring`; what is fetched from the hub in that thread
is counted in its `Transfer`. Importing this module loads neither torch nor the hub's library.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, cast


class TransferStopped(Exception):
    """Ends a download inside the hub's library."""


class Transfer:
    """The downloads of one load: `done` of `total` bytes, without files that were there before."""

    def __init__(self) -> None:
        self.total, self.done, self._before = 0, 0, 0
        self._changing, self._wanted = Lock(), True
        self.stopped = False  # and a download was ended by it

    def stop(self) -> None:
        """End it at the next block of bytes. What is there is kept, and another attempt goes on from it."""
        with self._changing:
            self._wanted = False

    def go_on(self) -> bool:
        """Take back `stop`; False where it has already ended a download."""
        with self._changing:
            self._wanted = not self.stopped
            return self._wanted

    def begin(self, total: int) -> None:
        """So many more bytes follow. Raises `TransferStopped` where it was stopped."""
        self._before, self.total = self.total, self.total + total
        self.check()

    def report(self, done: int) -> None:
        """So many bytes since `begin` are there. Raises `TransferStopped` where it was stopped."""
        self.done = max(self.done, self._before + done)
        self.check()

    def check(self) -> None:
        """Raises `TransferStopped` where it was stopped."""
        with self._changing:
            if not self._wanted:
                self.stopped = True
                raise TransferStopped

    @property
    def progress(self) -> str:
        """As in "120 of 438 MB"."""
        if self.total < 1e6:
            return f"{self.done / 1e3:,.0f} of {self.total / 1e3:,.0f} kB"
        return f"{self.done / 1e6:,.0f} of {self.total / 1e6:,.0f} MB"


_current: ContextVar[Transfer | None] = ContextVar("transfer", default=None)


@contextmanager
def transferring(transfer: Transfer) -> Iterator[None]:
    """What this thread fetches meanwhile is counted in `transfer`."""
    token = _current.set(transfer)
    try:
        yield
    finally:
        _current.reset(token)


def current_transfer() -> Transfer:
    """That of this thread, or one that nobody looks at."""
    return _current.get() or Transfer()


def progress_bar(of: Transfer) -> type[Any]:
    """The class of the bars that the hub's library draws, which also report how many bytes are there."""
    from huggingface_hub.utils.tqdm import tqdm

    class Reporting(tqdm):
        def __init__(self, *args: Any, **options: Any) -> None:
            self.counts, self.bytes = options.get("unit") == "B", 0
            super().__init__(*args, **options)  # type: ignore[no-untyped-call]

        def update(self, n: float | None = 1) -> bool | None:
            if self.counts:  # a bar that is not drawn has no number of its own
                self.bytes += int(n or 0)
                of.report(self.bytes)
            else:  # of the files: no further one begins
                of.check()
            return cast(bool | None, super().update(n))

    return Reporting
