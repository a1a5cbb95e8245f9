"""A group repeats a reading on the Annotate page: from the project's own file to marks that the study reads."""

import io
import json
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from app.annotate import answers, people, project_form, projects, results_view, session
from app.annotate.answers import Confirmation
from app.annotate.data_files import create_with_annotations, read_items
from app.annotate.intermission import WITHOUT_MODEL, own_work
from app.annotate.payload import GUIDE
from app.annotate.preparation import Preparer
from app.annotate.projects import ORDER, Project, ProjectSpec
from app.annotate.results_view import UNPREPARED
from app.annotate.shown_results import ShownResults, shown_results
from app.annotate.state import RESULTS
from app.annotate.workbench import NO_REASON
from app.model_info import ModelInfo
from app.server.login import ANYBODY
from app.store import Store
from explainers.annotations.formats.items_file import EXPORTS, ExportFormat, parse_items
from explainers.annotations.formats.tables import jsonl_export
from explainers.annotations.opinions import marks_archive, marks_name
from explainers.annotations.records import READ_QUESTIONS, GivenReason, Item, Judgement, ReadReason
from explainers.datasets.example import Example, InputImage
from explainers.installation import ASSETS
from explainers.studies.readings import measure as readings
from tests.pages.annotating import PATIENCE, Annotate, annotate, only_project

assert annotate  # the fixture
NLI_2 = (ASSETS / "readings" / "nli-2.items.csv").read_bytes()
YES: dict[str, Judgement] = dict.fromkeys(READ_QUESTIONS, "yes")
FILMS = (
    b"text,reason,class,writer\na good film,it is good,positive,people\na good film,good is great,positive,cause_phi\n"
    b"a bad film,it is good,positive,cause_phi\na bad film,,,\n"
)


def marks_of(annotator: str, folder: Path) -> Path:
    """The file of a person's marks, from the archive that an owner downloads."""
    project = only_project()
    archive = marks_archive(project.spec.name, answers.annotations(session.annotation_store(), project))
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        packed.extractall(folder)
    return folder / f"{project.spec.name}.marks.{annotator}.csv"


def test_a_reading_is_repeated_from_its_own_file_and_no_model_is_asked(
    annotate: Callable[..., Annotate], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Preparer, "_read")
    page = annotate()
    assert page.at.checkbox(key="project task read").disabled
    page.create(NLI_2, "nli-2")
    project = only_project()
    assert (project.items, project.tasks) == (400, ("read",))
    data = page.press("join").item()
    first = readings.read_items(ASSETS / "readings" / "nli-2.items.csv")["1"]
    assert (data["reason"]["sentence"], data["reason"]["stated"]) == (first.reason, first.stated)
    assert ["".join(piece for piece, _ in text) for text in data["segments"]] == [
        first.shown.removeprefix("PREMISE: ").partition(" HYPOTHESIS: ")[0],
        first.shown.partition(" HYPOTHESIS: ")[2],
    ]
    assert (data["prediction"], data["classes"], data["maps"]) == ("", [], [])

    page.send(read={**YES, "true": "?"})
    page.send(read=YES).send("undo")
    assert page.item()["answered"] == {"read": YES}
    page.send(read={**YES, "informative": "no"})
    (reader,) = people.names(session.annotation_store(), project.id).values()
    marks = readings.read_marks(marks_of(reader, tmp_path), ["1", "2"])
    assert marks["1"] == {"grammatical": True, "true": None, "supports": True, "informative": True}
    assert marks["2"] == {"grammatical": True, "true": True, "supports": True, "informative": False}


def test_a_file_that_the_model_cannot_read_has_only_reasons_to_read(
    annotate: Callable[..., Annotate], monkeypatch: pytest.MonkeyPatch
) -> None:
    single = ModelInfo(("negative", "positive"), ("text",))
    monkeypatch.setattr(project_form, "model_info", lambda *_about: single)
    page = annotate()
    page.at.get_by_key("project data").set_value("Files of your own")
    page.run()
    page.at.file_uploader[0].set_value(("nli-2.items.csv", NLI_2, "text/csv"))
    page.run()
    boxes = {task: page.at.checkbox(key=f"project task {task} of reasons") for task in ORDER}
    assert [task for task, box in boxes.items() if not box.disabled] == ["read"]
    assert boxes["read"].value
    assert "The model cannot read this file. Item 1: it has two texts, and the model reads one." in page.sentences
    assert "400 items." in page.sentences


def test_a_row_without_a_reason_is_left_out_where_others_have_one() -> None:
    read = read_items({"films.csv": FILMS}, ("text",))
    assert [item.id for item in read.items] == ["1", "2", "3"]
    (sentence,) = read.left_out
    assert sentence.endswith("it has no reason, and others have one.")
    assert read.only_read == ""


@pytest.mark.parametrize(
    ("lines", "alone"),
    [
        ("a good film,it is good\na  good film ,good is great\n", True),
        ("a good film,it is good\na bad film,it is good\n", False),
    ],
)
def test_several_reasons_about_one_input_are_read_without_other_tasks(lines: str, alone: bool) -> None:
    rows = [f"{line},positive\n" for line in lines.splitlines()]
    read = read_items({"films.csv": "".join(["text,reason,class\n", *rows]).encode()}, ("text",))
    assert len(read.items) == 2
    refused = project_form.impossible(ModelInfo(("negative", "positive"), ("text",)), read, narrators=True)
    others = [task for task in ORDER if task != "read"]
    assert refused == (dict.fromkeys(others, project_form.SEVERAL_REASONS) if alone else {})


def test_one_text_about_two_images_is_two_inputs() -> None:
    reasons = [
        Item(f"{shade}", Example("a dot", image=InputImage(png(shade))), reason=GivenReason("it is round", "yes"))
        for shade in (0, 255)
    ]
    for items_of_file, repeated in ((reasons, False), ([*reasons, replace(reasons[0], id="again")], True)):
        content = jsonl_export(items_of_file, ()).encode()
        read = read_items({"dots.jsonl": content}, ("text",), multimodal=True)
        assert (len(read.items), read.several_reasons) == (len(items_of_file), repeated)


def png(shade: int) -> bytes:
    file = io.BytesIO()
    Image.new("L", (8, 8), shade).save(file, "PNG")
    return file.getvalue()


def test_no_sentence_says_that_a_model_reads_where_none_is_asked(
    annotate: Callable[..., Annotate], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Preparer, "want", lambda *_about: None)
    page = annotate()
    read_by(("A1", "A2"), lambda _name, _item: ReadReason("yes", "yes", "yes", "yes"), overlap=3)
    page.run().press("join")
    assert WITHOUT_MODEL in page.sentences
    projects.open_results(session.annotation_store(), only_project().id)
    page.view(RESULTS)
    assert UNPREPARED.format(count=3) in page.sentences
    assert "The model" not in page.sentences


def test_an_item_without_a_reason_says_so(annotate: Callable[..., Annotate]) -> None:
    page = annotate()
    spec = ProjectSpec("Films", "small", tasks=("read",))
    projects.create(session.annotation_store(), spec, [Item("a", Example("a film"))], ANYBODY)
    page.run().press("join")
    end = time.monotonic() + PATIENCE
    while WITHOUT_MODEL in page.sentences and time.monotonic() < end:
        page.run()
    assert NO_REASON in page.sentences


def read_by(names: Sequence[str], judged: Callable[[str, str], ReadReason], overlap: int = 0) -> None:
    """Make the project of films, and let these people read all of it; the owner sees the results."""
    store = session.annotation_store()
    read = read_items({"films.csv": FILMS}, ("text",))
    spec = ProjectSpec("Films", "small", tasks=("read",), overlap=overlap or len(names))
    project = create_with_annotations(store, spec, read.items, read.annotations, ANYBODY)
    for name in names:
        annotator = people.annotator(store, project.id, f"account {name}", name)
        while (number := people.current_item(store, project.id, annotator)) is not None:
            known = projects.item(store, number)
            assert known is not None
            answers.confirm(store, project, annotator, Confirmation(number, "read", 1, judged(name, known[0].id)))


def test_results_are_by_writer_and_differences_are_decided(annotate: Callable[..., Annotate]) -> None:
    def judged(name: str, item: str) -> ReadReason:
        return ReadReason("yes", "no" if item == "3" else "yes", "no" if (name, item) == ("A2", "2") else "yes", "yes")

    page = annotate()
    read_by(("A1", "A2"), judged)
    page.run().view(RESULTS).press("open results")
    end = time.monotonic() + PATIENCE
    while "still being prepared" in page.sentences and time.monotonic() < end:
        page.press("look again at results")
    table = next(frame.value for frame in page.at.dataframe if "written by" in frame.value)
    rows = table.set_index("written by").to_dict("index")
    assert set(rows) == {"people", "cause_phi"}
    # of two sentences one holds for one of two readers, and the other for nobody
    assert rows["cause_phi"]["holds"].startswith("25 % [")
    assert rows["cause_phi"]["true of the input"].startswith("50 % [")
    assert (rows["people"]["sentences"], rows["people"]["readers"], rows["people"]["holds"][:5]) == (1, 2, "100 %")
    agreed = next(frame.value for frame in page.at.dataframe if "Cohen's κ" in frame.value)
    assert list(agreed["task"]) == [f"Read a reason: {question}" for question in (*READ_QUESTIONS, "holds")]
    key = next(box.key for box in page.at.selectbox if str(box.key).endswith(" supports"))
    page.at.selectbox(key=key).set_value("cannot tell")
    page.press(f"store {str(key).removesuffix(' supports')}")
    assert "(the answer of" not in page.sentences
    assert "Does it support the class?: cannot tell" in page.sentences


def test_an_item_that_is_prepared_while_the_results_are_computed_is_said_to_be_missing(
    annotate: Callable[..., Annotate], monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(store: Store, project: Project) -> ShownResults:
        shown = shown_results(store, project)
        end = time.monotonic() + PATIENCE
        while (waiting := projects.answered_unprepared(store, project.id)) and time.monotonic() < end:
            session.preparer().want(waiting)
            time.sleep(0.01)
        return shown

    page = annotate()
    read_by(("A1",), lambda _name, _item: ReadReason("yes", "yes", "yes", "yes"))
    monkeypatch.setattr(results_view, "shown_results", computed)
    page.run().view(RESULTS).press("open results")
    assert "still being prepared" in page.sentences
    assert "still being prepared" not in page.press("look again at results").sentences


@pytest.mark.parametrize("written", EXPORTS, ids=lambda written: written.id)
def test_readers_never_get_the_writer_and_exports_come_back(
    annotate: Callable[..., Annotate], written: ExportFormat
) -> None:
    page = annotate()
    read_by(("A1",), lambda _name, _item: ReadReason("yes", "no", "?", "yes"))
    store, project = session.annotation_store(), only_project()
    known = projects.all_items(store, project.id)
    listed, annotations = [item for _, item, _ in known.values()], answers.annotations(store, project)
    back = parse_items(written.write(listed, annotations), f"export{written.suffix}", classes=("negative", "positive"))
    assert (back.items, back.annotations, back.problems()) == (tuple(listed), annotations, ())
    projects.open_results(store, project.id)
    (reader,) = people.names(store, project.id)
    mine = own_work(store, only_project(), reader)
    assert [item.reason.writer for item in mine[0] if item.reason is not None] == ["", "", ""]
    if written.suffix != ".parquet":
        own = written.write(*mine)
        assert b"cause_phi" in written.write(listed, annotations) or written.suffix == ".zip"
        assert b"cause_phi" not in own
    page.run().press("join")
    assert "cause_phi" not in json.dumps(page.at.session_state["AnnotateState"].payload or {})


def test_the_guide_is_that_of_the_document() -> None:
    document = readings.DOCUMENT.read_text(encoding="utf-8")
    assert tuple(GUIDE) == READ_QUESTIONS
    for question, (_, yes, example) in GUIDE.items():
        assert f"| `{question}` | {yes} | {example} |" in document


def test_names_of_files_of_marks_are_those_of_a_reading_and_a_reader() -> None:
    assert marks_name("nli-2", "A1") == "nli-2.marks.A1.csv"
    assert marks_name("a.b", "../x").split(".")[1:] == ["marks", "%2E%2E%2Fx", "csv"]
