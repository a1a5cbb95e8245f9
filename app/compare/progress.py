"""Which runs no longer move, although nothing that they wait for does: for the health check of the server."""

import time
from dataclasses import dataclass, field
from threading import Thread

import psutil  # type: ignore[import-untyped]

from app.compare.runs import Run

STILL = 45.0  # seconds without progress; with the ten seconds between two looks a fault is reported within a minute
LONG = 600.0  # seconds for what reports no progress: loading a model, or one batch of a large model

Trace = tuple[object, ...]


@dataclass(eq=False)
class ProgressWatch:
    """Remembers since when each run has been as it is.

    A run moves while its status changes, it asks the model, columns settle, or its thread computes (a fit outside the
    model). A run that waits for its turn stands still with good reason as long as any other run moves.
    """

    traces: dict[Run, tuple[Trace, float]] = field(default_factory=dict)

    def standing(self, runs: list[Run], now: float | None = None) -> list[Run]:
        """Looks at `runs` at the time `now` (seconds, monotonic) and returns those that hang."""
        now = time.monotonic() if now is None else now
        computed = _processor_seconds()
        seen: dict[Run, tuple[Trace, float]] = {}
        for run in runs:
            trace = (run.status, run.meter.used, run.meter.in_batch, run.settled, int(_computed(run, computed)))
            before = self.traces.get(run)
            seen[run] = before if before is not None and before[0] == trace else (trace, now)
        self.traces = seen
        still = {run: now - since for run, (_, since) in seen.items()}
        moves = any(seconds <= STILL or self._may_take_long(run) for run, seconds in still.items())
        return [
            run
            for run, seconds in still.items()
            if seconds > LONG or (seconds > STILL and not self._may_take_long(run) and not (run.turn.waits and moves))
        ]

    @staticmethod
    def _may_take_long(run: Run) -> bool:
        return run.status == "loading" or run.meter.in_batch


def _processor_seconds() -> dict[int, float]:
    """Seconds of processor time by the system's number of a thread of this process."""
    return {thread.id: thread.user_time + thread.system_time for thread in psutil.Process().threads()}


def _computed(run: Run, computed: dict[int, float]) -> float:
    thread: Thread | None = run.thread
    return computed.get(thread.native_id or 0, 0.0) if thread is not None else 0.0
