import logging
import time
from threading import Event
from threading import enumerate as threads

import pytest

from app.operations.watch import LONGEST_PAUSE, Watch


class Looks:
    """Raises the next failure, or returns 5 s where it is None."""

    def __init__(self, *failures: str | None) -> None:
        self.failures = iter(failures)

    def __call__(self) -> float:
        failure = next(self.failures)
        if failure:
            raise OSError(failure)
        return 5.0


def test_pauses_double_up_to_a_minute_and_are_short_again_afterwards() -> None:
    watch = Watch("jobs", Looks(*["lost"] * 9, None, "lost"), pause=0.5)
    pauses = [watch.attempt() for _ in range(11)]
    assert pauses == [1, 2, 4, 8, 16, 32, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE, 5, 1]


def test_the_log_has_one_traceback_and_a_line_for_each_other_failure(caplog: pytest.LogCaptureFixture) -> None:
    watch = Watch("jobs", Looks(*["damaged"] * 50, *["full"] * 50, "damaged", None, "damaged"))
    with caplog.at_level(logging.INFO):
        for _ in range(103):
            watch.attempt()
    lines = [(record.getMessage(), record.exc_info is not None) for record in caplog.records]
    first = ("jobs: failed, the next attempts follow at longer intervals", True)
    again = ("jobs: works again after 101 failed attempts", False)
    assert lines == [first, ("jobs: OSError: full", False), again, first]


def test_it_looks_when_it_is_called_and_ends_when_it_is_closed() -> None:
    looked = Event()

    def look() -> float:
        looked.set()
        return 60.0

    watch = Watch("a watch", look)
    watch.start()
    assert looked.wait(60)
    looked.clear()
    watch.call()
    assert looked.wait(60)
    began = time.monotonic()
    watch.close()
    assert time.monotonic() - began < 60
    assert "a watch" not in {thread.name for thread in threads()}
