"""A model's answers to masks, kept so that no mask of an input is computed twice, whoever asks for it.

Any number of threads may ask. While one computes a mask, others that need it wait for the answer; after `PATIENCE`
seconds they compute it themselves, because the first may itself be waiting for its turn.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from threading import Condition
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from explainers.models.meter import Meter

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]
Compute = Callable[[Masks], Floats]  # (B, units) → (B, C)

MOST_BYTES = 64 * 2**20  # about 200,000 answers with two classes
ANSWER_BYTES = 320  # of one answer besides its numbers: the mask, the array and their place in the dict
PATIENCE = 2.0  # seconds
LOOK = 0.1  # seconds between two looks of a waiting thread at whether it was stopped


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
