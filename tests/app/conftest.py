"""An engine with a small model, which can be held still between two of its batches."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Event

import pytest
from torch import nn

from app.engine import Engine, Request, Run
from explainers.models import catalog
from explainers.models.classifier import FrozenModel
from explainers.settings import Settings

QUICK = Settings(samples=50, steps=5)
METHODS = ("occlusion", "lime")  # one by one comes before sampled
PATIENCE = 20  # seconds


def finished(run: Run) -> Run:
    end = time.monotonic() + PATIENCE
    while run.active and time.monotonic() < end:
        time.sleep(0.002)
    assert not run.active, run.status
    return run


@dataclass
class Hold:
    """Stops the worker before the first batch for which `when` is true, and counts batches."""

    when: Callable[[], bool] = lambda: False
    reached: Event = field(default_factory=Event)
    go: Event = field(default_factory=Event)
    batches: int = 0

    def __call__(self, _module: nn.Module, _inputs: object) -> None:
        self.batches += 1
        if self.when() and not self.go.is_set():
            self.reached.set()
            assert self.go.wait(PATIENCE)


@pytest.fixture
def model(bag: Callable[..., FrozenModel]) -> FrozenModel:
    """p(positive) = σ(Σ weights); "good" speaks for it, "dull" against it."""
    return bag({"a": 0.0, "good": 2.0, "film": 0.25, "but": 0.0, "dull": -1.0})


@pytest.fixture
def hold(model: FrozenModel) -> Hold:
    found = Hold()
    model.module.register_forward_pre_hook(found)
    return found


@pytest.fixture
def engine(model: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr(catalog, "load", lambda name, *, device, roots: model)
    found = Engine()
    yield found
    for run in found.queue:
        run.stop()
    found.workers.shutdown(wait=True, cancel_futures=True)


@pytest.fixture
def over() -> Callable[[Run], Run]:
    """Waits for the end of a run."""
    return finished


@pytest.fixture
def request_for() -> Callable[..., Request]:
    def made(
        text: str = "a good film but dull",
        *,
        label: str | None = None,
        methods: tuple[str, ...] = METHODS,
        settings: Settings = QUICK,
        removed: tuple[int, ...] = (),
    ) -> Request:
        return Request("bag", text, label, methods, settings, removed)

    return made


@pytest.fixture
def ran(engine: Engine, request_for: Callable[..., Request]) -> Callable[..., Run]:
    """A run that is over."""

    def run(text: str = "a good film but dull", **rest: object) -> Run:
        return finished(engine.submit(request_for(text, **rest)))

    return run
