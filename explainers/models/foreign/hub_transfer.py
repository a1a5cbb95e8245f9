"""How large the downloads of one load are, who allows them, how far they are, and how they are stopped.

Before anything is fetched, what was given to `asking` is called with the size; without it every download is allowed.
Whoever loads a model in a thread of its own says so with `transferring`; what is fetched from the hub in that thread
is counted in its `Transfer`. Importing this module loads neither torch nor the hub's library.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock
from typing import Any, cast

from explainers.errors import ModelUnavailable

LARGE = 500 * 10**6  # bytes; above, the page and the command line ask first


@dataclass(frozen=True)
class DownloadSize:
    """What would be fetched for one model: bytes, files, and the parameters of the model where the hub tells them."""

    bytes: int
    files: int
    parameters: int | None = None

    @property
    def amount(self) -> str:
        """As in "1.3 GB" or "87 MB"."""
        if self.bytes >= 1e9:
            return f"{self.bytes / 1e9:,.1f} GB"
        return f"{self.bytes / 1e6:,.0f} MB" if self.bytes >= 1e7 else f"{max(self.bytes / 1e6, 0.1):,.1f} MB"

    def __str__(self) -> str:
        count = "1 file" if self.files == 1 else f"{self.files} files"
        if self.parameters is None or self.parameters < 1e6:
            return f"{self.amount} in {count}"
        return f"{self.amount} in {count}, {self.parameters / 1e6:,.0f} million parameters"


class DownloadNotAllowed(ModelUnavailable):
    """Nothing was fetched: the download must be allowed first."""

    def __init__(
        self, name: str, size: DownloadSize, step: str = "", is_fetched: Callable[[], bool] = lambda: False
    ) -> None:
        """`step` is a sentence on how whoever reads it can allow the download; `is_fetched` tells whether somebody else
        has fetched the files meanwhile."""
        super().__init__(f"{name!r} is not on this machine; fetching it takes {size}. {step}".strip())
        self.name, self.size, self.is_fetched = name, size, is_fetched

    def with_step(self, step: str) -> "DownloadNotAllowed":
        return DownloadNotAllowed(self.name, self.size, step, self.is_fetched)


Allows = Callable[[str, DownloadSize], bool]  # of a model's name and what would be fetched


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


_allows: ContextVar[Allows] = ContextVar("allows", default=lambda _name, _size: True)


@contextmanager
def asking(allows: Allows) -> Iterator[None]:
    """Before this thread fetches a model meanwhile, it asks `allows`."""
    token = _allows.set(allows)
    try:
        yield
    finally:
        _allows.reset(token)


def at_most(most: int) -> Allows:
    """Allow downloads of at most so many bytes together: a head has an encoder, and may have a vision model and a
    tokenizer of its own."""
    left = most

    def allows(_name: str, size: DownloadSize) -> bool:
        nonlocal left
        if size.bytes > left:
            return False
        left -= size.bytes
        return True

    return allows


def check_allowed(name: str, size: DownloadSize, is_fetched: Callable[[], bool] = lambda: False) -> None:
    """Raises `DownloadNotAllowed`, which knows `is_fetched`, where the download is not allowed."""
    if size.bytes and not _allows.get()(name, size):
        raise DownloadNotAllowed(name, size, is_fetched=is_fetched)


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
