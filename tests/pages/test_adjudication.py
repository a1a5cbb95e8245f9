"""An owner decides on the Annotate page where two people differ, and decides anew."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from app.annotate import adjudication, answers, disputes, people, projects, session
from app.annotate.answers import Confirmation
from app.annotate.projects import Project, ProjectSpec
from app.annotate.state import RESULTS, AnnotateControls, AnnotateState
from app.annotate.tables import ItemRow
from app.server.login import ANYBODY
from app.store import URL_VARIABLE
from explainers.annotations.records import Answer, Corrected, Inspected, Item, Marked, Rated, Rating, Span, Task
from explainers.datasets.example import Example
from explainers.installation import STORE_VARIABLE
from tests.app.annotate.conftest import METHODS, NARRATORS, prepared

TEXT = "a fine film"
DIFFERENT: dict[Task, tuple[Answer, Answer]] = {
    "mark": (Marked((Span(0, 1),)), Marked((Span(0, 6),))),
    "rate": (Rated((Rating("A", "cause", 5, 4),)), Rated((Rating("A", "cause", 3, 4),))),
    "inspect": (Inspected("aml", "accept"), Inspected("aml", "reject")),
    "correct": (Corrected("cause", "It is fine."), Corrected("cause", "It is a fine film.")),
}


@pytest.fixture
def page(small: None, opened: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The results of a project with two items, on both of which two people differ in every task."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    store = session.annotation_store()
    tasks = tuple(DIFFERENT)
    spec = ProjectSpec("Films", "small", tasks=tasks, methods=METHODS, narrators=NARRATORS, methods_per_item=3)
    project = projects.create(store, spec, [Item(name, Example(TEXT)) for name in ("one", "two")], ANYBODY)
    with store.begin() as transaction:
        for row in transaction.query(ItemRow).filter_by(project=project.id):
            row.prepared = prepared(TEXT).as_json()
    for place, name in enumerate(("A1", "A2")):
        annotator = people.annotator(store, project.id, f"account {name}", name)
        while (item := people.current_item(store, project.id, annotator)) is not None:
            for task in project.tasks:
                answers.confirm(store, project, annotator, Confirmation(item, task, 1, DIFFERENT[task][place]))
    projects.open_results(store, project.id)
    shown = opened()
    shown.at.switch_page("pages/annotate.py")
    shown.at.session_state["AnnotateState"] = AnnotateState(AnnotateControls(annotation_view=RESULTS), begun=True)
    yield shown.run()
    session.preparer().close()
    session.annotation_store().close()


def stored(task: Task) -> list[list[disputes.OwnerDecision]]:
    store = session.annotation_store()
    (project,) = projects.projects(store, ANYBODY)
    return [list(own) for (_, decided_task), own in disputes.histories(store, project).items() if decided_task == task]


def choose(page: Any, task: str) -> None:
    page.at.get_by_key("decided task").set_value(task)
    page.run()


def current() -> Project:
    (project,) = projects.projects(session.annotation_store(), ANYBODY)
    return project


def send(page: Any, id: str, **answer: object) -> None:
    """As the component does; its script is tried in the browser."""
    state = page.at.session_state["AnnotateState"]
    sent = {"id": id, "key": state.adjudication.key, "action": "confirm", "answer": answer}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st, "session_state", {"AnnotateState": state, "adjudicate": {"done": sent}})
        adjudication.decision_sent()


def test_verdicts_are_decided_side_by_side_and_again(page: Any) -> None:
    choose(page, "Check a suggestion")
    assert page.at.selectbox(key="decided item").label == "Item (0 of 2 decided)"
    shown = json.loads(page.at.get_by_key("adjudicate").proto.json)
    (suggestion,) = shown["suggestions"]
    assert suggestion["people"] == [{"name": "A1", "verdict": "accept"}, {"name": "A2", "verdict": "reject"}]
    name = suggestion["letter"]
    send(page, "1", given={name: {"verdict": "reject"}})
    (first,) = stored("inspect")[0]
    assert (first.answer, first.origin) == (Inspected("aml", "reject"), "A2")
    page.at.session_state["AnnotateState"].change(decided_item="1 inspect")
    page.run()
    assert json.loads(page.at.get_by_key("adjudicate").proto.json)["answered"] == {
        "given": {name: {"verdict": "reject"}}
    }
    send(page, "2", given={name: {"verdict": "correct", "marked": [1]}})
    drawn = Inspected("aml", "correct", Marked((Span(2, 6),)))
    assert [(decision.answer, decision.origin) for decision in stored("inspect")[0]] == [
        (first.answer, "A2"),
        (drawn, "changed"),
    ]


def test_ratings_on_which_all_agree_are_filled_in(page: Any) -> None:
    choose(page, "Rate sentences")
    assert page.at.selectbox(key="decide 1 rate 0 cause: fluency").value == "4"
    assert page.at.selectbox(key="decide 1 rate 0 cause: relatedness").value is None
    page.at.selectbox(key="decide 1 rate 0 cause: relatedness").set_value("2")
    page.at.button(key="store decide 1 rate 0").click()
    page.run()
    (decision,) = stored("rate")[0]
    assert (decision.answer, decision.origin) == (Rated((Rating("cause", "cause", 2, 4),)), "changed")


def test_a_final_sentence_is_taken_or_written(page: Any) -> None:
    choose(page, "Correct a sentence")
    page.at.button(key="store decide 1 correct 0").click()
    page.run()
    assert "Take or write a sentence in every field." in "\n".join(page.plain())
    page.at.button(key="take decide 1 correct 0 cause 1").click()
    page.run()
    page.at.button(key="store decide 1 correct 0").click()
    page.run()
    page.at.selectbox(key="decided item 1").set_value("1 correct")
    page.run()
    assert page.at.text_area(key="decide 1 correct 1 cause").value == "It is a fine film."
    page.at.text_area(key="decide 1 correct 1 cause").set_value("It is one fine film.")
    page.at.button(key="store decide 1 correct 1").click()
    page.run()
    assert [(decision.answer, decision.origin) for decision in stored("correct")[0]] == [
        (Corrected("cause", "It is a fine film."), "A2"),
        (Corrected("cause", "It is one fine film."), "changed"),
    ]


def test_marks_are_decided_and_replaced(page: Any) -> None:
    for version, units in enumerate(([0], [0, 2])):
        assert page.at.session_state["AnnotateState"].adjudication.key == f"decide 1 mark {version}"
        send(page, str(version), marked=units, origin="A1", label=version)
        page.at.session_state["AnnotateState"].change(decided_item="1 mark")
        page.run()
    assert [decision.own_class for decision in stored("mark")[0]] == ["negative", "positive"]
    assert [decision.answer for decision in stored("mark")[0]] == [
        Marked((Span(0, 1),)),
        Marked((Span(0, 1), Span(7, 11))),
    ]
    assert re.search(
        "Decision 2: the answer of A1, .*; positive", "\n".join(element.proto.body for element in page.at.get("html"))
    )
