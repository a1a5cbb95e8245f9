import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.datasets.example import Example
from explainers.learned import fitting_loop
from explainers.learned.batches import LearningExample, encode_for_learning
from explainers.learned.fitting_loop import LearnedTraining
from explainers.models.bundle_cards import BUNDLES
from explainers.models.frozen_model import FrozenModel
from explainers.studies import tuning
from explainers.studies.tuning import SELECTIONS, TUNING, best, search, tuning_section

ENDS = ("good", "bad", "dull", "unwatchable")
TEXTS = tuple(f"the {subject} was {end} !" for end in ENDS for subject in ("film", "plot", "a film", "dull plot"))
SHIPPED_WEIGHTS = BUNDLES / "sst2" / "learned"
WEIGHTS = {"lambda_p", "lambda_inv", "lambda_a"}


@pytest.fixture
def items(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> list[LearningExample]:
    for name, value in (("TEXTS", 10), ("VALIDATION", 3), ("EPOCHS", 1)):
        monkeypatch.setattr(tuning, name, value)
    return encode_for_learning(bert, [Example(text) for text in TEXTS])


@pytest.mark.parametrize(("select", "number"), [("difference", 0), ("comp", 1), ("suff", 2)])
def test_the_best_trial_is_the_one_with_the_best_figure(select: Any, number: int) -> None:
    tried = [  # differences 0.5, 0.3 and 0.4
        {"aopc_c": 0.6, "aopc_s": 0.1},
        {"aopc_c": 0.7, "aopc_s": 0.4},
        {"aopc_c": 0.3, "aopc_s": -0.1},
    ]
    assert best(tried, select) is tried[number]


def test_every_trial_is_kept_with_what_it_tried_and_found(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path
) -> None:
    log = tmp_path / "new" / "trials.jsonl"
    said: list[str] = []
    result = search(bert, items, items[10:], trials=1, seed=0, log=log, progress=said.append)
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert result["trials"] == lines
    assert [line.pop("variant", None) for line in lines] == ["difference", "comp", "suff", None]
    for line in lines:
        assert set(line) == WEIGHTS | {"aopc_c", "aopc_s"}
        assert all(0 < line[name] <= 1 for name in WEIGHTS)
    shipped = [json.loads((SHIPPED_WEIGHTS / f"aml-{name}.json").read_text())["recipe"] for name in SELECTIONS]
    for line, recipe in zip(lines, shipped, strict=False):
        assert {name: line[name] for name in WEIGHTS} == {name: recipe[name] for name in WEIGHTS}
    assert result["best"] == {select: best(result["trials"], select) for select in SELECTIONS}
    assert (result["epochs"], result["texts"], result["validation"], result["seed"]) == (1, 10, 3, 0)
    assert said == [f"trial {number} of 4" for number in (1, 2, 3, 4)]


def test_trials_are_short_and_have_the_settings_that_are_written(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[tuple[Any, int, int]] = []
    fit = fitting_loop.fit

    def noted(recipe: Any, model: FrozenModel, texts: Any, validation: Any, folder: Path) -> LearnedTraining:
        folders.append((recipe, len(texts), len(validation)))
        return fit(recipe, model, texts, validation, folder)

    monkeypatch.setattr(tuning.fitting_loop, "fit", noted)
    result = search(bert, items, items, trials=1, seed=4, log=tmp_path / "trials.jsonl")
    for (recipe, texts, validation), trial in zip(folders, result["trials"], strict=True):
        assert (texts, validation, recipe.epochs, recipe.seed) == (10, 3, 1, 4)
        assert {name: getattr(recipe, name) for name in WEIGHTS} == {name: trial[name] for name in WEIGHTS}


def test_the_same_seed_tries_the_same_settings(bert: FrozenModel, items: list[LearningExample], tmp_path: Path) -> None:
    first, again, other = (
        search(bert, items[:4], items, trials=1, seed=seed, log=tmp_path / "trials.jsonl") for seed in (0, 0, 1)
    )
    assert first == again
    assert first["trials"][3] != other["trials"][3]


def test_the_command_writes_a_table_from_which_the_card_is_made(
    hub_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("TEXTS", 8), ("VALIDATION", 3), ("EPOCHS", 1)):
        monkeypatch.setattr(tuning, name, value)
    data, out = tmp_path / "texts.txt", tmp_path / "out"
    data.write_text("\n".join(f"{text} {number}" for number in range(2) for text in TEXTS), encoding="utf-8")
    arguments = ("--model", str(hub_folder), "--data", str(data), "--trials", "1", "--out", str(out))
    result = CliRunner().invoke(app, ("study", "tune", *arguments, "--device", "cpu"))
    assert result.exit_code == 0, result.output
    table = json.loads((out / TUNING).read_text(encoding="utf-8"))
    assert table["trials"] == [json.loads(line) for line in (out / "trials.jsonl").read_text().splitlines()]
    assert table["command"].endswith("--trials 1 --seed 0 --data DATA")
    title, command, *rest = tuning_section(out / TUNING)
    assert title == "## AML's λ"
    assert table["command"] in command
    assert rest[0].strip() in result.output
