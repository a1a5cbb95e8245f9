import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from explainers.commands.app import app
from explainers.commands.narratives import write_images, write_narratives
from explainers.datasets import esnli
from explainers.datasets.example import Example, Splits
from explainers.datasets.image import InputImage
from explainers.datasets.images.sets import ImageFiles
from explainers.datasets.reason_truth import ReasonTruth
from explainers.errors import ExplanationError
from explainers.evaluation import narrator_runs
from explainers.evaluation.narrator_runs import (
    NarratorEvaluationSpec,
    evaluate_narrators,
    input_text,
    item_records,
    narrator_artifact,
    with_truths,
)
from explainers.evaluation.narrators import NarratorRun
from explainers.methods.narrator_specs import NARRATORS
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel
from explainers.models.tasks import TASKS
from explainers.narrative.fit import run_folder
from explainers.narrative.reason_sources import ReasonSource
from explainers.training.fit_spec import FitSpec

Written = Callable[..., Path]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def splits(pairs: list[Example], monkeypatch: pytest.MonkeyPatch) -> Splits:
    splits = Splits(tuple(pairs[:40]), (), tuple(pairs[40:]))
    monkeypatch.setattr(esnli, "read_esnli", lambda _folder: splits)
    return splits


def evaluation_spec(**fields: object) -> NarratorEvaluationSpec:
    return NarratorEvaluationSpec(**{"data": None, "n": 6, "seeds": 1, "methods": ("cause_phi", "cause"), **fields})  # type: ignore[arg-type]


def test_shipped_narrators_are_measured_and_every_sentence_is_written(
    model: FrozenModel, written: Written, splits: Splits, tmp_path: Path
) -> None:
    for method in ("cause_phi", "cause"):
        written(method)
    progress: list[str] = []
    evaluation = evaluate_narrators(evaluation_spec(), model, progress.append)
    write_narratives(evaluation, tmp_path / "out")
    assert [line.split(":")[0] for line in progress] == ["cause_phi, seed 0", "cause, seed 0"]
    table = json.loads((tmp_path / "out" / "table.json").read_text())
    assert [row["method"] for row in table["rows"]] == ["cause_phi", "cause"]
    assert table["data"]["pairs"] == 6
    rows = [json.loads(line) for line in (tmp_path / "out" / "items.jsonl").read_text().splitlines()]
    test = {(each.text, each.pair) for each in splits.test}
    assert len({(row["text"], row["pair"]) for row in rows} & test) == 6
    assert "## 6." in (tmp_path / "out" / "examples.md").read_text()


@pytest.mark.usefixtures("splits")
def test_the_command_prints_a_row_per_narrator(
    model: FrozenModel, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "load", lambda _name, **_rest: model)
    for method in NARRATORS.ids:
        written(method)
    result = CliRunner().invoke(app, ["narratives", "--n", "4", "--seeds", "1"])
    assert result.exit_code == 0, result.stderr
    assert [line.split(" | ")[0] for line in result.stdout.splitlines()[2:5]] == ["| φ", "| φ + TS", "| CAuSE"]
    assert Path("runs/narratives/table.json").is_file()


def test_one_pair_has_no_counterfactual(model: FrozenModel, splits: Splits) -> None:
    with pytest.raises(ExplanationError, match=r"at least two pairs\. Give a larger --n"):
        evaluate_narrators(evaluation_spec(n=1), model, print)


@pytest.fixture
def resumed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each fitting, whether it was resumed; nothing is fitted."""
    resumed: list[bool] = []

    def make(_spec: FitSpec, _model: FrozenModel, _folder: Path, _out: Path, *, resume: bool) -> None:
        resumed.append(resume)

    monkeypatch.setattr(narrator_runs, "make", make)
    return resumed


def weights(model: FrozenModel, seed: int, **fields: object) -> Path:
    return narrator_artifact(evaluation_spec(**fields), model, "cause", seed, print).path


def test_shipped_weights_are_taken_for_their_own_settings_and_seed_only(
    model: FrozenModel, written: Written, resumed: list[bool]
) -> None:
    path = written("cause")
    assert weights(model, 0) == path
    assert resumed == []
    assert weights(model, 1) != path
    assert weights(model, 0, settings=(("leak", "leaky"),)) != path
    assert resumed == [True, True]


def test_what_was_fitted_to_another_version_is_fitted_from_scratch(
    model: FrozenModel, written: Written, resumed: list[bool]
) -> None:
    path = written("cause", folder=run_folder(FitSpec("cause", "small", seed=1)) / "weights")
    assert weights(model, 1) == path
    assert resumed == []
    card = json.loads(path.with_suffix(".json").read_text())
    path.with_suffix(".json").write_text(json.dumps(card | {"model": {"name": "small", "version": "0"}}))
    weights(model, 1)
    assert resumed == [False]


def test_a_record_has_both_classes_and_the_first_seeds_sentence() -> None:
    runs = [NarratorRun((text,), (0,), (0,), (), ()) for text in ("first", "second")]
    (record,) = item_records([Example("p", "h", 2, ("why",))], [1], {"cause": runs}, ("a", "b", "c"))
    assert record == {
        "text": "p",
        "pair": "h",
        "pictured": False,
        "label": "c",
        "predicted": "b",
        "people": ["why"],
        "cause": "first",
    }


def test_a_reason_is_checked_on_its_own_input_and_on_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [Example("a cat"), Example("a dog"), Example("a dog and a cat")]
    task = replace(TASKS["scenes"], check_reason=lambda reason, example: ReasonTruth(reason in example.text, ""))
    monkeypatch.setitem(narrator_runs.TASKS, "scenes", task)
    sentences = ("It is yes because a cat.", "It is yes because a cat.", "It is yes because a dog.")
    runs = {"cause": [NarratorRun(sentences, (0, 0, 0), (0, 0, 0), (), ())]}
    (run,) = with_truths(runs, inputs, "scenes")["cause"]
    assert run.truths == (True, False, True)
    assert run.truths_elsewhere == (False, True, False)
    assert item_records(inputs, [0, 0, 0], {"cause": [run]}, ("yes",))[1]["true"] == {"cause": False}
    assert with_truths(runs, inputs, "nli") is runs


def image(colour: int) -> InputImage:
    return InputImage.of(np.full((2, 3, 3), colour, dtype=np.uint8))


def test_images_are_numbered_as_the_items_of_the_page(tmp_path: Path) -> None:
    write_images([Example("a", image=image(10)), Example("b"), Example("c", image=image(30))], tmp_path / "images")
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == ["1.png", "3.png"]
    assert (InputImage(path=tmp_path / "images" / "3.png").pixels() == 30).all()
    write_images([Example("a"), Example("b")], tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_text_of_an_input_has_all_of_its_words() -> None:
    assert input_text(Example("A dog runs.", "A cat sleeps.")) == "A dog runs. A cat sleeps."
    assert input_text(Example("A dog runs.", image=image(0))) == "A dog runs."


def test_weights_that_learned_from_another_set_are_not_taken(
    model: FrozenModel, written: Written, resumed: list[bool], tmp_path: Path
) -> None:
    files = ImageFiles("esnlive", tmp_path)
    path = written("cause")
    of_the_set = weights(model, 0, images=files)
    assert of_the_set != path
    assert resumed == [True]
    card = json.loads(path.with_suffix(".json").read_text())
    command = FitSpec("cause", "m", format="esnlive", images=str(tmp_path)).command
    path.with_suffix(".json").write_text(json.dumps(card | {"command": command}))
    assert weights(model, 0, images=files) == path
    assert weights(model, 0) not in (path, of_the_set)
    assert resumed == [True, True]


def test_the_first_images_of_a_published_set_are_written_and_the_command_names_the_set(
    model: FrozenModel, written: Written, splits: Splits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = ImageFiles("esnlive", tmp_path)
    path = written("cause_phi")
    card = json.loads(path.with_suffix(".json").read_text())
    command = FitSpec("cause_phi", "small", format="esnlive", images=str(tmp_path)).command
    path.with_suffix(".json").write_text(json.dumps(card | {"command": command}))
    encode = model.encode
    monkeypatch.setattr(model, "encode", lambda example: encode(replace(example, image=None)))
    multimodal = tuple(replace(each, image=image(number)) for number, each in enumerate(splits.test))

    def published(_model: FrozenModel, data: Path | None, images: ImageFiles | None) -> ReasonSource:
        assert (data, images) == (Path("dev.csv"), files)
        return ReasonSource("esnlive", splits.train, (), multimodal, lambda: [])

    monkeypatch.setattr(narrator_runs, "reason_source", published)
    spec = evaluation_spec(data=Path("dev.csv"), methods=("cause_phi",), images=files)
    write_narratives(evaluate_narrators(spec, model, lambda _line: None), tmp_path / "out")
    assert len(list((tmp_path / "out" / "examples").iterdir())) == 6
    page = (tmp_path / "out" / "examples.md").read_text()
    assert "(examples/6.png)" in page
    assert page.count("People: The ") == 6
    command = json.loads((tmp_path / "out" / "table.json").read_text())["command"]
    assert "--format esnlive --pictures DIR --data DATA" in command
