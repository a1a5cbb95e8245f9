"""What a model is asked: a meter counts its passes, and a cache keeps answers, so that none is computed twice.

A run has one meter, which can also be cancelled and paused, and is never shared between runs. Of the cache any number
of threads may ask. While one computes a mask, others that need it wait for the answer; after `PATIENCE` seconds they
compute it themselves, because the first may itself be waiting for its turn.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from threading import Condition, Event
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from explainers.errors import Cancelled

if TYPE_CHECKING:
    from threading import RLock

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]
Compute = Callable[[Masks], Floats]  # (B, units) → (B, C)

MOST_BYTES = 64 * 2**20  # about 200,000 answers with two classes
ANSWER_BYTES = 320  # of one answer besides its numbers: the mask, the array and their place in the dict
PATIENCE = 2.0  # seconds
LOOK = 0.1  # seconds between two looks of a waiting thread at whether it was stopped


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


class AskedInput(NamedTuple):
    """What besides the mask decides an answer. `content` is `Encoding.content_key`, without units erased for good."""

    model: str
    version: str
    device: str
    content: bytes
    erasure: str
    rounded: bool = False  # in bfloat16


@dataclass(eq=False)
class PredictionCache:
    """p(class) by input and mask, in about `most_bytes`: those about the input that was asked longest ago go first."""

    most_bytes: int = MOST_BYTES
    known: OrderedDict[AskedInput, dict[bytes, Floats]] = field(default_factory=OrderedDict)
    claimed: set[tuple[AskedInput, bytes]] = field(default_factory=set)  # some thread computes them
    changed: Condition = field(default_factory=Condition)

    def __len__(self) -> int:
        return sum(map(len, self.known.values()))

    def answers(self, asked: AskedInput, masks: Masks, compute: Compute, meter: Meter) -> Floats:
        """p(class) for masks (B, units) that differ from each other → (B, C).

        What is not known goes through `compute`; the rest is noted as `meter.pooled`. Raises `Cancelled` if the meter
        was stopped, also while it waits.
        """
        names = [row.tobytes() for row in np.packbits(masks, axis=1)]
        answers: dict[bytes, Floats] = {}
        computed, deadline = 0, time.monotonic() + PATIENCE
        meter.check()
        while missing := [row for row, name in enumerate(names) if name not in answers]:
            wanted = [names[row] for row in missing]
            mine = self._claim(asked, wanted, answers, patient=time.monotonic() < deadline)
            rows = [row for row in missing if names[row] in mine]
            if rows:
                answers |= self._computed(asked, [names[row] for row in rows], partial(compute, masks[rows]))
                computed += len(rows)
            elif any(name not in answers for name in wanted):
                self._wait(meter)
                meter.check()
        meter.pooled += len(names) - computed
        return np.stack([answers[name] for name in names])

    def _claim(
        self, asked: AskedInput, names: Sequence[bytes], answers: dict[bytes, Floats], *, patient: bool
    ) -> Collection[bytes]:
        """Adds what is known to `answers`. Returns the masks that the caller is to compute."""
        with self.changed:
            table = self.known.get(asked, {})
            answers |= {name: table[name] for name in names if name in table}
            others = self.claimed if patient else ()
            mine = {name for name in names if name not in table and (asked, name) not in others}
            self.claimed |= {(asked, name) for name in mine}
            if asked in self.known:
                self.known.move_to_end(asked)
        return mine

    def _computed(
        self, asked: AskedInput, names: Sequence[bytes], compute: Callable[[], Floats]
    ) -> dict[bytes, Floats]:
        """The answers to masks that this thread has claimed, which are then known to all."""
        new: dict[bytes, Floats] = {}
        try:
            new = dict(zip(names, compute(), strict=True))
        finally:
            with self.changed:
                self.claimed -= {(asked, name) for name in names}
                if new:
                    self._remember(asked, new)
                self.changed.notify_all()
        return new

    def _remember(self, asked: AskedInput, new: dict[bytes, Floats]) -> None:
        table = self.known.setdefault(asked, {})
        table |= {name: answer for name, answer in new.items() if name not in table}  # the first answer stays
        self.known.move_to_end(asked)
        while len(self.known) > 1 and sum(map(_bytes, self.known.values())) > self.most_bytes:
            self.known.popitem(last=False)
        most = self.most_bytes * len(table) // _bytes(table)
        for name in list(table)[: max(0, len(table) - most)]:
            del table[name]

    def _wait(self, meter: Meter) -> None:
        started = time.perf_counter()
        if meter.step_aside is not None:
            meter.step_aside()  # who computes the answer may be waiting for this turn
        with self.changed:
            self.changed.wait(LOOK)
        meter.waited += time.perf_counter() - started


def _bytes(table: dict[bytes, Floats]) -> int:
    """The size of answers about one input, which have equally many classes."""
    return sum(ANSWER_BYTES + answer.nbytes for answer in islice(table.values(), 1)) * len(table)
