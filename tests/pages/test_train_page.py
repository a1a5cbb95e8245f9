import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from app import model_info as models
from app.model_pool import ModelPool
from app.train import form, processes, texts_form, view
from app.train.column_box import NO_COLUMN
from explainers.datasets.example import Example, InputImage
from explainers.installation import STORE_VARIABLE
from explainers.learned import fit
from explainers.learned.fit import FitPace
from explainers.learned.recipes import RECIPES, SHIPPED
from explainers.models.frozen_model import FrozenModel
from explainers.training.artifacts import own_folder
from explainers.training.spec import FitSpec, settings_of
from tests.pages.conftest import JobsPage

Opened = Callable[..., Any]
PATIENCE = 20  # seconds
TEXTS = "\n".join(f"a good film, number {number}" for number in range(24))
FAKE = """
import json, pathlib, sys, time
spec = json.loads(pathlib.Path(sys.argv[3]).read_text())
folder = pathlib.Path(spec["folder"])
with (folder / "log.jsonl").open("w") as log:
    def line(**values): print(json.dumps(values), file=log, flush=True)
    line(method="aml", texts=24, steps=4, recipe={"epochs": 2})
    for step in (1, 2, 3, 4):
        line(step=step, epoch=step // 3, terms={"total": 1 / step, "L_p": 0.5})
        if step % 2 == 0:
            line(epoch=step // 2, step=step, seconds=1.0, validation={"aopc_c": 0.4, "aopc_s": 0.1},
                 warnings=["Constant mask: *nothing* is <b>said</b>."])
        if "hold" in spec["variant"] and step == 3: time.sleep(60)
if "bad" in spec["variant"]: sys.exit("The learning rate [is](x) too large.")
print(json.dumps({"method": "aml", "spec": spec}))
"""


class Train(JobsPage):
    """The Train page in the hands of a person."""

    path = "pages/train.py"

    def write(self, text: str) -> "Train":
        self.at.text_area(key="train texts").set_value(text)
        return self.run()

    def name(self, variant: str) -> "Train":
        self.at.text_input(key="train variant").set_value(variant)
        return self.run()

    def start(self, variant: str = "mine") -> "Train":
        return self.write(TEXTS).name(variant).press("start training")

    def over(self) -> "Train":
        return self.until(lambda: not any(job.active for job in self.jobs.all()))


@pytest.fixture
def train(opened: Opened, small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Train]:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.setattr(view, "EXPLAINERS", (sys.executable, "-c", FAKE))
    monkeypatch.setattr(models.bundle_cards, "bundle_names", lambda: ("small",))
    page = Train(opened)
    yield page
    for job in page.jobs.all():
        page.jobs.cancel(job.id)
    for child in page.jobs.supervisor.children.values():
        processes.end(child.pid, at_once=True)
        child.wait()


def test_it_opens_with_everything_but_texts(train: Train) -> None:
    assert train.at.selectbox(key="train method").options
    assert train.at.button(key="start training")
    assert "python -m explainers fit aml --model small --data texts.txt --variant mine --seed 0" in train.texts
    assert "None yet." in train.texts
    assert not train.page.sentences


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "No texts yet. Paste at least 20, one per line, or choose a file."),
        ("a good film\nthe plot", "A method learns from 20 to 20,000 different texts; 2 given."),
        ("the same\n" * 30, "A method learns from 20 to 20,000 different texts; 1 given."),
        (f"{TEXTS}\n{'x' * 10_001}", "One text has 10,001 characters; each may have at most 10,000."),
    ],
)
def test_what_is_wrong_with_the_texts_is_reported_and_nothing_is_lost(train: Train, text: str, sentence: str) -> None:
    train.write(text).press("start training")
    assert train.page.sentences == [sentence]
    assert train.at.text_area(key="train texts").value == text
    assert not train.jobs.all()


@pytest.mark.parametrize("name", ["", "Mine", "a b", "../x", "<b>"])
def test_a_bad_name_is_reported(train: Train, name: str) -> None:
    train.start(name)
    assert "The name of the result needs" in train.page.sentences[0]
    assert not train.jobs.all()


def test_a_bad_setting_is_reported_before_a_training_starts(train: Train) -> None:
    train.at.selectbox(key="train method").set_value("ivra")
    train.run().at.text_input(key="set ivra criterion").set_value("comp+fun")
    train.start()
    assert train.page.sentences == [
        "The setting criterion of ivra must be one of sim, comp, suff, cons, or several joined by +, not 'comp+fun'."
    ]
    assert not train.jobs.all()


def test_a_model_that_may_not_be_read_is_reported(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = SimpleNamespace(  # AppTest can only choose what is in the list
        bundle_names=lambda: ("/",),
        read_card=lambda _folder: {"labels": [], "sha256": "1"},
        input_names_of=models.bundle_cards.input_names_of,
        BUNDLES=Path("/"),
    )
    monkeypatch.setattr(models, "bundle_cards", listed)
    train.run().at.selectbox(key="model").set_value("/")
    train.start()
    assert "is not available. Choose one of" in train.page.sentences[0]
    assert not train.jobs.all()


def test_a_training_is_started_and_its_result_shown(train: Train) -> None:
    train.start()
    assert [toast.value for toast in train.at.toast] == ["The training has been started. It stands below."]
    train.over()
    (job,) = train.jobs.all()
    assert (job.status, job.method, job.model, job.variant, job.texts) == ("done", "aml", "small", "mine", 24)
    assert (job.run_folder / "texts.txt").read_text().splitlines() == TEXTS.splitlines()
    assert (
        "Listed on the Compare page under the other weights as AML (mine); in commands, write aml:mine." in train.texts
    )
    card = json.loads(train.at.json[0].value)
    assert card["spec"] == json.loads(job.spec.as_json())
    assert train.at.text_area(key="train texts").value == TEXTS
    charts = [chart.key for chart in train.at.get("plotly_chart")]
    assert charts == ["chart 1 total", "chart 1 validation", "chart 1 L_p"]


def test_a_model_with_a_generator_needs_no_texts(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    info = models.ModelInfo(multimodal=True, generator_noun="scene")
    monkeypatch.setattr(models, "model_info", lambda _pool, _model: info)
    monkeypatch.setattr(view.model_info, "info_on_card", lambda _model: info)
    train.run()
    assert not train.at.text_area
    assert not train.at.file_uploader
    assert [message.value for message in train.at.info] == [texts_form.GENERATED]
    assert "python -m explainers fit aml --model small --variant mine --seed 0" in train.texts
    train.press("start training").over()
    (job,) = train.jobs.all()
    assert (job.status, job.texts) == ("done", 0)
    assert job.spec.data == ""
    assert "for small, generated scenes" in train.texts


def image_files(count: int = 24) -> list[tuple[str, bytes, str]]:
    """A table and its images; one row names a file that is not there."""
    rows = "".join(f"a film {number},{number}.png\n" for number in range(count))
    table = f"text,image\n{rows}lost,none.png\n".encode()
    colours = (np.full((8, 8, 3), number, np.uint8) for number in range(count))
    images = [(f"{number}.png", InputImage.of(colour).content) for number, colour in enumerate(colours)]
    return [("rows.csv", table, "text/csv"), *((name, content, "image/png") for name, content in images)]


def test_another_multimodal_model_is_given_a_table_and_images(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "model_info", lambda _pool, _model: models.ModelInfo(multimodal=True))
    train.run().press("start training")
    assert train.page.plain("error") == [texts_form.NO_IMAGES]
    train.at.file_uploader(key="train images").set_value(image_files())
    train.run()
    assert "**24 texts with images**" in train.texts
    assert train.page.plain("warning") == ["The image 'none.png' was not given."]
    assert "--data texts.csv --format table --pictures DIR" in train.texts
    train.press("start training").over()
    (job,) = train.jobs.all()
    assert (job.status, job.texts, job.spec.format) == ("done", 24, "table")
    files = job.spec.image_files
    assert files is not None
    read = files.read(job.spec.data_path).examples
    assert [text.text for text in read] == [f"a film {number}" for number in range(24)]
    assert all(text.image and text.image.pixels().mean() == number for number, text in enumerate(read))


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (image_files()[1:], "Give one table with the images; 0 given."),
        (image_files(3), "A method learns from 20 to 20,000 different texts; 3 given."),
    ],
    ids=["no table", "too few"],
)
def test_images_that_cannot_be_used_are_a_sentence(files: list[tuple[str, bytes, str]], problem: str) -> None:
    assert texts_form.from_images([(name, content) for name, content, _ in files], ()).problem == problem


def test_weights_that_were_replaced_are_not_offered(train: Train) -> None:
    train.start().over().press("start training").over()
    assert [job.status for job in train.jobs.all()] == ["done", "done"]
    assert len(train.page.plain("success")) == 1
    assert "A later training has replaced these weights." in train.texts


def test_warnings_are_shown_as_typed(train: Train) -> None:
    train.start().over()
    (warning,) = train.page.plain("warning")
    assert warning == "Constant mask: *nothing* is <b>said</b>."


def test_while_it_runs_progress_and_curves_are_shown_and_it_can_be_cancelled(train: Train) -> None:
    train.start("hold").until(lambda: any(job.status == "running" for job in train.jobs.all()))
    folder = train.jobs.all()[0].run_folder
    train.until(lambda: '"step": 3' in text_of(folder / "log.jsonl"))
    (bar,) = train.at.get("progress")
    assert bar.proto.value == 75
    assert bar.proto.text.startswith("Step 3 of 4, epoch 2 of 2")
    assert train.at.get("plotly_chart")
    train.press("cancel 1")
    assert train.jobs.all()[0].status == "cancelled"
    assert re.search(r"Cancelled on .*, at step 3 of 4\.", train.run().texts)
    train.press("resume 1")
    assert train.jobs.all()[0].spec.resume


def test_a_second_training_waits(train: Train) -> None:
    train.start("hold").start("other")
    train.until(lambda: any(job.status == "running" for job in train.jobs.all()))
    assert [job.status for job in train.jobs.all()] == ["waiting", "running"]
    assert "Waits for 1 other job." in train.texts
    train.name("hold").press("start training")
    assert "on its way" in train.page.sentences[0]


def test_a_failure_says_why_and_can_be_deleted(train: Train) -> None:
    train.start("bad").over()
    assert train.page.sentences == ["The learning rate [is](x) too large."]
    folder = train.jobs.all()[0].run_folder
    train.press("delete 1")
    assert not train.jobs.all()
    assert not folder.exists()
    assert "None yet." in train.run().texts


@pytest.mark.parametrize("method", RECIPES)
def test_every_setting_of_every_method_has_its_widget(train: Train, method: str) -> None:
    train.at.selectbox(key="train method").set_value(method)
    train.run()
    for setting in settings_of(RECIPES[method]):
        if setting.name != "seed":
            widget = train.at.get_by_key(f"set {method} {setting.name}")
            assert (widget.value, widget.label) == (setting.default, setting.label)
            assert widget.help.startswith(setting.meaning)
    assert f"fit {method} --model small --data texts.txt --variant mine --seed 0\n" in f"{train.texts}\n"


def test_only_what_was_changed_is_on_the_command_line(train: Train) -> None:
    train.at.number_input(key="set aml epochs").set_value(3)
    train.at.number_input(key="set aml learning_rate").set_value(1e-5)
    train.at.selectbox(key="set aml replacement").set_value("random")
    train.at.number_input(key="train seed").set_value(7)
    train.start()
    assert "--variant mine --seed 7 --set epochs=3 --set learning_rate=1e-05 --set replacement=random" in train.texts
    (job,) = train.jobs.all()
    assert job.spec.seed == 7
    assert dict(job.spec.settings) == {"epochs": "3", "learning_rate": "1e-05", "replacement": "random"}


def test_under_a_shipped_name_the_form_still_says_what_happens(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SHIPPED["aml"], "comp", {"select": "comp"})
    train.name("comp")
    assert "--variant comp --seed 0 --set select=difference" in train.texts


def test_it_says_what_would_be_replaced(train: Train) -> None:
    assert "replace" not in train.texts
    train.page.at.switch_page("pages/compare.py")
    train.page.settle()  # by then the model is loaded and its version known
    folder = own_folder("small", "1")
    folder.mkdir(parents=True)
    (folder / "aml-mine.safetensors").touch()
    train.at.switch_page("pages/train.py")
    assert "This replaces your earlier weights of AML under the name mine." in train.run().texts


def test_what_was_typed_is_there_after_a_look_at_another_page(train: Train) -> None:
    train.write(TEXTS).name("other")
    train.at.switch_page("pages/methods.py")
    train.run()
    train.at.switch_page("pages/train.py")
    train.run()
    assert train.at.text_area(key="train texts").value == TEXTS
    assert train.at.text_input(key="train variant").value == "other"


def test_an_earlier_training_tells_how_long_the_next_may_take(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelPool, "loaded", lambda _pool, _name: None)
    train.start().over()
    train.at.number_input(key="set aml epochs").set_value(8)
    train.run()
    # 1 s for 24 texts twice; now 24 texts eight times
    assert "About 4 s, judging by the last training of this kind, plus any jobs queued before." in train.texts


def test_that_a_start_fetches_the_model_is_said_beside_the_button(
    train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert form.FETCHES not in train.texts
    monkeypatch.setattr(form, "is_fetched_first", lambda _name: True)
    train.run()
    assert form.FETCHES in train.texts


def test_what_a_language_model_costs_is_said_before_its_first_training(train: Train) -> None:
    texts = [Example(f"text {number}") for number in range(20)]

    def expected(model: str) -> str:
        return form.fit_time_line(train.jobs, ModelPool(), FitSpec("aml", model), texts)

    assert expected("owner/model:sst2") == form.LANGUAGE_MODEL
    assert expected("small") == ""
    train.start().over()
    assert expected("small").startswith("About ")


def test_a_step_on_the_loaded_model_tells_how_long_a_training_takes(
    train: Train, bert: FrozenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is timed in the background, and nothing waits for it."""
    pace, paces, go = (
        FitPace(predicting=0.5, learning=1.0, once=0.0, keeping=0.0, kept=0.0, judging=2.0),
        list[object](),
        Event(),
    )

    def measured(recipe: object, *_args: object) -> FitPace:
        go.wait(PATIENCE)
        paces.append(recipe)
        return pace

    def timed() -> None:
        form._worker().submit(lambda: None).result(PATIENCE)  # what began before is done

    monkeypatch.setattr(fit, "measured_pace", measured)
    monkeypatch.setattr(ModelPool, "loaded", lambda _pool, _name: bert)
    form._begun.clear()
    train.write(TEXTS).name("mine")
    assert form.TIMING in train.texts
    go.set()
    timed()
    train.run()
    # 22 texts learned from in 5 epochs, 2 judged in each and once more with random orders: 0.5 · 24 + 110 + 24
    assert (
        "About 2 min on this machine by a timed step, plus loading the model and any jobs queued before." in train.texts
    )
    train.at.number_input(key="set aml epochs").set_value(1)
    train.run()
    assert (
        "About 42 s on this machine by a timed step, plus loading the model and any jobs queued before." in train.texts
    )  # 12 + 22 + 8
    assert len(paces) == 1
    train.at.number_input(key="set aml rank").set_value(4)
    train.run()
    timed()
    assert len(paces) == 2


@pytest.mark.parametrize(
    ("name", "content", "count", "problem"),
    [
        ("a.csv", "text,pair\n" + "\n".join(f"premise {n},other" for n in range(20)), 20, ""),
        ("A.TSV", "id\ttext\n" + "\n".join(f"{n}\ttext, {n}" for n in range(21)), 21, ""),
        ("a.csv", "premise,hypothesis\n" + "\n".join(f"text {n},other" for n in range(20)), 20, ""),
        (
            "a.csv",
            "words\nx",
            0,
            "The table needs a column named text; it has words. "
            "For pairs it needs text and text_pair, or premise and hypothesis.",
        ),
        ("a.txt", "\ufeff" + TEXTS, 24, ""),
        ("a<b>.txt", b"\xff\xfe", 0, "a<b>.txt is not UTF-8 text. Give text that is saved as UTF-8."),
    ],
)
def test_files_are_read(name: str, content: str | bytes, count: int, problem: str) -> None:
    submitted = texts_form.from_file(name, content if isinstance(content, bytes) else content.encode(), ())
    assert (len(submitted.texts), submitted.problem) == (count, problem)


def test_the_column_of_the_texts_is_guessed_and_chosen(train: Train) -> None:
    rows = "".join(f"{number},a good film {number},dull {number}\n" for number in range(24))
    train.run().at.file_uploader(key="train file").set_value(("a.csv", f"id,review,reply\n{rows}".encode(), "text/csv"))
    train.run()
    box = train.at.selectbox(key="train column")
    assert (box.value, box.options) == ("review", ["id", "review", "reply"])
    assert "--data a.csv --column review" in train.texts
    box.set_value("reply")
    train.run().press("start training").over()
    (job,) = train.jobs.all()
    assert "dull 3" in Path(job.spec.data).read_text(encoding="utf-8")
    assert "good film" not in Path(job.spec.data).read_text(encoding="utf-8")


def test_a_table_of_pairs_has_two_columns_to_choose(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("premise", "hypothesis")
    monkeypatch.setattr(models, "model_info", lambda _pool, _model: models.ModelInfo(input_names=names))
    rows = "".join(f"a film {number},dull {number}\n" for number in range(24))
    train.run().at.file_uploader(key="train file").set_value(("a.csv", f"this,that\n{rows}".encode(), "text/csv"))
    train.run()
    assert [train.at.selectbox(key=f"train {name}").value for name in ("column", "pair column")] == [
        "this",
        NO_COLUMN,
    ]
    assert train.page.plain("error") == [
        "The model reads pairs, premise and hypothesis, and these are single texts. Give a table (.csv, .tsv or "
        ".parquet) with a column of each: premise and hypothesis, text and text_pair, or two that you choose."
    ]
    train.at.selectbox(key="train pair column").set_value("this")
    train.run()
    assert train.page.plain("error") == ["The column 'this' cannot hold both texts of a pair. Choose another one."]
    train.at.selectbox(key="train pair column").set_value("that")
    train.run()
    assert "**24 pairs**" in train.texts
    assert "--data a.csv --column this --pair-column that" in train.texts


def test_a_model_of_pairs_takes_lines_with_a_tab_and_refuses_lines_without() -> None:
    lines = "\n".join(f"premise {n}\thypothesis" for n in range(20))
    submitted = texts_form.from_box(lines, ("premise", "hypothesis"))
    assert submitted.texts[0] == Example("premise 0", "hypothesis")
    for refused in (
        texts_form.from_box(TEXTS, ("premise", "hypothesis")),
        texts_form.from_file("a.txt", TEXTS.encode(), ("premise", "hypothesis")),
    ):
        assert refused.problem.startswith("The model reads pairs, premise and hypothesis, and these are single texts.")


def text_of(path: Path) -> str:
    return path.read_text() if path.is_file() else ""
