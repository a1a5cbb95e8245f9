"""The cost of a run, and its cancellation: one meter per run, never shared between runs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event

from explainers.errors import Cancelled


@dataclass
class Meter:
    """`calls` counts inputs that went through the model, not batches; `seconds` is the time spent in the model."""

    cancel: Event = field(default_factory=Event)
    calls: int = 0
    seconds: float = 0.0

    @contextmanager
    def batch(self, rows: int) -> Iterator[None]:
        """Around each batch. Raises `Cancelled` before it if the run was stopped."""
        if self.cancel.is_set():
            raise Cancelled("Stopped.")
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - started
        self.calls += rows
