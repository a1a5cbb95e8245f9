import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from app.model_pool import MODELS_KEPT, ModelPool
from explainers.errors import ModelUnavailable
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel


@pytest.fixture
def pool() -> Iterator[ModelPool]:
    pool = ModelPool()
    yield pool
    pool.wait()


def test_many_sessions_load_the_model_once(bert: FrozenModel, pool: ModelPool, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = []

    def load(name: str, **_rest: object) -> FrozenModel:
        loads.append(name)
        time.sleep(0.05)
        return bert

    monkeypatch.setattr(catalog, "load", load)
    pool.warm_up("bert")
    with ThreadPoolExecutor(8) as sessions:
        models = list(sessions.map(pool.model, ["bert"] * 8))
    assert loads == ["bert"]
    assert all(model is bert for model in models)
    assert pool.loaded("bert") is bert


def test_the_models_used_last_are_kept(bert: FrozenModel, pool: ModelPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: replace(bert, name=name))
    for name in ("one", "two", "one", "three"):
        pool.model(name)
    assert list(pool.models) == ["one", "three"]
    assert len(pool.models) == MODELS_KEPT
    assert pool.loaded("two") is None


def test_warming_up_a_model_that_is_not_there_harms_nothing(
    bert: FrozenModel, pool: ModelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str, **_rest: object) -> FrozenModel:
        if name != "bert":
            raise ModelUnavailable(f"The model {name!r} is not available.")
        return bert

    monkeypatch.setattr(catalog, "load", load)
    pool.warm_up("other")
    pool.wait()
    assert pool.loaded("other") is None
    assert pool.model("bert") is bert


def test_device_and_folders_come_from_the_environment(
    bert: FrozenModel, pool: ModelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments: list[object] = []

    def load(name: str, *, device: str, roots: tuple[object, ...]) -> FrozenModel:
        arguments.extend([device, *map(str, roots)])
        return bert

    monkeypatch.setattr(catalog, "load", load)
    monkeypatch.setenv("CROSSLIGHT_DEVICE", "cpu")
    monkeypatch.setenv("CROSSLIGHT_MODELS", "/one:/two")
    pool.model("bert")
    assert arguments == ["cpu", "/one", "/two"]
