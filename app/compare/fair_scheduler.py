"""Whose turn it is to compute: a few at once, quick work of all sessions first, then slices in turn.

A run computes in a thread of its own and gives way between two batches of the model; nobody is interrupted.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from threading import Condition

SLICE = 0.5  # seconds for which a run may compute while others of its kind wait
CHECK = 0.5  # seconds between two looks of a waiting run at whether it is still wanted


@dataclass(eq=False)
class Turn:
    """The place of one computation. `quick` work goes before all other; `number` is its place among its kind."""

    quick: bool = True
    number: int = 0
    used: float = 0.0  # seconds of its slice before quick work went first; with these it keeps its place
    began: float = 0.0  # of the present slice
    waits: bool = False  # in line for its turn

    @property
    def rank(self) -> tuple[bool, int]:
        return not self.quick, self.number


@dataclass(eq=False)
class FairScheduler:
    at_once: int
    changed: Condition = field(default_factory=Condition)
    waiting: list[Turn] = field(default_factory=list)
    computing: set[Turn] = field(default_factory=set)
    numbers: "count[int]" = field(default_factory=count)

    def pause(self, turn: Turn, check: Callable[[], None]) -> None:
        """Between two batches, and before the first: blocks until it is this one's turn.

        `check` is called at once, and twice a second while it waits; it may raise to leave the line.
        """
        check()
        with self.changed:
            if turn in self.computing:
                if not self._gives_way(turn):
                    return
                self._release(turn)
            self._take(turn, check)

    def _gives_way(self, turn: Turn) -> bool:
        """Return whether others go first: because they are quicker, or because the slice is used up."""
        first = min(self.waiting, key=lambda other: other.rank, default=None)
        used = time.monotonic() - turn.began
        used_up = used >= SLICE
        if first is None or not (first.quick > turn.quick or (used_up and first.quick == turn.quick)):
            return False
        turn.used = 0.0 if used_up else used
        return True

    def _take(self, turn: Turn, check: Callable[[], None]) -> None:
        if turn.used == 0.0:
            turn.number = next(self.numbers)
        self.waiting.append(turn)
        turn.waits = True
        try:
            while not self._is_next(turn):
                self.changed.wait(CHECK)
                check()
            self.computing.add(turn)
        finally:
            self.waiting.remove(turn)
            self.changed.notify_all()  # another one may be next now
            turn.waits = False
            turn.began = time.monotonic() - turn.used

    def leave(self, turn: Turn) -> None:
        """The computation is over, or waits for something else than the processor."""
        with self.changed:
            self._release(turn)

    def ahead_of(self, turn: Turn) -> int:
        """How many have to give way before this one computes; 0 for one that does."""
        with self.changed:
            if turn not in self.waiting or len(self.computing) < self.at_once:
                return 0
            return 1 + sum(other.rank < turn.rank for other in self.waiting)

    def _release(self, turn: Turn) -> None:
        self.computing.discard(turn)
        self.changed.notify_all()

    def _is_next(self, turn: Turn) -> bool:
        first = min(self.waiting, key=lambda other: other.rank)
        return len(self.computing) < self.at_once and first is turn
