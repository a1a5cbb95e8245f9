import time
from collections.abc import Callable
from dataclasses import replace
from threading import Event
from types import SimpleNamespace
from typing import cast

import pytest

from app.annotate import projects
from app.annotate.preparation import MOST_ATTEMPTS, NO_REASON, NO_TIME, SECONDS, Preparer, _of_comparison
from app.annotate.projects import CHANGED_MODEL, Prepared, Project
from app.annotate.tables import ItemRow
from app.compare.engine import Engine
from app.compare.runs import Request
from app.database.connections import StoreUnavailable
from app.model_pool import ModelPool
from app.store import Store
from explainers import explain
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models import catalog
from explainers.models.foreign.hub_transfer import DownloadSize, check_allowed
from explainers.models.frozen_model import FrozenModel
from explainers.results.answer import CONSENSUS
from tests.app.annotate.conftest import METHODS, NARRATORS, TEXT, prepared


def test_what_another_process_prepared_stays(
    annotation_store: Store, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project()
    (number,) = projects.first_items(annotation_store, project.id, 1)

    def store(content: str) -> None:
        with annotation_store.begin() as session:
            session.query(ItemRow).filter_by(id=number).update({"prepared": content})

    def slow(*_about: object, **_last: object) -> Prepared:
        store(prepared(TEXT, label=0).as_json())  # the other process is quicker
        return prepared(TEXT, label=1)

    store("")
    monkeypatch.setattr(Preparer, "_asked", slow)
    Preparer(annotation_store, cast(Engine, None))._prepare(number)
    known = projects.item(annotation_store, number)
    assert known is not None
    assert known[1] == prepared(TEXT, label=0)


@pytest.mark.parametrize("methods", [METHODS, ()], ids=["explained", "read"])
def test_a_large_model_is_to_be_downloaded_on_compare(
    methods: tuple[str, ...],
    annotation_store: Store,
    make_project: Callable[..., Project],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(name: str, **_rest: object) -> FrozenModel:
        check_allowed(name, DownloadSize(1_340_000_000, 6))
        raise AssertionError

    monkeypatch.setattr(catalog, "load", load)
    project, engine = make_project(), Engine(ModelPool())
    with pytest.raises(ExplanationError) as error:
        Preparer(annotation_store, engine)._asked(project, Example(TEXT), methods)
    engine.close()
    assert str(error.value) == (
        f"{project.spec.model!r} is not on this machine; fetching it takes 1.3 GB in 6 files. "
        "Download it on Compare first."
    )


class Trials:
    """A model that explains each method only in the attempt of this number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **succeeds: int) -> None:
        self.succeeds = succeeds
        self.asked: list[tuple[str, ...]] = []
        monkeypatch.setattr(Preparer, "_asked", self.ask)

    def ask(
        self, _owner: Project, _example: object, methods: tuple[str, ...], _is_there: object, **_rest: object
    ) -> Prepared:
        self.asked.append(methods)
        there = [id for id in methods if self.succeeds.get(id, 1) <= len(self.asked)]
        whole = prepared(TEXT)
        return replace(
            whole,
            maps={id: heat_map for id, heat_map in whole.maps.items() if id in there},
            sentences={id: sentence for id, sentence in whole.sentences.items() if id in there},
            failures={id: "It did not converge." for id in methods if id not in there},
        )


def unprepared(store: Store, project: Project) -> int:
    (number,) = projects.first_items(store, project.id, 1)
    with store.begin() as session:
        session.query(ItemRow).filter_by(id=number).update({"prepared": ""})
    return number


def explained(store: Store, number: int) -> set[str]:
    known = projects.item(store, number)
    assert known is not None
    assert known[1] is not None
    return {*known[1].maps, *known[1].sentences}


def test_only_failed_methods_are_tried_again_and_only_when_the_item_is_opened(
    annotation_store: Store, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    number = unprepared(annotation_store, make_project())
    trials = Trials(monkeypatch, aml=2, cause=2)
    preparer = Preparer(annotation_store, cast(Engine, None))
    preparer._prepare(number)
    preparer._prepare(number)  # wanted ahead of time, not opened
    assert explained(annotation_store, number) == {"integrated_gradients", "occlusion", "cause_phi"}
    preparer._prepare(number, opened=True)
    preparer._prepare(number, opened=True)  # nothing is missing
    assert trials.asked == [(*METHODS, *NARRATORS), ("aml", "cause")]
    assert explained(annotation_store, number) == {*METHODS, *NARRATORS}


def test_after_three_attempts_the_owner_reads_what_failed(
    annotation_store: Store, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project()
    number = unprepared(annotation_store, project)
    trials = Trials(monkeypatch, aml=99)
    preparer = Preparer(annotation_store, cast(Engine, None))
    for _ in range(2):
        preparer._prepare(number, opened=True)
    assert projects.failures(annotation_store, project.id) == {}
    for _ in range(3):
        preparer._prepare(number, opened=True)
    assert len(trials.asked) == MOST_ATTEMPTS
    assert projects.failures(annotation_store, project.id) == {"item 0": {"aml": "It did not converge."}}


def test_maps_of_another_version_of_the_model_do_not_mix(
    annotation_store: Store, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    number = unprepared(annotation_store, make_project())
    Trials(monkeypatch, aml=2)
    preparer = Preparer(annotation_store, cast(Engine, None))
    preparer._prepare(number)
    known = projects.item(annotation_store, number)
    assert known is not None
    assert known[1] is not None
    newer = known[1].joined(replace(prepared(TEXT), version="2"))
    assert set(newer.maps) == {"integrated_gradients", "occlusion"}
    assert newer.failures["aml"] == CHANGED_MODEL


def test_the_thread_tries_again_what_was_opened(
    annotation_store: Store, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    number = unprepared(annotation_store, make_project())
    Trials(monkeypatch, aml=2)
    preparer = Preparer(annotation_store, cast(Engine, None))
    preparer._prepare(number)
    preparer.want_missing(number)
    assert within(60, lambda: "aml" in explained(annotation_store, number))
    preparer.close()


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_an_item_that_takes_long_keeps_nobody_from_the_others(
    annotation_store: Store, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = projects.first_items(annotation_store, make_project(("a film", "the film", "good film")).id, 3)
    with annotation_store.begin() as session:
        session.query(ItemRow).update({"prepared": ""})
    slow, asked, go_on = projects.item(annotation_store, numbers[0]), list[str](), Event()
    assert slow is not None

    def ask(_owner: Project, example: Example, *_rest: object, **_last: object) -> Prepared:
        asked.append(example.text)
        if example == slow[0].example:
            assert go_on.wait(60)
        return prepared(example.text)

    monkeypatch.setattr(Preparer, "_asked", staticmethod(ask))
    preparer = Preparer(annotation_store, cast(Engine, None))

    def is_ready(number: int) -> bool:
        known = projects.item(annotation_store, number)
        return known is not None and known[1] is not None

    preparer.want(numbers)
    assert within(60, lambda: all(map(is_ready, numbers[1:])))
    assert preparer.snapshot() == {"items_to_prepare": 1}
    preparer.want(numbers[:1])  # as whoever waits for it asks every second
    preparer.want_missing(numbers[0])
    assert preparer.waiting == []
    go_on.set()
    assert within(60, lambda: is_ready(numbers[0]))
    assert within(60, lambda: preparer.snapshot() == {"items_to_prepare": 0})
    preparer.close()
    assert sorted(asked) == sorted({*asked})


class Endless:
    """An engine whose runs end only when they are stopped."""

    def __init__(self) -> None:
        self.active, self.budget, self.lease = True, None, SimpleNamespace(renew=lambda: None)

    def submit(self, request: Request) -> "Endless":
        self.budget = request.budget
        return self

    def stop(self) -> None:
        self.active = False


def test_an_item_that_is_deleted_is_computed_no_further(
    annotation_store: Store, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.annotate.preparation.LOOK_FOR_ITEM", 0.1)
    project, engine = make_project(), Endless()
    number = unprepared(annotation_store, project)
    preparer = Preparer(annotation_store, cast(Engine, engine))
    preparer.want([number])
    assert within(60, lambda: engine.budget is not None)
    assert engine.budget == SECONDS
    assert engine.active
    projects.remove(annotation_store, project.id)
    assert within(60, lambda: not engine.active)
    assert within(60, lambda: not preparer.working)
    assert preparer.problems == {}
    preparer.close()


def test_a_store_that_is_away_for_a_moment_ends_no_work_and_an_ended_work_stops_its_run(
    annotation_store: Store, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    number = unprepared(annotation_store, make_project())
    engine = Endless()
    preparer = Preparer(annotation_store, cast(Engine, engine))

    def away() -> None:
        raise StoreUnavailable("The database does not answer.")

    with monkeypatch.context() as patch:
        patch.setattr(annotation_store, "read", away)
        assert preparer._is_there(number)

    def broken() -> bool:
        raise RuntimeError("a fault")

    monkeypatch.setattr("app.annotate.preparation.LOOK_FOR_ITEM", 0.0)
    with pytest.raises(RuntimeError):
        preparer._asked(make_project(), Example(TEXT), METHODS, broken)
    assert not engine.active


class Panic(BaseException):
    """As a library's panic."""


def test_a_panic_is_a_problem_of_the_item_and_the_thread_goes_on(
    annotation_store: Store, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = projects.first_items(annotation_store, make_project().id, 2)

    def panic(_preparer: object, number: int, **_opened: object) -> None:
        if number == numbers[0]:
            raise Panic

    monkeypatch.setattr(Preparer, "_prepare", panic)
    preparer = Preparer(annotation_store, cast(Engine, None))
    preparer.want(numbers)
    assert within(60, lambda: preparer.snapshot() == {"items_to_prepare": 0})
    assert [*preparer.problems] == numbers[:1]
    preparer.close()


def test_an_estimate_that_ended_early_is_tried_again_and_kept_in_the_last_attempt(bert: FrozenModel) -> None:
    whole = explain(bert, "the film was good", methods=("occlusion", "lime"))
    results = (
        replace(result, attribution=replace(result.attribution, ended_early=result.method == "lime"))
        for result in whole.results
    )
    short = replace(whole, results=tuple(results))
    assert short.ended_early == ("lime",)
    read = _of_comparison(short, ("occlusion", "lime"))
    assert (set(read.maps) - {CONSENSUS}, read.failures) == ({"occlusion"}, {"lime": NO_TIME})
    kept = _of_comparison(short, ("occlusion", "lime"), early=True)
    assert (set(kept.maps) - {CONSENSUS}, kept.failures) == ({"occlusion", "lime"}, {})


def test_what_had_no_time_says_so_and_is_tried_again(bert: FrozenModel) -> None:
    whole = explain(bert, "the film was good", methods=("occlusion", "lime"))
    kept = tuple(result for result in whole.results if result.attribution.method == "occlusion")
    short = replace(whole, results=kept, postponed=("lime", "random"))
    read = _of_comparison(short, ("occlusion", "lime", "aml"))
    assert read.failures == {"lime": NO_TIME, "aml": NO_REASON}
    assert read.missing(("occlusion", "lime")) == ("lime",)
