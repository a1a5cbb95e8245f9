"""The cost of a run, its cancellation and its pauses: one meter per run, never shared between runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

from explainers.errors import Cancelled

if TYPE_CHECKING:
    from threading import RLock


class TimeOver(Exception):
    """A part of a run has taken as long as it may."""


@dataclass
class Meter:
    """`calls` counts inputs that went through the model, not batches; `seconds` is the time spent in the model.

    Of a text in windows, `asked` counts whole answers; of those of which a window had to be computed, `wholes` counts
    the answers and `parts` the windows.
    `pooled` counts those whose answers were known already, because the same mask had been computed before.
    `give_way` is called between two batches and may block, so that other runs go first; `step_aside` is called before
    the run waits for what another run computes, and gives up its turn until the next batch. `waited` are the seconds
    for which it waited, also for others that used the model. While a part is under way that may be broken off, `over`
    tells whether its time is over.
    """

    cancel: Event = field(default_factory=Event)
    calls: int = 0
    pooled: int = 0
    asked: int = 0
    wholes: int = 0
    parts: int = 0
    seconds: float = 0.0
    give_way: Callable[[], None] | None = field(default=None, repr=False)
    step_aside: Callable[[], None] | None = field(default=None, repr=False)
    waited: float = 0.0
    in_batch: bool = False
    over: Callable[[], bool] | None = field(default=None, repr=False)

    @property
    def used(self) -> int:
        """Answers that were used, computed now or before; what a method asks for itself does not depend on others."""
        return self.calls + self.pooled

    @property
    def answers(self) -> int:
        """As `used`; of a text in windows whole answers, each of which uses several."""
        return self.asked or self.used

    @property
    def passes_per_answer(self) -> float:
        """Return how many passes a new answer takes: more than one of a text in windows."""
        return self.parts / self.wholes if self.wholes else 1.0

    @contextmanager
    def windows(self, answers: int) -> Iterator[None]:
        """Around so many whole answers to a text in windows."""
        before = self.calls
        yield
        self.asked += answers
        if self.calls > before:
            self.wholes += answers
            self.parts += self.calls - before

    def pause(self) -> None:
        """Before a batch and before the model's lock is taken, because nobody may wait here who holds it."""
        if self.give_way is None or self.in_batch:
            return
        started = time.perf_counter()
        try:
            self.give_way()
        finally:
            self.waited += time.perf_counter() - started

    def check(self) -> None:
        """Raises `Cancelled` if the run was stopped, and `TimeOver` if the part under way has taken too long."""
        if self.cancel.is_set():
            raise Cancelled("Stopped.")
        if self.over is not None and self.over():
            raise TimeOver

    @contextmanager
    def ending(self, over: Callable[[], bool]) -> Iterator[None]:
        """Around a part of a run: once its time is `over`, no further batch of it begins."""
        before, self.over = self.over, over
        try:
            yield
        finally:
            self.over = before

    @contextmanager
    def locked_batch(self, lock: "RLock", rows: int) -> Iterator[None]:
        """A batch of a model whose other users wait for its lock; so may this one."""
        self.pause()
        started = time.perf_counter()
        with lock:
            self.waited += time.perf_counter() - started
            with self.batch(rows):
                yield

    @contextmanager
    def batch(self, rows: int) -> Iterator[None]:
        """Around each batch. Raises before it as `check` does."""
        outermost = not self.in_batch
        if outermost:
            self.check()
        self.in_batch = True
        started = time.perf_counter()
        try:
            yield
        finally:
            if outermost:
                self.seconds += time.perf_counter() - started
                self.in_batch = False
        self.calls += rows
