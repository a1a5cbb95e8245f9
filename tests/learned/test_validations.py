"""More validations than epochs, and several seeds of which the best is kept."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import torch

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.learned.batches import LearningExample, encode_for_learning
from explainers.learned.cimi import Cimi
from explainers.learned.fit import make
from explainers.learned.fitting_loop import LearnedTraining, fit
from explainers.models.frozen_model import FrozenModel
from explainers.training.artifacts import STORE_VARIABLE
from explainers.training.fit_spec import FitSpec
from explainers.training.loop import CHECKPOINT, LOG

ENDS = ("good", "bad", "dull", "unwatchable", "very good", "not bad")
TEXTS = tuple(f"the {subject} was {end} !" for end in ENDS for subject in ("film", "plot", "a film", "dull plot"))


@pytest.fixture
def texts(bert: FrozenModel) -> list[LearningExample]:
    return encode_for_learning(bert, [Example(text) for text in TEXTS])


def small(**settings: Any) -> Cimi:
    return Cimi(**{"epochs": 2, "batch": 6, "learning_rate": 1e-2, **settings})


def measured(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / LOG).read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if "validation" in line]


def test_more_validations_leave_the_training_as_it_is(
    bert: FrozenModel, texts: list[LearningExample], tmp_path: Path
) -> None:
    once = fit(small(select="last"), bert, texts, texts[:4], tmp_path / "once")
    often = fit(small(select="last", validations=2), bert, texts, texts[:4], tmp_path / "often")
    assert once.loop.step_number == often.loop.step_number == 8
    assert all(torch.equal(weight, often.best[name]) for name, weight in once.best.items())
    assert [(line["epoch"], line["step"]) for line in measured(tmp_path / "often")] == [
        *((0.5, 2), (1.0, 4), (1.5, 6), (2.0, 8))
    ]


def test_no_part_of_an_epoch_is_empty(bert: FrozenModel, texts: list[LearningExample], tmp_path: Path) -> None:
    fit(small(epochs=1, validations=100), bert, texts, texts[:4], tmp_path)
    assert [line["step"] for line in measured(tmp_path)] == [1, 2, 3, 4]


def test_a_training_resumed_within_an_epoch_is_the_one_that_was_not_interrupted(
    bert: FrozenModel, texts: list[LearningExample], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = small(select="comp", validations=2)
    whole = fit(recipe, bert, texts, texts[:4], tmp_path / "whole")
    validate = LearnedTraining.validate

    def ending(self: LearnedTraining) -> dict[str, object]:
        if self.loop.step_number > 2:
            raise KeyboardInterrupt
        return validate(self)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(LearnedTraining, "validate", ending)
        fit(recipe, bert, texts, texts[:4], tmp_path / "parts")
    parts = fit(recipe, bert, texts, texts[:4], tmp_path / "parts", resume=True)
    assert all(torch.equal(weight, parts.best[name]) for name, weight in whole.best.items())
    assert (whole.metrics, whole.kept_step) == (parts.metrics, parts.kept_step)


def spec_of(tmp_path: Path, **fields: Any) -> FitSpec:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS), encoding="utf-8")
    settings = (("epochs", "1"), ("batch", "8"), ("select", "comp"), ("learning_rate", "0.05"))
    return FitSpec("cimi", "small", str(path), "mine", **{"seed": 2, "settings": settings, **fields})


def test_of_several_seeds_the_best_on_validation_is_kept_and_the_card_lists_all(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))
    card = make(spec_of(tmp_path, seeds=3), bert, tmp_path / "run", tmp_path / "best", resume=False)
    values = [each["validation"]["aopc_c"] for each in card["seeds"]]
    assert [each["seed"] for each in card["seeds"]] == [2, 3, 4]
    assert len(set(values)) > 1
    best = card["seeds"][values.index(max(values))]
    assert (card["recipe"]["seed"], card["validation"]) == (best["seed"], best["validation"])
    assert card["steps"] == {"kept": best["steps"], "all": 3}
    assert card["command"].endswith("--seeds 3")
    assert all((tmp_path / "run" / f"seed-{seed}" / CHECKPOINT).is_file() for seed in (2, 3, 4))


def test_the_command_of_several_seeds_is_read_back(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, seeds=3)
    assert FitSpec.from_arguments(shlex.split(spec.shell_command())[3:]) == spec
    assert "--seeds" not in spec_of(tmp_path).shell_command()


def test_a_narrator_has_one_seed() -> None:
    with pytest.raises(ExplanationError, match="cause is trained with one seed. Omit --seeds."):
        FitSpec("cause", "nli", seeds=2).check()
