import ast
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from threading import enumerate as running_threads

import pytest

import explainers
from app import model_pool
from app.model_pool import LATE_PARTS, MODELS_KEPT, ModelPool, Placed
from explainers.errors import Cancelled, ModelUnavailable
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel


@pytest.fixture(scope="module", autouse=True)
def nothing_warms_up() -> None:
    """Pages of earlier tests warm up theirs some seconds after they are drawn, by what is replaced here."""
    for thread in running_threads():
        if thread.name == "warm-up" or thread.name.startswith("load "):
            thread.join(timeout=60)
            assert not thread.is_alive(), thread.name


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


def test_warming_up_waits_until_the_page_is_drawn_or_a_model_is_needed(
    bert: FrozenModel, pool: ModelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []

    def load(name: str, **_rest: object) -> FrozenModel:
        loads.append(name)
        return replace(bert, name=name)

    monkeypatch.setattr(catalog, "load", load)
    for _ in range(2):
        pool.warm_up("later", after=60)  # once
    time.sleep(0.05)
    assert loads == []
    pool.model("now")
    pool.wait()
    assert sorted(loads) == ["later", "now"]
    pool.warm_up("later")
    assert len(pool.warming) == 1


def test_what_methods_import_as_they_run_is_imported_ahead() -> None:
    """Of other people's packages: those that the functions of methods and of the comparison import."""
    own, late = Path(explainers.__file__).parent, set()
    for path in (*own.glob("attribution/*.py"), *own.glob("comparison/*.py")):
        for function in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)):
            late |= {node.module for node in ast.walk(function) if isinstance(node, ast.ImportFrom)}
    assert {name for name in late if name.startswith(("captum", "scipy", "sklearn"))} == {"captum", "scipy.stats"}
    assert late & set(LATE_PARTS) == {"explainers.attribution.surrogate", "scipy.stats"}
    assert "captum.attr" in LATE_PARTS


def test_the_models_used_last_are_kept(bert: FrozenModel, pool: ModelPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: replace(bert, name=name))
    for name in ("one", "two", "one", "three"):
        pool.model(name)
    assert pool.names() == ["one", "three"]
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


def test_a_device_of_a_person_s_choice_has_a_model_of_its_own(
    bert: FrozenModel, pool: ModelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[tuple[str, str]] = []

    def load(name: str, *, device: str, roots: tuple[object, ...]) -> FrozenModel:
        loads.append((name, device))
        return replace(bert, name=name)

    monkeypatch.delenv("CROSSLIGHT_DEVICE", raising=False)
    monkeypatch.setattr(catalog, "available_devices", lambda: ("auto", "cpu", "cuda:0"))
    monkeypatch.setattr(catalog, "resolve_device", {"auto": "cpu", "cpu": "cpu", "cuda:0": "cuda:0"}.__getitem__)
    monkeypatch.setattr(catalog, "load", load)
    assert (pool.devices, pool.offered_devices()) == (None, ("auto",))  # torch is not there yet
    here = pool.model("bert", device="cuda:0")
    assert pool.offered_devices() == ("auto", "cpu", "cuda:0")
    assert pool.loaded("bert") is here
    assert pool.loaded("ber") is None
    assert pool.model("bert") is not here
    assert pool.model("bert", device="cuda:0") is here
    assert loads == [("bert", "cuda:0"), ("bert", "cpu")]
    assert pool.names() == ["bert", "bert"]
    monkeypatch.setenv("CROSSLIGHT_DEVICE", "cpu")  # whoever runs the server has chosen
    assert pool.offered_devices() == ("auto",)
    pool.model("other", device="cuda:0")
    assert loads[-1] == ("other", "cpu")


def test_a_device_by_either_name_is_one_model(
    bert: FrozenModel, pool: ModelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CROSSLIGHT_DEVICE", raising=False)
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: replace(bert, name=name))
    here = str(catalog.resolve_device("auto"))
    assert pool.model("bert") is pool.model("bert", device=here)
    assert list(pool.models) == [Placed("bert", here)]


def test_a_silent_load_delays_nobody_who_asks_for_another_model(
    bert: FrozenModel, pool: ModelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, asked = Event(), Event()

    def load(name: str, **_rest: object) -> FrozenModel:
        if name == "owner/silent":
            asked.set()
            assert silent.wait(60)
        return replace(bert, name=name)

    monkeypatch.setattr(catalog, "load", load)
    warm = pool.model("sst2")
    with ThreadPoolExecutor(1) as session:
        waiting = session.submit(pool.model, "owner/silent")
        assert asked.wait(60)
        started = time.monotonic()
        assert pool.model("sst2") is warm
        assert pool.model("owner/other").name == "owner/other"
        assert time.monotonic() - started < 30
        assert not waiting.done()
        silent.set()
        assert waiting.result(10).name == "owner/silent"
    assert pool.loads == {}


def test_one_who_waits_for_a_model_may_give_up_while_it_loads(
    bert: FrozenModel, pool: ModelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, loads = Event(), list[str]()
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: loads.append(name) or (silent.wait(60) and bert))

    def stop() -> None:
        raise Cancelled("Stopped.")

    with pytest.raises(Cancelled):
        pool.model("sst2", stop)
    monkeypatch.setattr(model_pool, "PATIENCE", 0.0)
    with pytest.raises(ModelUnavailable, match="'sst2' has not loaded within 0 s"):
        pool.model("sst2")
    silent.set()
    monkeypatch.setattr(model_pool, "PATIENCE", 10.0)
    assert pool.model("sst2") is bert
    assert loads == ["sst2"]  # the load went on, and nobody began another one


def test_two_slow_foreign_models_leave_room_for_embedded_ones_and_the_number_of_loads_is_bounded(
    bert: FrozenModel, pool: ModelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = Event()
    monkeypatch.setattr(catalog, "load", lambda name, **_rest: (name == "sst2" or silent.wait(60)) and bert)
    monkeypatch.setattr(model_pool, "MOST_LOADS", 3)
    with ThreadPoolExecutor(2) as sessions:
        waiting = [sessions.submit(pool.model, f"owner/{number}") for number in range(2)]
        while len(pool.loads) < 2:
            time.sleep(0.01)
        assert pool.model("sst2") is bert
        pool._begin(Placed("owner/3", "cpu"))
        with pytest.raises(ModelUnavailable, match="3 models are being loaded"):
            pool.model("owner/4")
        silent.set()
        assert all(future.result(10) is bert for future in waiting)


def test_whatever_ends_a_load_reaches_those_who_wait_and_the_next_one_tries_again(
    bert: FrozenModel, pool: ModelPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Panic(BaseException):
        pass

    def panic(_name: str, **_rest: object) -> FrozenModel:
        raise Panic

    monkeypatch.setattr(catalog, "load", panic)
    with pytest.raises(Panic):
        pool.model("sst2")
    monkeypatch.setattr(catalog, "load", lambda _name, **_rest: bert)
    assert pool.model("sst2") is bert


@pytest.mark.parametrize(
    ("given", "admitted"),
    [(None, (".",)), ("", ()), (":", ()), (" ", ()), ("models:", ("models",)), (":a::b", ("a", "b")), (".", (".",))],
)
def test_an_empty_part_of_the_variable_admits_no_folder(
    monkeypatch: pytest.MonkeyPatch, given: str | None, admitted: tuple[str, ...]
) -> None:
    if given is None:
        monkeypatch.delenv(model_pool.ROOTS_VARIABLE, raising=False)
    else:
        monkeypatch.setenv(model_pool.ROOTS_VARIABLE, given.replace(":", os.pathsep))
    assert model_pool.roots() == tuple(Path(folder) for folder in admitted)
