"""Downloads from the hub that are on their way in this process: how far each is, and how one is stopped.

Importing this module loads neither torch nor the hub's library.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock
from typing import Any, cast


class TransferStopped(Exception):
    """Ends a download inside the hub's library."""


class Transfer:
    """One download: bytes that are there, those of earlier attempts included, of `total`."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self._stopped = Event()

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    def stop(self) -> None:
        """End it at the next block of bytes. What is there is kept, and another attempt goes on from it."""
        self._stopped.set()

    def report(self, done: int) -> None:
        """Raises `TransferStopped` where it was stopped."""
        self.done = max(self.done, done)
        if self.stopped:
            raise TransferStopped

    @property
    def progress(self) -> str:
        """As in "120 of 438 MB"."""
        if self.total < 1e6:
            return f"{self.done / 1e3:,.0f} of {self.total / 1e3:,.0f} kB"
        return f"{self.done / 1e6:,.0f} of {self.total / 1e6:,.0f} MB"


_transfers: dict[str, Transfer] = {}
_changing = Lock()


@contextmanager
def transfer(identifier: str, total: int) -> Iterator[Transfer]:
    """The download of a model, known by its id while it is on its way."""
    result = Transfer(total)
    with _changing:
        _transfers[identifier] = result
    try:
        yield result
    finally:
        with _changing:
            if _transfers.get(identifier) is result:
                del _transfers[identifier]


def transfer_of(identifier: str) -> Transfer | None:
    """None where nothing of this model is being downloaded."""
    return _transfers.get(identifier)


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
            return cast(bool | None, super().update(n))

    return Reporting
