import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.datasets import text_sets
from explainers.datasets.entailment import ReasonTruth
from explainers.datasets.example import Example, InputImage, Splits
from explainers.datasets.images.sets import ImageFiles
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.evaluation import narrator_runs, narrator_weights, tournament
from explainers.evaluation.narrator_runs import (
    NarratorEvaluation,
    evaluate_fitted_narrators,
    evaluate_narrators,
    with_truths,
)
from explainers.evaluation.narrator_weights import NarratorEvaluationSpec, narrator_artifact
from explainers.evaluation.narrators import NarratorRun, input_text, item_records
from explainers.methods.narrator_specs import narrator_spec
from explainers.models import catalog
from explainers.models.frozen_model import FrozenModel
from explainers.models.tasks import TASKS
from explainers.narrative.fit import run_folder
from explainers.narrative.reason_sources import ReasonSource
from explainers.narrative.sentences import NarratorItem, narrator_items
from explainers.report.narrator_overview import trainings_of
from explainers.results.decision import Settings
from explainers.studies import narratives
from explainers.studies.narratives import write_images, write_narratives
from explainers.training.spec import FitSpec

Written = Callable[..., Path]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def no_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    """BERTScore has tests of its own; its encoder takes a second to load."""

    def missing() -> None:
        raise ModelUnavailable("There are no base weights.")

    monkeypatch.setattr(narrator_runs.text_metrics, "minilm_scorer", missing)


@pytest.fixture
def splits(pairs: list[Example], monkeypatch: pytest.MonkeyPatch) -> Splits:
    splits = Splits(tuple(pairs[:40]), (), tuple(pairs[40:]))
    monkeypatch.setattr(text_sets, "read_esnli", lambda _folder: splits)
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
    assert [line.split(":")[0] for line in progress[:2]] == ["cause_phi, seed 0", "cause, seed 0"]
    assert progress[2:] == ["BERTScore is left out. There are no base weights."]
    table = json.loads((tmp_path / "out" / "table.json").read_text())
    assert [row["method"] for row in table["rows"]] == ["cause_phi", "cause"]
    assert table["data"]["pairs"] == 6
    assert [row["method"] for row in table["baselines"]] == [
        "random_training_sentence",
        "copied_input",
        "given_reason",
    ]
    assert [row["name"] for row in table["baselines"]][-1] == "people's reason"
    assert all("names_words" in row and "own_minus_other" in row for row in (*table["rows"], *table["baselines"]))
    assert len(table["examples"]) == 6
    rows = [json.loads(line) for line in (tmp_path / "out" / "items.jsonl").read_text().splitlines()]
    test = {(example.text, example.pair) for example in splits.test}
    assert len({(row["text"], row["pair"]) for row in rows} & test) == 6
    assert "## 6." in (tmp_path / "out" / "examples.md").read_text()


def test_an_evaluation_of_a_model_has_its_narrators_too(
    model: FrozenModel, written: Written, pairs: list[Example]
) -> None:
    for method in ("cause_phi", "cause_tokens"):
        written(method)
    lines: list[str] = []
    inputs = [Example(pair.text, pair.pair) for pair in pairs[:40:4]]
    rows = evaluate_fitted_narrators(model, inputs, lines.append, draws=1)
    assert [row["method"] for row in rows] == ["cause_phi", "cause_tokens"]
    assert len(lines) == len(rows) + 1
    assert all(row["bleu_4"] is None for row in rows)  # nobody has explained these pairs
    assert evaluate_fitted_narrators(model, inputs[:1], lines.append) == []  # a counterfactual needs another class


@pytest.mark.usefixtures("splits")
def test_the_command_prints_a_row_per_narrator(
    model: FrozenModel, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "load", lambda _name, **_rest: model)
    methods = ("cause_phi", "cause_phi_ts", "cause")
    for method in methods:
        written(method)
    result = CliRunner().invoke(
        app, ["study", "narratives", "--n", "4", "--seeds", "1", "--methods", ",".join(methods)]
    )
    assert result.exit_code == 0, result.stderr
    assert [line.split(" | ")[0] for line in result.stdout.splitlines()[2:5]] == [
        f"| {narrator_spec(method).name}" for method in methods
    ]
    assert "tournament" not in json.loads(Path("runs/narratives/table.json").read_text())


@pytest.mark.usefixtures("splits")
def test_a_tournament_is_run_on_as_many_inputs_as_were_asked_for(
    model: FrozenModel, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "load", lambda _name, **_rest: model)
    monkeypatch.setattr(tournament, "Settings", lambda: Settings(samples=20))
    for method in ("cause_phi", "cause"):
        written(method)
    command = ["study", "narratives", "--n", "4", "--seeds", "1", "--tournament", "2", "--methods"]
    result = CliRunner().invoke(app, [*command, "cause_phi,cause"])
    assert result.exit_code == 0, result.stderr
    assert "Judged by LIME, among all 2 narrators" in result.stdout
    table = json.loads(Path("runs/narratives/table.json").read_text())
    assert table["tournament"]["inputs"] == 2
    assert [judge_table["judge"] for judge_table in table["tournament"]["tables"]] == ["lime", "kernel_shap"]
    assert all(
        sum(row["points"]["mean"] for row in judge_table["rows"]) == 1 for judge_table in table["tournament"]["tables"]
    )
    assert "--tournament 2" in table["command"]
    alone = CliRunner().invoke(app, [*command, "cause"])
    assert alone.exit_code == 2
    assert "at least two narrators" in alone.stderr


@pytest.mark.usefixtures("splits")
def test_narrators_read_the_tokens_of_their_layer_once(
    model: FrozenModel, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = ("cause_phi_tokens", "cause_tokens")
    for method in methods:
        written(method)
    layers: list[int] = []

    def recorded(model: FrozenModel, inputs: Sequence[Example], layer: int = 0) -> list[NarratorItem]:
        layers.append(layer)
        return narrator_items(model, inputs, layer)

    monkeypatch.setattr(narrator_runs.sentences, "narrator_items", recorded)
    spec = evaluation_spec(methods=methods, settings=(("layer", "1"),))  # as they were written
    evaluation = evaluate_narrators(spec, model, lambda _line: None)
    assert [row["method"] for row in evaluation.rows] == list(methods)
    assert layers == [0, 1]


def test_one_pair_has_no_counterfactual(model: FrozenModel, splits: Splits) -> None:
    with pytest.raises(ExplanationError, match=r"at least two examples\. Give a larger --n"):
        evaluate_narrators(evaluation_spec(n=1), model, print)


@pytest.fixture
def resumed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each fitting, whether it was resumed; nothing is fitted."""
    resumed: list[bool] = []

    def make(_spec: FitSpec, _model: FrozenModel, _folder: Path, _out: Path, *, resume: bool) -> None:
        resumed.append(resume)

    monkeypatch.setattr(narrator_weights, "make", make)
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


def test_a_reason_is_checked_on_its_own_input_and_on_the_next_and_against_the_given_reasons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inputs = [Example("a cat", None, 0, ("cat",)), Example("a dog", None, 0, ("dog",)), Example("a dog and a cat")]
    task = replace(
        TASKS["scenes"],
        check_reason=lambda reason, example: ReasonTruth(reason in example.text, ""),
        check_topic=lambda reason, given: any(given_reason in reason for given_reason in given) if given else None,
    )
    monkeypatch.setitem(TASKS, "scenes", task)
    sentences = ("It is yes because a cat.", "It is yes because a cat.", "It is yes because a dog.")
    runs = {"cause": [NarratorRun(sentences, (0, 0, 0), (0, 0, 0), (), ())]}
    (run,) = with_truths(runs, inputs, [0, 0, 0], "scenes")["cause"]
    assert run.truths == (True, False, True)
    assert run.truths_of_other == (False, True, False)
    assert run.topics == (True, False, None)
    (record, other, _) = item_records(inputs, [0, 0, 0], {"cause": [run]}, ("yes",))
    assert (record["true"], other["true"], other["on_topic"]) == ({"cause": True}, {"cause": False}, {"cause": False})
    (wrong,) = with_truths(runs, inputs, [1, 0, 0], "scenes")["cause"]
    assert wrong.topics == (None, False, None)  # the given reason is about another class
    assert with_truths(runs, inputs, [0, 0, 0], "nli") is runs


def image(colour: int) -> InputImage:
    return InputImage.of(np.full((2, 3, 3), colour, dtype=np.uint8))


def test_images_are_numbered_as_the_items_of_the_page(tmp_path: Path) -> None:
    write_images(
        {1: Example("a", image=image(10)), 2: Example("b"), 3: Example("c", image=image(30))}, tmp_path / "images"
    )
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == ["1.png", "3.png"]
    assert (InputImage(path=tmp_path / "images" / "3.png").pixels() == 30).all()
    write_images({1: Example("a"), 2: Example("b")}, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_page_ends_with_errors_of_all_inputs_and_their_images_are_written(
    model: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narratives, "EXAMPLES_ON_PAGE", 1)
    inputs = tuple(Example("a dog", "a cat", 1, ("why",), image=image(number)) for number in range(3))
    said = [f"The answer is neutral because {reason}." for reason in ("of a dog", "of a cat", "of a man")]
    runs = {"cause": [NarratorRun(tuple(said), (), (), (), ())]}
    records = item_records(inputs, [1, 1, 1], runs, model.labels)
    about = {"command": "python -m explainers study narratives"}
    write_narratives(NarratorEvaluation(model, inputs, [], [], records, about, False, {}), tmp_path)
    page = (tmp_path / "examples.md").read_text()
    assert page.count("(examples/1.png)") == page.count("(examples/3.png)") == 1
    assert page.index("# What the narrators say") < page.index("## The class is right, the reason is not")
    assert sorted(path.name for path in (tmp_path / "examples").iterdir()) == ["1.png", "3.png"]


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
    multimodal = tuple(replace(example, image=image(number)) for number, example in enumerate(splits.test))

    def published(_model: FrozenModel, data: Path | None, images: ImageFiles | None) -> ReasonSource:
        assert (data, images) == (Path("dev.csv"), files)
        return ReasonSource("esnlive", splits.train, (), multimodal, lambda: [])

    monkeypatch.setattr(narrator_runs.reason_sources, "reason_source", published)
    spec = evaluation_spec(data=Path("dev.csv"), methods=("cause_phi",), images=files)
    write_narratives(evaluate_narrators(spec, model, lambda _line: None), tmp_path / "out")
    assert len(list((tmp_path / "out" / "examples").iterdir())) == 6
    page = (tmp_path / "out" / "examples.md").read_text()
    assert "(examples/6.png)" in page
    assert page.count("People: The ") == 6
    command = json.loads((tmp_path / "out" / "table.json").read_text())["command"]
    assert "--format esnlive --pictures DIR --data DATA" in command


def test_one_training_is_enough_for_those_who_are_named(
    model: FrozenModel, written: Written, splits: Splits, monkeypatch: pytest.MonkeyPatch
) -> None:
    for method in ("cause_phi", "cause"):
        written(method)
    monkeypatch.setattr(
        narrator_runs.narrator_weights,
        "narrator_artifact",
        lambda spec, model, method, _seed, progress: narrator_artifact(spec, model, method, 0, progress),
    )
    evaluation = evaluate_narrators(evaluation_spec(seeds=2, once=("cause",)), model, lambda _line: None)
    assert {row["method"]: row["seeds"] for row in evaluation.rows} == {"cause_phi": 2, "cause": 1}
    assert "--seeds 2 --methods cause_phi,cause --once cause " in evaluation.about["command"]
    assert trainings_of(evaluation.rows) == "2 trainings per narrator, only one of CAuSE + word losses"


def test_a_narrator_that_does_not_exist_is_not_measured_once(model: FrozenModel, splits: Splits) -> None:
    for unknown, message in (("causes", "causes"), ("cause_phi_ts", "cause_phi_ts .* not among the narrators")):
        with pytest.raises(ExplanationError, match=message):
            evaluate_narrators(evaluation_spec(once=(unknown,)), model, lambda _line: None)
