"""A thread that looks after something at intervals, and keeps on when it fails: more rarely, and with few words."""

import logging
from collections.abc import Callable
from threading import Event, Thread

log = logging.getLogger(__name__)

LONGEST_PAUSE = 60.0  # seconds between two attempts while it fails


class Watch:
    """Calls `look`, which returns the seconds until the next call.

    While it raises, the pauses double from `pause` seconds to a minute; the log has one traceback of a series and one
    line for each further kind of failure.
    """

    def __init__(self, name: str, look: Callable[[], float], pause: float = 0.5) -> None:
        self.name, self.look, self.pause = name, look, pause
        self.failures: set[str] = set()  # the kinds of this series
        self.attempts = 0  # that failed, in this series
        self.called, self.closing = Event(), Event()
        self.thread = Thread(target=self._watch, name=name, daemon=True)

    def start(self) -> None:
        self.thread.start()

    def call(self) -> None:
        """End the pause."""
        self.called.set()

    def close(self) -> None:
        """Return when the thread has ended."""
        self.closing.set()
        self.called.set()
        if self.thread.is_alive():
            self.thread.join()

    def attempt(self) -> float:
        """Look once; return the seconds until the next time."""
        try:
            pause = self.look()
        except Exception as error:  # a full disk or a lost database must not end the watch
            self._note(error)
            self.attempts += 1
            return float(min(LONGEST_PAUSE, self.pause * 2 ** min(self.attempts, 20)))
        if self.attempts:
            log.info("%s: works again after %d failed attempts", self.name, self.attempts)
            self.failures, self.attempts = set(), 0
        return pause

    def _note(self, error: Exception) -> None:
        kind = f"{type(error).__name__}: {error}"
        if not self.failures:
            log.error("%s: failed, the next attempts follow at longer intervals", self.name, exc_info=error)
        elif kind not in self.failures:
            log.error("%s: %s", self.name, kind)
        self.failures.add(kind)

    def _watch(self) -> None:
        while not self.closing.is_set():
            self.called.wait(self.attempt())
            self.called.clear()
