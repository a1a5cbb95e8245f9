import json
from pathlib import Path
from typing import Any

import pytest

from explainers.datasets.example import Example
from explainers.learned import fitting_loop, tuning
from explainers.learned.batches import LearningExample, encode_for_learning
from explainers.learned.fitting_loop import LearnedTraining
from explainers.learned.tuning import CRITERIA, best, search
from explainers.models.frozen_model import FrozenModel

ENDS = ("good", "bad", "dull", "unwatchable")
TEXTS = tuple(f"the {subject} was {end} !" for end in ENDS for subject in ("film", "plot", "a film", "dull plot"))
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
    result = search(bert, items, items[10:], trials=2, seed=0, log=log)
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert result["trials"] == lines
    assert len(lines) == 2
    for line in lines:
        assert set(line) == WEIGHTS | {"aopc_c", "aopc_s"}
        assert all(0 < line[name] <= 1 for name in WEIGHTS)
    assert [lines[0][name] for name in ("lambda_p", "lambda_inv", "lambda_a")] == [1, 1, 0.3]  # the recipe's own
    assert lines[0] != lines[1]
    assert result["best"] == {select: best(lines, select) for select in CRITERIA}


def test_trials_are_short_and_have_the_settings_that_are_written(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[tuple[Any, int, int]] = []
    fit = fitting_loop.fit

    def noted(recipe: Any, model: FrozenModel, texts: Any, validation: Any, folder: Path) -> LearnedTraining:
        folders.append((recipe, len(texts), len(validation)))
        return fit(recipe, model, texts, validation, folder)

    monkeypatch.setattr(tuning, "fit", noted)
    result = search(bert, items, items, trials=2, seed=4, log=tmp_path / "trials.jsonl")
    for (recipe, texts, validation), trial in zip(folders, result["trials"], strict=True):
        assert (texts, validation, recipe.epochs, recipe.seed) == (10, 3, 1, 4)
        assert {name: getattr(recipe, name) for name in WEIGHTS} == {name: trial[name] for name in WEIGHTS}


def test_the_same_seed_tries_the_same_settings(bert: FrozenModel, items: list[LearningExample], tmp_path: Path) -> None:
    first, again, other = (
        search(bert, items[:4], items, trials=2, seed=seed, log=tmp_path / "trials.jsonl") for seed in (0, 0, 1)
    )
    assert first == again
    assert first["trials"][1] != other["trials"][1]
