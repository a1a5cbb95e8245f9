"""IvRA together with the classifier: what learns, what stays, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.learned import fitting_loop, ivra_full, student
from explainers.learned.batches import LearningExample, encode_for_learning
from explainers.learned.ivra import Ivra
from explainers.learned.ivra_full import (
    fit_full,
    full_name,
    full_recipe,
    make_full,
    validated,
)
from explainers.learned.student import UnitStates
from explainers.models.bundle_cards import BUNDLES
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.training.loop import LOG
from explainers.training.spec import FitSpec

TEXTS = (
    "good film",
    "the plot was unwatchable",
    "a very dull film, not good",
    "bad",
    "the film was good!",
    "dull plot",
)


@pytest.fixture
def items(bert: FrozenModel) -> list[LearningExample]:
    return encode_for_learning(bert, [Example(text) for text in TEXTS])


def terms(folder: Path) -> list[dict[str, float]]:
    lines = (folder / LOG).read_text(encoding="utf-8").splitlines()
    return [line["terms"] for line in map(json.loads, lines) if "terms" in line]


def test_a_copy_learns_and_not_the_model(bert: FrozenModel, items: list[LearningExample], tmp_path: Path) -> None:
    before = fingerprint(bert)
    result = fit_full(bert, items, items, tmp_path, Ivra(criterion="suff", epochs=2), model_rate=1e-3)
    assert fingerprint(bert) == before
    assert fingerprint(result.model) != before
    assert result.model.version != bert.version
    table, tuned = (model.base.embeddings.word_embeddings.weight for model in (bert, result.model))  # type: ignore[union-attr]
    assert torch.equal(table, tuned)
    assert not any(weight.requires_grad for weight in result.model.module.parameters())
    assert set(result.metrics) == {"aopc_c", "aopc_s", "aopc_c_random", "agreement"}


@pytest.mark.parametrize("criterion", ["sim", "comp", "suff", "cons", "comp+suff"])
def test_every_criterion_falls_and_comes_out_the_same_again(
    bert: FrozenModel,
    items: list[LearningExample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    criterion: str,
) -> None:
    monkeypatch.setattr(student, "unit_states", lambda: UnitStates(bert.base, bert.tokenizer))  # type: ignore[arg-type]
    recipe = Ivra(criterion=criterion, norm="softmax", epochs=12, batch=6, learning_rate=0.05)
    result = fit_full(bert, items, items, tmp_path, recipe, model_rate=1e-2)
    steps = terms(tmp_path)
    assert set(steps[0]) == {"total", *criterion.split("+"), "entropy", "error"}
    sums = [sum(step[name] for name in criterion.split("+")) for step in steps]
    assert sum(sums[-3:]) < sum(sums[:3])
    assert ("cons" in result.metrics) == (criterion == "cons")
    assert fit_full(bert, items, items, tmp_path, recipe, model_rate=1e-2).model.version == result.model.version


@pytest.mark.parametrize(
    ("criterion", "said"), [("comp", "AOPC-C is"), ("suff", "AOPC-S is"), ("comp+suff", "AOPC-C minus AOPC-S is")]
)
def test_what_is_no_better_than_random_is_told_by_the_criterion(
    bert: FrozenModel, items: list[LearningExample], monkeypatch: pytest.MonkeyPatch, criterion: str, said: str
) -> None:
    monkeypatch.setattr(fitting_loop, "FEWEST_JUDGED", len(items))
    monkeypatch.setattr(
        fitting_loop,
        "random_values",
        lambda model, examples: fitting_loop.per_text(model, examples, ones(examples), "mask"),
    )
    monkeypatch.setattr(fitting_loop, "explained", lambda _recipe, _module, _model, examples: ones(examples))
    recipe = Ivra(criterion=criterion)
    _, (warning,) = validated(recipe, recipe.module(bert), bert, items)
    assert said in warning


def ones(examples: list[LearningExample]) -> list[tuple[float, ...]]:
    return [(1.0,) * len(example.encoding.units) for example in examples]


def test_faithfulness_is_not_judged_where_it_was_not_trained_for(
    bert: FrozenModel, items: list[LearningExample]
) -> None:
    recipe = Ivra(criterion="cons")
    assert validated(recipe, recipe.module(bert), bert, items)[1] == ()


def test_a_rate_that_is_too_high_is_said(bert: FrozenModel, items: list[LearningExample], tmp_path: Path) -> None:
    with pytest.raises(ExplanationError, match=r"The loss is not a number after \d+ steps"):
        fit_full(bert, items, items, tmp_path, Ivra(criterion="suff", epochs=30), model_rate=1e30)


def test_the_cut_is_hard_and_the_last_weights_are_kept() -> None:
    assert full_recipe(Ivra(select="cons", validations=3)) == Ivra(relaxation="straight", select="last")


@pytest.mark.parametrize(
    ("recipe", "name"),
    [
        (Ivra(criterion="comp", norm="softmax"), "small-ivra-comp"),
        (Ivra(criterion="comp+suff", norm="softmax"), "small-ivra-comp-suff"),
        (Ivra(criterion="comp", norm="sparsemax"), "small-ivra-comp-sparsemax"),
    ],
)
def test_the_name_tells_criterion_and_norm(bert: FrozenModel, recipe: Ivra, name: str) -> None:
    assert full_name(bert, recipe) == name


SST2: Any = SimpleNamespace(name="sst2", input_names=("text",))


def refused(folder: Path, out: Path | None = None, **fields: Any) -> str:
    with pytest.raises(ExplanationError) as raised:
        make_full(FitSpec("ivra", "sst2", variant="comp-softmax", **fields), SST2, folder, out)
    return str(raised.value)


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ivra_full, "fit_full", lambda *_arguments: pytest.fail("a training began"))


@pytest.mark.usefixtures("untrained")
def test_what_a_new_model_cannot_be_is_refused_before_the_training(
    tmp_path: Path, written: Callable[..., Path]
) -> None:
    fixed = refused(tmp_path, settings=(("relaxation", "soft"),))
    assert fixed == "A training of the classifier itself always has relaxation=straight. Omit it from --set."
    assert "must lie beside it" in refused(tmp_path, tmp_path / "elsewhere")
    assert refused(tmp_path, BUNDLES / "sst2") == "sst2 is another model. Choose another folder for --out."
    assert "Give their folder, not a file." in refused(tmp_path, data=str(written("texts.txt")))
    assert "gone" in refused(tmp_path, data=str(tmp_path / "gone"))


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str) -> Path:
        path = tmp_path / name
        path.write_text("\n".join(f"text {number}" for number in range(30)), encoding="utf-8")
        return path

    return write
