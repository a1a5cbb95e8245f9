import time
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from app.annotate import projects
from app.annotate.preparation import MOST_ATTEMPTS, Preparer
from app.annotate.projects import CHANGED_MODEL, Prepared, Project
from app.annotate.tables import ItemRow
from app.compare.engine import Engine
from app.model_pool import ModelPool
from app.store import Store
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models import catalog
from explainers.models.foreign.hub_transfer import DownloadSize, check_allowed
from explainers.models.frozen_model import FrozenModel
from tests.app.annotate.conftest import METHODS, NARRATORS, TEXT, prepared


def test_what_another_process_prepared_stays(
    annotation_store: Store, make_project: Callable[..., Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project()
    (number,) = projects.first_items(annotation_store, project.id, 1)

    def store(content: str) -> None:
        with annotation_store.begin() as session:
            session.query(ItemRow).filter_by(id=number).update({"prepared": content})

    def slow(*_about: object) -> Prepared:
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

    def ask(self, _owner: Project, _example: object, methods: tuple[str, ...]) -> Prepared:
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
    end = time.monotonic() + 60
    while "aml" not in explained(annotation_store, number) and time.monotonic() < end:
        time.sleep(0.01)
    preparer.close()
    assert "aml" in explained(annotation_store, number)
