"""The Evaluate page with the small model; the evaluation is a quick script in place of the command."""

import io
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from app import model_info
from app.evaluate.state import EvaluateState
from app.store import Job
from app.train import processes, view
from explainers.datasets.labelled_rows import read_file
from explainers.evaluation.explain_batch import SetPlan
from explainers.evaluation.names import SANITY_RECORDS
from explainers.evaluation.record_file import read_records
from explainers.evaluation.sanity import SanityPlan, run_checks, steps_of
from explainers.evaluation.sanity_summary import sanity_frame
from explainers.evaluation.set_job import write_set
from explainers.evaluation.shards import merge, run_shard
from explainers.installation import STORE_VARIABLE
from explainers.models.frozen_model import FrozenModel
from tests.pages.conftest import JobsPage

Opened = Callable[..., Any]
PATIENCE = 20  # seconds
CSV = b"key,review,label\n" + b"".join(
    b"%d,the good film was %s,%s\n" % (number, word, label)
    for number, (word, label) in enumerate(
        [
            (b"very good", b"positive"),
            (b"not bad", b"0"),
            (b"dull", b"other"),
            (b"good !", b"positive"),
            (b"", b"positive"),
        ]
    )
)
HELD = "import time; print('waiting', file=__import__('sys').stderr, flush=True); time.sleep(60)"


class Evaluate(JobsPage):
    """The Evaluate page in the hands of a person."""

    path = "pages/evaluate.py"

    @property
    def state(self) -> EvaluateState:
        state: EvaluateState = self.at.session_state[EvaluateState.__name__]
        return state

    def give(self, content: bytes, name: str = "mine.csv", key: str = "evaluate file") -> "Evaluate":
        uploader = next(widget for widget in self.at.file_uploader if widget.key == key)
        uploader.set_value((name, content, "text/csv"))
        return self.run()

    def job(self) -> Job:
        return self.jobs.all()[0]


@pytest.fixture
def evaluate(opened: Opened, small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Evaluate]:
    """The page, with a command that only waits, and a store of its own."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.setattr(view, "EXPLAINERS", (sys.executable, "-c", HELD))
    monkeypatch.setattr(model_info.bundle_cards, "bundle_names", lambda: ("small",))
    page = Evaluate(opened)
    yield page
    end_jobs(page)


def end_jobs(page: Evaluate) -> None:
    for job in page.jobs.all():
        page.jobs.cancel(job.id)
    for child in page.jobs.supervisor.children.values():
        processes.end(child.pid, at_once=True)
        child.wait()


def explained(job: Job, model: FrozenModel, *, inputs: int | None = None) -> None:
    """Write what the command would have written: all inputs with the manifest, or the first few."""
    spec = job.set_spec
    rows = read_file(Path(spec.data), spec.columns, model.labels).rows
    about = {"command": "python …", "data": {"name": spec.name, "left_out": 1, "problems": ["Line 4 …"]}}
    plan = SetPlan(("occlusion", "gradient_x_input"))
    steps = run_shard(model, plan, rows, about, job.run_folder)
    for done in steps:
        if done == inputs:
            steps.close()
            return
    for _ in run_checks(model, SanityPlan(plan), rows, about, job.run_folder):
        pass
    checks = sanity_frame(read_records(job.run_folder / SANITY_RECORDS), steps_of(model))
    write_set(merge(job.run_folder), job.run_folder, checks)


def test_bad_rows_are_named_and_the_others_can_be_evaluated(evaluate: Evaluate) -> None:
    assert "No data yet. Choose a file" in evaluate.texts
    assert evaluate.at.button(key="start evaluation").disabled
    evaluate.give(CSV)
    assert "Line 4 has the label 'other'" in evaluate.texts
    assert "**4 rows**, 4 with a label." in evaluate.texts
    assert "4 inputs × " in evaluate.texts
    assert [evaluate.at.selectbox(key=key).value for key in ("text column", "label column", "id column")] == [
        "review", "label", "key",
    ]  # fmt: skip
    assert "--data mine.csv --column review --label-column label --id-column key --preset quick" in evaluate.texts


def test_an_evaluation_is_brief_unless_asked_otherwise(evaluate: Evaluate) -> None:
    evaluate.give(CSV)
    assert "--thorough" not in evaluate.texts
    brief, thorough = evaluate.texts, evaluate.at.checkbox[0]
    assert thorough.label == "Every input as on the Compare page"
    thorough.check()
    evaluate.run()
    assert "--preset quick --thorough --out DIR" in evaluate.texts
    said = [int(text.split("average ")[1].split()[2].replace(",", "")) for text in (brief, evaluate.texts)]
    assert said[0] < said[1]
    evaluate.press("start evaluation")
    assert [toast.value for toast in evaluate.at.toast] == ["Evaluation 1 has been started. It stands below."]
    assert evaluate.job().set_spec.thorough


@pytest.mark.parametrize(
    ("content", "name", "sentence"),
    [
        (b"", "mine.csv", "mine.csv is empty. Choose another file."),
        (b'{"text": "the good fi', "mine.jsonl", "No row of mine.jsonl can be read."),
        (b"text\n\xff\xfe\n", "mine.csv", "No row of mine.csv can be used. Line 2 is not UTF-8."),
        (b"\xff\xfet\x00", "mine.csv", "mine.csv is not UTF-8 text."),
        (b"no parquet", "mine.parquet", "mine.parquet is not a readable Parquet file."),
    ],
)
def test_a_file_that_cannot_be_used_is_a_sentence(evaluate: Evaluate, content: bytes, name: str, sentence: str) -> None:
    evaluate.give(content, name)
    assert sentence in evaluate.texts
    assert evaluate.at.button(key="start evaluation").disabled


def test_a_table_without_names_does_not_lose_its_first_text_unseen(evaluate: Evaluate) -> None:
    evaluate.give(b"the good film was dull\na bad film\n")
    assert "The first line names the columns, so “the good film was dull” is not read." in evaluate.texts
    evaluate.give(b"text\nthe good film was dull\na bad film\n")
    assert "is not read" not in evaluate.texts
    evaluate.give(b'{"what the people wrote": "the good film"}\n', "mine.jsonl")  # this is a name
    assert "is not read" not in evaluate.texts


def test_numbers_in_the_place_of_texts_are_asked_about(evaluate: Evaluate) -> None:
    evaluate.give(b"number,score\n7,0.5\n8,1e3\n")
    assert "“score” holds numbers alone. Is it the column of the texts?" in evaluate.texts
    evaluate.give(b"number,text\n7,the good film\n8,12\n")
    assert "holds numbers alone" not in evaluate.texts


def test_the_column_of_labels_is_found_by_what_it_holds(evaluate: Evaluate) -> None:
    evaluate.give(b"film,mood\nthe good film,positive\na bad film,negative\n")
    assert evaluate.at.selectbox(key="label column").value == "mood"
    assert "**2 rows**, 2 with a label." in evaluate.texts


def test_labels_that_the_model_calls_otherwise_get_a_class(evaluate: Evaluate) -> None:
    evaluate.give(b"text,label\nthe good film,pos\na bad film,neg\nthe plot,mixed\n")
    assert "These labels name no class of the model for sure." in evaluate.texts
    assert "follows from its id" in evaluate.at.selectbox(key="id column").help
    boxes = {name: evaluate.at.selectbox(key=f"class label {name}") for name in ("pos", "neg", "mixed")}
    assert {name: box.value for name, box in boxes.items()} == {
        "pos": "positive",
        "neg": "negative",
        "mixed": "– left out –",
    }
    assert "**2 rows**, 2 with a label." in evaluate.texts
    assert "--label-class pos=positive --label-class neg=negative" in evaluate.texts
    boxes["mixed"].set_value("negative")
    evaluate.run()
    assert "**3 rows**, 3 with a label." in evaluate.texts
    evaluate.press("start evaluation")
    assert evaluate.job().set_spec.columns.classes == (
        ("pos", "positive"),
        ("neg", "negative"),
        ("mixed", "negative"),
    )


def test_an_eraser_data_set_brings_what_people_marked(evaluate: Evaluate) -> None:
    file = io.BytesIO()
    evidence = [[{"docid": "1", "start_token": 1, "end_token": 2}]]
    lines = [
        {"annotation_id": "1", "classification": "POS", "evidences": evidence},
        {"annotation_id": "2", "classification": "<b>odd</b>", "evidences": []},
    ]
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in (("1", "the good film"), ("2", "a bad plot")):
            archive.writestr(f"docs/{name}", text)
        for part in ("test", "val"):
            archive.writestr(f"{part}.jsonl", "\n".join(map(json.dumps, lines)))
    evaluate.give(file.getvalue(), "movies.zip")
    assert evaluate.at.selectbox(key="eraser part").value == "test"
    assert "**1 row**, 1 with a label, 1 with marks of people." in evaluate.texts
    assert "Line 2 has the label '<b>odd</b>'" in evaluate.texts
    evaluate.at.selectbox(key="class movies.zip <b>odd</b>").set_value("negative")
    evaluate.at.selectbox(key="eraser part").set_value("val")
    evaluate.run()
    assert "**2 rows**, 2 with a label, 1 with marks of people." in evaluate.texts
    evaluate.press("start evaluation")
    spec = evaluate.job().set_spec
    assert (spec.format, spec.split, Path(spec.data).name) == ("eraser", "val", "data.zip")
    assert spec.columns.classes == (("<b>odd</b>", "negative"),)
    evaluate.give(json.dumps(lines[0]).encode(), "test.jsonl")
    assert "These are ERASER annotations without their documents." in evaluate.texts


def test_images_come_with_their_table_in_one_file(
    opened: Opened, multimodal: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.setattr(view, "EXPLAINERS", (sys.executable, "-c", HELD))
    page = Evaluate(opened)
    page.at.selectbox(key="model").set_value("scenes")
    page.run()
    image, file = io.BytesIO(), io.BytesIO()
    Image.new("RGB", (400, 100), "red").save(image, "PNG")
    table = "text,image,label\nThere is a square.,a.png,neutral\nThere is a circle.,<b>gone</b>.png,neutral\n"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("mine.csv", table)
        archive.writestr("a.png", image.getvalue())
    page.give(file.getvalue(), "mine.zip", key="evaluate images")
    assert "Line 3, image '<b>gone</b>.png': It is missing in the ZIP file. The row is left out." in page.texts
    assert "**1 row**, 1 with a label." in page.texts
    assert page.at.selectbox(key="image column").value == "image"
    assert "--data mine.csv --column text --label-column label --image-column image" in page.texts
    page.press("start evaluation")
    spec = page.job().set_spec
    assert (Path(spec.data).name, spec.name, spec.columns.image) == ("table.csv", "mine.csv", "image")
    assert (Path(spec.data).parent / "a.png").read_bytes() == image.getvalue()
    page.give(b"no archive", "mine.zip", key="evaluate images")
    assert "mine.zip is not a readable ZIP file. Pack it again." in page.texts
    end_jobs(page)


def test_an_evaluation_waits_runs_is_cancelled_resumed_and_read(evaluate: Evaluate, model: FrozenModel) -> None:
    evaluate.give(CSV).press("start evaluation")
    job = evaluate.job()
    assert (job.kind, job.variant, job.method, job.texts) == ("evaluate", "mine.csv", "quick", 4)
    assert job.arguments[0] == "evaluate"
    assert Path(job.set_spec.data).read_bytes() == CSV
    evaluate.until(lambda: evaluate.job().pid is not None)
    assert "Loading the model" in str([bar.proto for bar in evaluate.run().at.get("progress")])
    explained(job, model, inputs=2)
    evaluate.run()
    assert "After 2 inputs so far. Undecided: 2 inputs are too few" in evaluate.texts
    evaluate.press(f"cancel {job.id}")
    assert f"Cancelled after 2 of {job.texts} inputs." in evaluate.texts
    evaluate.until(lambda: evaluate.job().pid is None)
    evaluate.press(f"resume {job.id}")
    assert evaluate.job().status in ("waiting", "running")
    explained(job, model)
    evaluate.run()
    assert "Undecided: 4 inputs are too few to compare methods. Take at least 10." in evaluate.texts
    assert "Words over the set" in evaluate.texts
    assert "Trust map" in evaluate.texts
    assert "does an explanation change when the weights of the model are random" in evaluate.texts
    assert "Occlusion – open: " in evaluate.texts
    assert [button.proto.label for button in evaluate.at.get("download_button")][:2] == ["Inputs, CSV", "Methods, CSV"]
    assert "Sanity checks, CSV" in [button.proto.label for button in evaluate.at.get("download_button")]
    assert "Methods, LaTeX" in [button.proto.label for button in evaluate.at.get("download_button")]
    assert [tab.label for tab in evaluate.at.tabs] == ["Evidence", "Against cost", "Curves"]
    worth_a_look = next(box for box in evaluate.at.selectbox if box.label == "Worth a look")
    worth_a_look.set_value(worth_a_look.options[0])
    evaluate.run()
    assert "Input" in [box.label for box in evaluate.at.selectbox]
    assert any("predicted" in line for line in evaluate.page.plain("caption"))


def test_a_result_is_offered_where_there_is_one(evaluate: Evaluate, model: FrozenModel) -> None:
    first, second, third = (evaluate.give(CSV).press("start evaluation").job() for _ in range(3))
    assert evaluate.at.query_params["evaluation"] == str(third.id)  # at once
    assert evaluate.at.query_params["evaluation"] == str(third.id)  # at once
    for job in (first, second):
        evaluate.press(f"cancel {job.id}")
    evaluate.until(lambda: all(job.pid is None for job in evaluate.jobs.all() if job.id != third.id))
    explained(first, model, inputs=2)
    evaluate.run()
    shows = [button.key for button in evaluate.at.button if button.label == "Show the result"]
    assert shows == [f"show {first.id}"]  # nothing will come of the cancelled one
    evaluate.press(f"show {first.id}")
    assert evaluate.at.query_params["evaluation"] == str(first.id)
    assert f"Result {first.id}" in [header.value for header in evaluate.at.header]


def test_an_address_opens_its_evaluation(evaluate: Evaluate, model: FrozenModel, opened: Opened) -> None:
    first, second = (evaluate.give(CSV).press("start evaluation").job() for _ in range(2))
    for job in (first, second):
        evaluate.press(f"cancel {job.id}")
        explained(job, model, inputs=2)
    another = Evaluate(opened, evaluation=str(first.id))
    another.run()
    assert f"Result {first.id}" in [header.value for header in another.at.header]
    lost = Evaluate(opened, evaluation="99")
    lost.run()
    assert "The address names the evaluation “99”, which is not available here. Choose another one." in lost.texts
    assert f"Result {second.id}" in [header.value for header in lost.at.header]
    assert "evaluation" not in lost.at.query_params
    lost.press(f"show {first.id}")
    assert "not available here" not in lost.texts


def test_what_a_training_and_an_evaluation_show_is_apart(evaluate: Evaluate) -> None:
    evaluate.give(CSV).press("start evaluation")
    assert [len(evaluate.jobs.overview(kind=kind).jobs) for kind in ("fit", "evaluate")] == [0, 1]
    evaluate.at.switch_page("pages/train.py")
    evaluate.run()
    assert "mine.csv" not in evaluate.texts
