"""Projects of the Annotate page: how they are made, changed, addressed and deleted."""

import json
import time
from collections.abc import Callable

import pytest

from app.annotate import projects, session
from app.annotate.workbench import AHEAD
from app.server.login import ANYBODY
from explainers.errors import ExplanationError
from tests.pages.annotating import PATIENCE, TEXTS, Annotate, annotate, only_project

assert annotate  # the fixture


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
