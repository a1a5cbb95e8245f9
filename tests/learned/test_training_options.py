"""More validations than epochs, several seeds of which the best is kept, and passes in half precision."""

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.installation import STORE_VARIABLE
from explainers.learned.batches import LearningExample, batch, encode_for_learning
from explainers.learned.cimi import Cimi
from explainers.learned.fit import make
from explainers.learned.fitting_loop import LearnedTraining, fit
from explainers.learned.recipes import RECIPES, recipe_of
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import forward_with_internals, forward_with_soft_mask, passes_in
from explainers.training.loop import CHECKPOINT, LOG
from explainers.training.spec import FitSpec

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

    with monkeypatch.context() as patch:
        patch.setattr(LearnedTraining, "validate", ending)
        with pytest.raises(KeyboardInterrupt):
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
    values = [run["validation"]["aopc_c"] for run in card["seeds"]]
    assert [run["seed"] for run in card["seeds"]] == [2, 3, 4]
    assert len(set(values)) > 1
    best = card["seeds"][values.index(max(values))]
    assert (card["recipe"]["seed"], card["validation"]) == (best["seed"], best["validation"])
    assert card["steps"] == {"kept": best["steps"], "all": 3}
    assert card["command"].endswith("--seeds 3")
    assert all((tmp_path / "run" / f"seed-{seed}" / CHECKPOINT).is_file() for seed in (2, 3, 4))


def test_the_command_of_several_seeds_is_read_back(
    as_typed: Callable[[Sequence[str]], FitSpec], tmp_path: Path
) -> None:
    spec = spec_of(tmp_path, seeds=3)
    assert as_typed(shlex.split(spec.shell_command())) == spec
    assert "--seeds" not in spec_of(tmp_path).shell_command()


def test_a_narrator_has_one_seed() -> None:
    with pytest.raises(ExplanationError, match=r"cause is trained with one seed\. Omit --seeds\."):
        FitSpec("cause", "nli", seeds=2).check()


def test_passes_in_bfloat16_are_near_those_in_float32_and_give_float32(
    bert: FrozenModel, texts: list[LearningExample]
) -> None:
    inputs = batch(bert, texts).inputs
    mask = torch.full(inputs.units.shape, 0.5, requires_grad=True)
    exact = forward_with_soft_mask(bert, inputs, mask)
    with passes_in("bfloat16"):
        rounded = forward_with_soft_mask(bert, inputs, mask)
    for one, other in ((exact, rounded), (forward_with_internals(bert, inputs), None)):
        assert {tensor.dtype for tensor in (one.logits, *one.hidden, *one.queries, *one.keys)} == {torch.float32}
        if other is not None:
            assert not torch.equal(one.logits, other.logits)
            assert torch.allclose(one.logits, other.logits, atol=0.05)
    slopes = [torch.autograd.grad(result.logits[:, 0].sum(), mask)[0].flatten() for result in (exact, rounded)]
    assert torch.nn.functional.cosine_similarity(*slopes, dim=0) > 0.98


def test_the_precision_ends_with_its_block_also_when_a_pass_fails(
    bert: FrozenModel, texts: list[LearningExample]
) -> None:
    inputs = batch(bert, texts).inputs
    before = forward_with_internals(bert, inputs).logits
    with pytest.raises(ZeroDivisionError), passes_in("bfloat16"):
        raise ZeroDivisionError
    assert torch.equal(forward_with_internals(bert, inputs).logits, before)


@pytest.mark.parametrize("method", RECIPES)
def test_every_method_trains_in_bfloat16(
    bert: FrozenModel, texts: list[LearningExample], tmp_path: Path, method: str
) -> None:
    settings = {"epochs": 1, "batch": 8, "validations": 1, "select": "last"}
    exact, rounded = (
        fit(recipe_of(method, settings | {"precision": precision}), bert, texts, texts[:4], tmp_path / precision).best
        for precision in ("float32", "bfloat16")
    )
    assert any(not torch.equal(exact[name], rounded[name]) for name in exact)
    assert all(torch.isfinite(weight).all() for weight in rounded.values())
