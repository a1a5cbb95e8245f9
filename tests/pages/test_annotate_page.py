"""Items, guests and results of the Annotate page."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st

from app.annotate import answers, people, projects, results, session, workbench
from app.server import login
from app.server.login import ANYBODY
from explainers.annotations.records import Marked, Span
from explainers.installation import STORE_VARIABLE
from tests.pages.annotating import Annotate, annotate, only_project

assert annotate  # the fixture


def test_an_owner_makes_a_project_of_a_broken_table_and_marks(annotate: Callable[..., Annotate]) -> None:
    page = annotate()
    assert "There is no project yet" in page.sentences
    page.create()
    assert (only_project().items, only_project().spec.model) == (3, "small")
    data = page.press("join").item()
    assert [piece for piece, unit in data["segments"][0] if unit >= 0] == ["good", "film"]
    assert data["progress"] == {"done": 0, "skipped": 0, "total": 3}
    assert data["prediction"] == ""

    page.send(marked=[0], label=1)
    assert page.item()["progress"]["done"] == 1
    assert page.item()["stored"] == "Stored."
    page.send("undo")
    assert page.item()["answered"] == {"marked": [0], "none": False, "label": 1}
    page.send("keep").send("skip")
    assert page.item()["progress"] == {"done": 1, "skipped": 1, "total": 3}
    page.send(marked=[0, 1], label=0)
    assert "No other item is left for you. Confirmed: 2, skipped: 1." in page.sentences
    (first, skipped, last) = answers.annotations(session.annotation_store(), only_project())
    assert (first.answer, skipped.skipped, last.item) == (Marked((Span(0, 4),)), True, "D")
    assert (first.own_class, skipped.own_class, last.own_class) == (data["classes"][1], "", data["classes"][0])


def test_an_answer_that_is_none_is_refused_and_can_be_given_again(annotate: Callable[..., Annotate]) -> None:
    page = annotate().create().press("join")
    for wrong in ({"marked": [17], "label": 1}, {"marked": [0]}, {"marked": [0], "label": 99}):
        page.send(**wrong)
        assert "did not arrive complete" in page.item()["problem"]
    page.send(marked=[1], label=1)
    assert page.item()["problem"] == ""
    assert len(answers.annotations(session.annotation_store(), only_project())) == 1


def test_an_answer_that_came_too_late_is_not_called_stored(annotate: Callable[..., Annotate]) -> None:
    page = annotate().create().press("join")
    page.item()
    assert page.state.question is not None
    question = page.state.question[2]
    store, project = session.annotation_store(), only_project()
    other = answers.Confirmation(question.item_number, "mark", 1, Marked((Span(0, 4),)))
    answers.confirm(store, project, question.annotator, other)  # in another tab
    page.send(marked=[1], label=1)
    assert (page.item()["problem"], page.item()["stored"]) == (answers.CONFIRMED, "")
    assert len(answers.annotations(store, project)) == 1


def test_an_answer_to_an_item_that_is_not_shown_any_more_gets_a_sentence(annotate: Callable[..., Annotate]) -> None:
    page = annotate().create().press("join")
    assert page.item()["key"]  # before the item is prepared nothing can be sent
    page.send(key="another item", marked=[1], label=1)
    assert (page.item()["problem"], page.item()["stored"]) == (workbench.MOVED_ON, "")
    assert not answers.annotations(session.annotation_store(), only_project())


def test_an_invited_annotator_sees_their_items_and_nothing_else(annotate: Callable[..., Annotate]) -> None:
    owner = annotate().create()
    owner.view("People")
    owner.at.text_area(key="invite names").set_value("A1")
    owner.press("send invite")
    store = session.annotation_store()
    token = owner.at.code[0].value.partition("?invite=")[2]
    secret = people.exchange(store, token, session.tries(), "")
    guest = annotate(secret=secret)
    assert "Films, as A1" in guest.sentences
    assert guest.state.controls.annotation_project is None
    guest.item()
    guest.send(marked=[0], label=1)
    (annotation,) = answers.annotations(store, only_project())
    assert annotation.annotator == "A1"


def invite(page: Annotate, names: str) -> Annotate:
    page.view("People").at.text_area(key="invite names").set_value(names)
    return page.press("send invite")


def links(page: Annotate) -> dict[str, str]:
    """The tokens by name."""
    lines = [line for block in page.at.code for line in block.value.splitlines()]
    return dict(line.split(": ", 1) for line in lines)


def test_several_people_are_invited_at_once_and_every_link_is_there_until_it_is_used(
    annotate: Callable[..., Annotate],
) -> None:
    page = invite(annotate().create(), "A1\n\n A2 \nA3\nA1")
    assert set(links(page)) == {"A1", "A2", "A3"}
    assert "Invited: A1, A2, A3. Not invited:\n'A1' a second time: nobody needs two links." in page.sentences
    assert set(links(page.view("Settings").view("People"))) == {"A1", "A2", "A3"}
    people.exchange(session.annotation_store(), links(page)["A2"].partition("?invite=")[2], session.tries(), "")
    assert set(links(page.run())) == {"A1", "A3"}
    page.press("revoke 1")
    assert set(links(page)) == {"A3"}


def test_a_name_that_cannot_be_invited_keeps_nobody_else_out(annotate: Callable[..., Annotate]) -> None:
    page = invite(annotate().create(), "A1")
    page = invite(page, "A1\nA2\n" + "x" * 41)
    assert "Invited: A2. Not invited:\nThere is an invitation for 'A1' already." in page.sentences
    assert "has more than 40 characters" in page.sentences
    assert set(links(page)) == {"A1", "A2"}
    page.press("send invite")  # once more, with the field empty
    assert "at least one name" not in page.sentences
    assert len(people.invites(session.annotation_store(), only_project().id)) == 2


def test_a_field_without_a_name_is_one_sentence(annotate: Callable[..., Annotate]) -> None:
    page = invite(annotate().create(), " \n")
    assert "Write at least one name" in page.sentences


def test_a_revoked_or_wrong_invitation_gets_a_sentence(annotate: Callable[..., Annotate]) -> None:
    annotate().create()
    store = session.annotation_store()
    token = people.invite(store, only_project().id, "A1")
    secret = people.exchange(store, token, session.tries(), "")
    (invite,) = people.invites(store, only_project().id)
    people.revoke(store, only_project().id, invite.id)
    assert "Your invitation has ended" in annotate(secret=secret).sentences
    page = annotate()
    page.at.query_params["invite"] = token
    assert "This invitation is not valid" in page.run().sentences
    assert "invite" not in page.at.query_params
    assert "not valid" not in page.run().sentences  # it was told once


def test_a_guest_of_a_deleted_project_gets_a_sentence(annotate: Callable[..., Annotate]) -> None:
    annotate().create()
    store = session.annotation_store()
    secret = people.exchange(store, people.invite(store, only_project().id, "A1"), session.tries(), "")
    projects.remove(store, only_project().id)
    assert "has ended" in annotate(secret=secret).sentences


def test_results_stay_closed_until_the_owner_opens_them(annotate: Callable[..., Annotate]) -> None:
    page = annotate().create().press("join")
    page.send(marked=[0], label=1)
    page.view("Results")
    assert "Nobody sees the work of others yet" in page.sentences
    assert not page.at.dataframe
    assert "Still open: 3 of 3 items. Looking at the results may bias" in page.sentences
    assert page.at.button(key="open results").label == "Open anyway"
    page.press("open results")
    assert "Agreement needs an item that at least two people have answered." in page.sentences
    alone = page.at.dataframe[0].value.to_dict("records")
    assert [(row["task"], row["items"], row["agreement"]) for row in alone] == [
        ("Mark the evidence", 1, results.ONE_PERSON)
    ]
    assert "compared with people's marks in projects with a task that shows maps" in page.sentences
    assert only_project().opened is not None


def test_results_open_without_a_question_when_no_item_is_open(annotate: Callable[..., Annotate]) -> None:
    page = annotate()
    page.at.number_input(key="project overlap").set_value(1)
    page.create().press("join")
    for _ in range(3):
        page.send(marked=[0], label=1)
    page.view("Results")
    assert "still open" not in page.sentences
    assert page.at.button(key="open results").label == "Open the results"


def test_a_store_that_fails_is_a_sentence(
    annotate: Callable[..., Annotate], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv(STORE_VARIABLE, str(blocked / "below"))
    st.cache_resource.clear()
    assert "The store's folder cannot be made" in annotate().sentences


def test_a_guest_can_leave_and_come_back(annotate: Callable[..., Annotate]) -> None:
    annotate().create()
    store = session.annotation_store()
    token = people.invite(store, only_project().id, "A1")
    secret = people.exchange(store, token, session.tries(), "")
    page = annotate(secret=secret).press("leave")
    assert "Films, as A1" not in page.sentences
    assert not page.at.get("button")  # to everybody's projects, as without login
    page.at.query_params["invite"] = token
    assert "Films, as A1" in page.run().sentences


def test_an_account_that_has_left_an_invitation_gets_to_its_own_projects(
    annotate: Callable[..., Annotate], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "current_account", lambda: login.Account("ada", "Ada", sees_all=False))
    annotate().create()
    store = session.annotation_store()
    (made,) = projects.projects(store, ANYBODY)
    secret = people.exchange(store, people.invite(store, made.id, "A1"), session.tries(), "")
    monkeypatch.setattr(st, "context", SimpleNamespace(cookies={session.COOKIE: secret}, ip_address="", url=""))
    page = annotate()
    assert "Films, as A1" in page.sentences
    page.press("leave").press("own projects").view("Settings")  # the old cookie is still read
    assert "Data: Files of your own, 3 items" in page.sentences
