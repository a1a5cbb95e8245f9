import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st

from app.annotate import answers, people, projects, results, session, workbench
from app.annotate.projects import Project
from app.annotate.state import AnnotateState
from app.annotate.workbench import AHEAD
from app.server import login
from app.server.login import ANYBODY
from app.store import URL_VARIABLE
from explainers.annotations.records import Marked, Span
from explainers.errors import ExplanationError
from explainers.installation import STORE_VARIABLE

Opened = Callable[..., Any]
PATIENCE = 120  # seconds
TEXTS = b"id,text,label\nA,good film,positive\nB,bad film,negative\nC,,positive\nD,not very good,positive\n"


class Annotate:
    """The Annotate page in the hands of a person."""

    def __init__(self, opened: Opened, **held: Any) -> None:
        self.page = opened("pages/annotate.py", AnnotateState(**held))
        self.at = self.page.at

    def run(self) -> "Annotate":
        self.page.run()
        return self

    def press(self, key: str) -> "Annotate":
        self.at.button(key=key).click()
        return self.run()

    def view(self, name: str) -> "Annotate":
        self.at.get_by_key("annotation view").set_value(name)
        return self.run()

    def create(self, content: bytes = TEXTS, name: str = "Films") -> "Annotate":
        self.at.text_input(key="project name").set_value(name)
        self.at.get_by_key("project data").set_value("Files of your own")
        self.run()
        if content:
            self.at.file_uploader[0].set_value(("films.csv", content, "text/csv"))
            self.run()
        return self.press("create project")

    def item(self) -> dict[str, Any]:
        """What the component shows, once the item is prepared."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                data: dict[str, Any] = json.loads(self.at.get_by_key("annotate").proto.json)
            except KeyError:
                time.sleep(0.05)
                self.run()
            else:
                return data
        raise AssertionError(f"the item was not prepared: {self.sentences}")

    def send(self, action: str = "confirm", key: str = "", **answer: object) -> "Annotate":
        """As the component does; its script is tried in the browser."""
        key = key or self.item()["key"]
        sent = {"done": {"id": str(time.monotonic()), "key": key, "action": action, "answer": answer}}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(st, "session_state", {"AnnotateState": self.state, "annotate": sent})
            workbench.done_pressed()
        return self.run()

    @property
    def state(self) -> AnnotateState:
        state: AnnotateState = self.at.session_state["AnnotateState"]
        return state

    @property
    def sentences(self) -> str:
        elements = [*self.at.caption, *self.at.info, *self.at.error, *self.at.markdown, *self.at.code]
        return "\n".join([*(element.value for element in elements), *self.page.plain()])


@pytest.fixture
def annotate(
    small: None, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Annotate]]:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    yield lambda **state: Annotate(opened, **state)
    session.preparer().close()
    session.annotation_store().close()


def only_project() -> Project:
    (project,) = projects.projects(session.annotation_store(), ANYBODY)
    return project


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


def test_a_project_without_data_or_name_is_refused_with_a_sentence(annotate: Callable[..., Annotate]) -> None:
    page = annotate().create(b"")
    assert "The project has no data." in page.sentences
    page.at.text_input(key="project name").set_value("")
    assert "The project needs a name." in page.press("create project").sentences
    assert projects.projects(session.annotation_store(), ANYBODY) == []


def test_an_owner_changes_the_guideline(annotate: Callable[..., Annotate]) -> None:
    page = annotate().create().view("Settings")
    box = page.at.text_area(key=f"guideline of {only_project().id}")
    box.set_value("x" * 20_001)
    assert (
        "A guideline has at most 20,000 characters; this one has 20,001." in page.press("save guideline of 1").sentences
    )
    assert only_project().spec.guideline == ""
    box = page.at.text_area(key=f"guideline of {only_project().id}")
    box.set_value("Mark what *decides*.")
    assert "People see it with their next item" in page.press("save guideline of 1").sentences
    assert only_project().spec.guideline == "Mark what *decides*."
    assert "Not saved yet." not in page.sentences
    other = only_project()
    projects.change_guideline(session.annotation_store(), other, "Another owner's.")
    page.at.text_area(key=f"guideline of {only_project().id}").set_value("Mine.")
    assert "Not saved yet." in page.run().sentences
    page.view("Annotate").view("Settings")
    assert page.at.text_area(key=f"guideline of {only_project().id}").value == "Mine."
    assert "Another owner has changed the guideline meanwhile" in page.press("save guideline of 1").sentences
    assert "Another owner's." in page.sentences
    assert only_project().spec.guideline == "Another owner's."
    assert "Guideline of another owner: Another owner's." in page.run().sentences
    page.press("save guideline of 1")
    assert only_project().spec.guideline == "Mine."
    page.view("Annotate").press("join").item()
    assert "Mine." in page.sentences
    projects.remove(session.annotation_store(), other.id)
    with pytest.raises(ExplanationError, match="This project was deleted"):
        projects.change_guideline(session.annotation_store(), other, "Too late.")


def test_rows_that_cannot_be_used_are_named(annotate: Callable[..., Annotate]) -> None:
    page = annotate()
    page.at.get_by_key("project data").set_value("Files of your own")
    page.run()
    page.at.file_uploader[0].set_value(("films.csv", TEXTS, "text/csv"))
    page.run()
    assert "1 row is left out:\nRow 3" in page.sentences


def test_an_address_opens_the_project_and_the_view_that_were_shown(annotate: Callable[..., Annotate]) -> None:
    page = annotate()
    page.create(name="Films")
    page.at.selectbox(key="annotation project").set_value(0)
    page.run().create(name="Books")
    (newest, first) = projects.projects(session.annotation_store(), ANYBODY)
    assert (newest.spec.name, page.at.query_params["project"]) == ("Books", str(newest.id))
    again = annotate()
    again.at.query_params["project"], again.at.query_params["view"] = str(first.id), "Settings"
    again.state.begun = False  # as in a session that begins with this address
    again.run()
    assert again.at.selectbox(key="annotation project").value == first.id
    assert again.at.get_by_key("annotation view").value == "Settings"
    another = annotate()
    another.at.query_params["project"] = str(newest.id + 1)
    another.state.begun = False
    another.run()
    assert another.at.selectbox(key="annotation project").value == newest.id
    unavailable = f"The address names the project “{newest.id + 1}”, which is not available here. Choose another one."
    assert unavailable in another.sentences
    another.view("Settings")
    assert unavailable not in another.sentences
    wrong = annotate()
    wrong.at.query_params["project"], wrong.at.query_params["view"] = "99", "Settings"
    wrong.state.begun = False
    wrong.run()
    assert wrong.at.get_by_key("annotation view").value == "Annotate"
    unknown = annotate()
    unknown.at.query_params["view"] = "Everything"
    unknown.state.begun = False
    assert "The address names the view “Everything”, which is not available here." in unknown.run().sentences


def test_what_is_typed_for_a_new_project_stays_until_it_is_made(annotate: Callable[..., Annotate]) -> None:
    page = annotate().create(name="Films")
    page.at.selectbox(key="annotation project").set_value(0)
    page.run()
    page.at.text_input(key="project name").set_value("Books")
    page.at.text_area(key="project guideline").set_value("Mark the verdict.")
    page.run()
    page.at.selectbox(key="annotation project").set_value(1)
    page.run()
    page.at.selectbox(key="annotation project").set_value(0)
    page.run()
    assert page.at.text_input(key="project name").value == "Books"
    assert page.at.text_area(key="project guideline").value == "Mark the verdict."
    page.create(name="Books")
    page.at.selectbox(key="annotation project").set_value(0)
    page.run()
    assert page.at.text_input(key="project name").value == ""
    assert page.at.text_area(key="project guideline").value == ""


def test_a_guideline_stays_where_the_press_that_ends_the_typing_shows_another_view(
    annotate: Callable[..., Annotate],
) -> None:
    page = annotate().create().view("Settings")
    page.at.text_area(key="guideline of 1").set_value("Mark the verdict.")
    page.view("Results").view("Settings")
    assert page.at.text_area(key="guideline of 1").value == "Mark the verdict."


def test_a_deleted_project_is_named_and_nothing_of_it_meets_the_next_one(annotate: Callable[..., Annotate]) -> None:
    page = annotate()
    page.create(name="Films")
    for _ in range(2):
        page.at.selectbox(key="annotation project").set_value(0)
        page.run().create(name="Books")
    assert page.at.selectbox(key="annotation project").options == ["Books (3)", "Books (2)", "Films", "New project …"]
    page.view("Settings")
    other = annotate()
    other.at.selectbox(key="annotation project").set_value(3)
    other.run().view("Settings").at.text_area(key="guideline of 3").set_value("Mark the verdict.")
    other.run()
    page.press("delete project 3")
    assert "“Books” is deleted." in page.sentences
    assert page.at.selectbox(key="annotation project").options == ["Books", "Films", "New project …"]
    assert page.at.get_by_key("annotation view").value == "Annotate"  # far from the next one's deletion
    other.press("save guideline of 3")
    assert "The project that was shown here has been deleted." in other.sentences
    assert "Saved." not in other.sentences
    assert "is deleted" not in page.run().sentences


def test_the_newest_project_is_not_named_in_the_address(annotate: Callable[..., Annotate]) -> None:
    annotate().create(name="Films")
    page = annotate()
    assert page.at.selectbox(key="annotation project").value == only_project().id
    assert "project" not in page.at.query_params


def test_a_table_with_other_names_is_read_by_the_columns_that_are_chosen(annotate: Callable[..., Annotate]) -> None:
    page = annotate()
    page.at.get_by_key("project data").set_value("Files of your own")
    page.run()
    page.at.file_uploader[0].set_value(
        ("films.csv", b"nr;who;comment\n7;Annabella Lee;fine film\n8;Bo Lee;dull plot\n", "text/csv")
    )
    page.run()
    boxes = {box.label: box for box in page.at.selectbox if box.label in ("Texts", "Labels", "Ids")}
    assert {label: box.value for label, box in boxes.items()} == {"Texts": "who", "Labels": "none", "Ids": "nr"}
    assert "2 items. The first: “Annabella Lee”" in page.sentences
    boxes["Texts"].set_value("comment")
    page.run()
    page.at.text_input(key="project name").set_value("Films")
    page.press("create project").press("join")
    words = [piece for piece, unit in page.item()["segments"][0] if unit >= 0]
    assert " ".join(words) in ("fine film", "dull plot")


def test_the_second_text_of_pairs_is_not_dropped_in_silence(annotate: Callable[..., Annotate]) -> None:
    page = annotate()
    page.at.get_by_key("project data").set_value("Files of your own")
    page.run()
    page.at.file_uploader[0].set_value(("pairs.csv", b"premise,hypothesis\na dog runs,it moves\n", "text/csv"))
    assert "“premise” is read, “hypothesis” is not." in page.run().sentences


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
    assert "Invited: A1, A2, A3." in page.sentences
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
    assert "3 of 3 items are still open. Looking at the results may bias" in page.sentences
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


def test_tasks_that_a_model_cannot_serve_are_disabled_with_the_reason(annotate: Callable[..., Annotate]) -> None:
    page = annotate()
    boxes = {task: page.at.checkbox(key=f"project task {task}") for task in projects.ORDER}
    assert {task for task, box in boxes.items() if box.disabled} == {"rate", "correct", "read"}
    assert "Not with this model: no narrator is fitted to it" in page.sentences
    boxes["rank"].set_value(True)
    page.run()
    assert page.at.number_input(key="project maps to rank").value == 3
    page.create()
    assert only_project().spec.tasks == ("mark", "rank")
    assert only_project().spec.maps_to_rank == 3


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


def test_a_button_that_cannot_store_says_so(annotate: Callable[..., Annotate], monkeypatch: pytest.MonkeyPatch) -> None:
    page = annotate().create().view("Results")

    def fails(*_given: object) -> None:
        raise ExplanationError("The store is full.")

    monkeypatch.setattr(projects, "open_results", fails)
    assert "The store is full." in page.run().press("open results").sentences
    assert only_project().opened is None


def test_settings_name_the_project_and_delete_it(annotate: Callable[..., Annotate]) -> None:
    page = annotate().create().view("Settings")
    assert "Data: Files of your own, 3 items" in page.sentences
    page.press(f"delete project {only_project().id}")
    assert "There is no project yet" in page.sentences


def download(*tasks: str, count: int = 1) -> bytes:
    """Lines as they are downloaded here, each item marked or checked by A1."""
    answers_of = {
        "mark": {"spans_of_text": [[0, 4]], "spans_of_pair": [], "patches": []},
        "inspect": {"method": "aml", "verdict": "accept", "marked": None},
    }
    rows = []
    for number in range(count):
        item = {"id": f"item {number}", "text": "good film"}
        for task in tasks:
            about = {"project": "p", "item": item["id"], "annotator": "A1", "task": task, "version": 1}
            about |= {"seconds": 1.0, "confirmed": 1.0, "answer": answers_of[task]}
            rows.append(json.dumps({"item": item, "annotation": about}))
    return "\n".join(rows).encode()


def upload(page: Annotate, content: bytes) -> Annotate:
    page.at.text_input(key="project name").set_value("Again")
    page.at.get_by_key("project data").set_value("Files of your own")
    page.run()
    page.at.file_uploader[0].set_value(("a.jsonl", content, "application/jsonl"))
    return page.run()


def test_annotations_of_tasks_that_are_not_chosen_are_named(annotate: Callable[..., Annotate]) -> None:
    page = upload(annotate(), download("mark", "inspect"))
    assert "not chosen are left out: Check a suggestion (1)." in page.sentences
    page.at.checkbox(key="project task inspect").set_value(True)
    assert "not chosen" not in page.run().sentences


def test_the_model_reads_imported_items_for_the_results(annotate: Callable[..., Annotate]) -> None:
    page = upload(annotate(), download("mark", count=7)).press("create project").view("Results")
    page.press("open results")
    end = time.monotonic() + PATIENCE
    while "still has to read" in page.sentences and time.monotonic() < end:
        time.sleep(0.1)
        page.press("look again at results")
    assert "still has to read" not in page.sentences
    known = projects.all_items(session.annotation_store(), only_project().id)
    assert all(prepared is not None for _, _, prepared in known.values())
    assert len(known) == 7 > AHEAD


def test_a_new_project_opens_where_items_are_annotated(annotate: Callable[..., Annotate]) -> None:
    page = annotate().create().view("Results")
    page.at.selectbox(key="annotation project").set_value(0)
    page.run().create(name="Second")
    assert page.at.get_by_key("annotation view").value == "Annotate"


def test_the_button_to_annotate_goes_with_its_press(annotate: Callable[..., Annotate]) -> None:
    page = annotate().create().press("join")
    assert "join" not in {button.key for button in page.at.button}


def test_two_files_of_data_and_a_bad_first_one_are_sentences(annotate: Callable[..., Annotate]) -> None:
    page = annotate()
    page.at.get_by_key("project data").set_value("Files of your own")
    page.run()
    bad, good = ("bad.json", b"{}", "application/json"), ("good.csv", TEXTS, "text/csv")
    for files, sentence in (
        ([bad], "A file of Label Studio is a list of tasks"),
        ([bad, good], "A project takes one file of data, and these are 2: bad.json, good.csv."),
        ([good], "3 items."),
    ):
        page.at.file_uploader[0].set_value(files)
        assert sentence in page.run().sentences
        assert not page.at.exception
