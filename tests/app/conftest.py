"""An engine with a small model, which can be held still between two of its batches."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Event

import pytest
from torch import nn

from app.compare.engine import Engine
from app.compare.runs import Request, Run
from app.model_pool import ModelPool
from explainers.datasets.example import Example
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel
from explainers.results.decision import Settings

QUICK = Settings(samples=50, steps=5)
METHODS = ("occlusion", "lime")  # one by one comes before sampled
PATIENCE = 120  # seconds


class Address(dict[str, str]):
    """As Streamlit's, in which a name may have several values."""

    def get_all(self, name: str) -> list[str]:
        value = self.get(name, [])
        return value if isinstance(value, list) else [value]

    def update(self, values: Mapping[str, str | list[str]] = {}) -> None:  # type: ignore[override]
        """In one step; a name without a value is not in the address."""
        for name, value in values.items():
            if value == []:
                self.pop(name, None)
            else:
                self[name] = value[0] if isinstance(value, list) and len(value) == 1 else value  # type: ignore[assignment]


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
    pause = Hold()
    model.module.register_forward_pre_hook(pause)
    return pause


@pytest.fixture
def pool(model: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelPool]:
    monkeypatch.setattr(catalog, "load", lambda name, *, device, roots: model)
    pool = ModelPool()
    yield pool
    pool.wait()


@pytest.fixture
def engine(pool: ModelPool) -> Iterator[Engine]:
    engine = Engine(pool)
    yield engine
    engine.close()


@pytest.fixture
def over() -> Callable[[Run], Run]:
    """Waits for the end of a run."""
    return finished


@pytest.fixture
def request_for() -> Callable[..., Request]:
    def request(
        text: str = "a good film but dull",
        *,
        label: str | None = None,
        methods: tuple[str, ...] = METHODS,
        settings: Settings = QUICK,
        removed: tuple[int, ...] = (),
        versus: str | None = None,
    ) -> Request:
        return Request("bag", Example(text), label, methods, settings, removed, versus=versus)

    return request


@pytest.fixture
def ran(engine: Engine, request_for: Callable[..., Request]) -> Callable[..., Run]:
    """A run that is over."""

    def run(text: str = "a good film but dull", **rest: object) -> Run:
        return finished(engine.submit(request_for(text, **rest)))

    return run


@pytest.fixture
def query() -> Address:
    return Address()
