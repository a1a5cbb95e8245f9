"""What every method that learns promises about its training, whichever it is."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.learned import fitting_loop as module_of_fit
from explainers.learned.aml import Aml
from explainers.learned.batches import LearningExample, batch, encode_for_learning
from explainers.learned.fitting_loop import (
    ScoreShape,
    chance_warning,
    explained,
    faithfulness,
    fit,
    gain,
    gain_of,
    gains,
    per_text,
)
from explainers.learned.recipe import Select, trained_parameters
from explainers.learned.recipes import RECIPES, recipe_of
from explainers.metrics.bootstrap import mean_interval
from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.metrics.faithfulness import aopc_comprehensiveness, aopc_sufficiency
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.training.loop import CHECKPOINT, LOG, TrainingLoop

WORDS = ("good", "bad", "film", "the", "was", "not", "dull", "plot", "very", "unwatchable")
RATES = {"aml": 1e-2, "cimi": 1e-2}  # higher than on real models, because there are only a few steps
UNPRICED = {"cimi": {"sparsity": 0.0}}  # at this rate a price empties the mask, and the training would begin anew

every_recipe = pytest.mark.parametrize("method", RECIPES)


def sentences(number: int) -> list[Example]:
    generator = random.Random(7)
    return [Example(" ".join(generator.choices(WORDS, k=generator.randint(3, 8)))) for _ in range(number)]


@pytest.fixture
def texts(bert: FrozenModel) -> list[LearningExample]:
    return encode_for_learning(bert, sentences(24))


@pytest.fixture
def validation(bert: FrozenModel) -> list[LearningExample]:
    return encode_for_learning(bert, sentences(28))[24:]


def small(method: str, **settings: Any) -> Any:
    rate = {"learning_rate": RATES[method]} if method in RATES else {}
    return recipe_of(method, {"epochs": 2, "validations": 1, "batch": 6, **rate, **settings})


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / LOG).read_text(encoding="utf-8").splitlines()]


@contextmanager
def interrupted_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process ends in the middle of the step that follows."""
    step = TrainingLoop.step

    def breaking(self: TrainingLoop, terms: Any) -> dict[str, float]:
        if self.step_number == steps:
            raise KeyboardInterrupt
        return step(self, terms)

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(TrainingLoop, "step", breaking)
        yield
        pytest.fail("nothing was interrupted")


@every_recipe
def test_the_loss_falls(
    bert: FrozenModel, texts: list[LearningExample], validation: list[LearningExample], tmp_path: Path, method: str
) -> None:
    recipe = small(method, epochs=6, select="last", **UNPRICED.get(method, {}))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        before = recipe.module(bert).eval()
    after = fit(recipe, bert, texts, validation, tmp_path).module

    def loss(module: nn.Module) -> float:
        """Over all texts, with the same ten draws of chance."""
        items = batch(bert, texts)
        draws = (torch.Generator().manual_seed(seed) for seed in range(10))
        return float(np.mean([recipe.terms(module, bert, items, generator)["total"].item() for generator in draws]))

    assert loss(after) < loss(before) - 1e-3


@every_recipe
def test_the_same_seed_gives_the_same_weights_to_the_last_bit_and_another_seed_others(
    bert: FrozenModel, texts: list[LearningExample], validation: list[LearningExample], tmp_path: Path, method: str
) -> None:
    first, again, other = (
        fit(small(method, seed=seed), bert, texts, validation, tmp_path / name).best
        for name, seed in (("first", 5), ("again", 5), ("other", 6))
    )
    assert equal(first, again)
    assert not equal(first, other)


def test_weights_that_no_epoch_could_judge_have_a_warning(
    bert: FrozenModel,
    texts: list[LearningExample],
    validation: list[LearningExample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module_of_fit, "gain", lambda *_: float("nan"))
    training = fit(small("aml", epochs=1), bert, texts, validation, tmp_path / "nan")
    assert training.best
    assert module_of_fit.UNJUDGED in training.warnings
    last = fit(small("aml", epochs=1, select="last"), bert, texts, validation, tmp_path / "last")
    assert module_of_fit.UNJUDGED not in last.warnings


def test_weights_that_could_not_be_judged_are_behind_all_others() -> None:
    assert gain_of("comp", {}) == -float("inf")
    assert gain_of("comp", {"aopc_c": -0.5, "aopc_s": 0.5}) == -0.5


def equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return list(one) == list(other) and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("method", "settings"),
    [*((method, {}) for method in RECIPES), ("ivra", {"criterion": "sim"}), ("cimi", {"discrete": "gumbel"})],
    ids=str,
)
def test_a_training_that_was_interrupted_and_resumed_is_the_one_that_was_not(
    bert: FrozenModel,
    texts: list[LearningExample],
    validation: list[LearningExample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    settings: dict[str, Any],
) -> None:
    recipe = small(method, epochs=3, select="comp", **settings)
    whole = fit(recipe, bert, texts, validation, tmp_path / "whole")
    with interrupted_after(4 + 2, monkeypatch):  # of 4 steps an epoch
        fit(recipe, bert, texts, validation, tmp_path / "parts")
    parts = fit(recipe, bert, texts, validation, tmp_path / "parts", resume=True)
    assert equal(whole.best, parts.best)
    assert whole.metrics == parts.metrics
    assert (whole.loop.epoch, whole.loop.step_number) == (parts.loop.epoch, parts.loop.step_number) == (3, 12)
    ends = [
        [line["validation"] for line in lines(tmp_path / name) if "validation" in line] for name in ("whole", "parts")
    ]
    assert ends[0] == ends[1]


def test_a_training_is_not_resumed_with_other_validations(
    bert: FrozenModel, texts: list[LearningExample], validation: list[LearningExample], tmp_path: Path
) -> None:
    fit(small("cimi", validations=2), bert, texts, validation, tmp_path)
    with pytest.raises(ExplanationError, match="The training to resume is validated 2 times per epoch, not 1 times"):
        fit(small("cimi", validations=1), bert, texts, validation, tmp_path, resume=True)


def test_a_price_that_empties_the_mask_is_given_up_also_after_an_interruption(
    bert: FrozenModel,
    texts: list[LearningExample],
    validation: list[LearningExample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dear = small("cimi", sparsity=100.0, learning_rate=0.1, epochs=4)
    whole = fit(dear, bert, texts, validation, tmp_path / "whole")
    anew = 4 * whole.price_until // whole.loop.steps  # epochs with the price
    assert 1 <= anew < 4
    assert whole.recipe == replace(dear, sparsity=0.0)
    checked = [line for line in lines(tmp_path / "whole") if "validation" in line]
    sentence = module_of_fit.PRICE_GIVEN_UP.format(whole.price_until)
    said = [sentence in line["warnings"] for line in checked]
    assert said == [epoch == anew for epoch in range(1, 5)]
    assert sentence in whole.warnings
    assert whole.kept_step > whole.price_until
    assert checked[anew - 1]["shape"]["mean"] < module_of_fit.EMPTY < checked[anew]["shape"]["mean"]

    with interrupted_after(whole.loop.steps - 1, monkeypatch):
        fit(dear, bert, texts, validation, tmp_path / "again")
    again = fit(dear, bert, texts, validation, tmp_path / "again", resume=True)
    assert (again.price_until, again.recipe) == (whole.price_until, whole.recipe)
    assert equal(again.best, whole.best)


@pytest.mark.parametrize("select", ["difference", "last"])
def test_a_price_stays_where_too_few_steps_are_left_to_begin_anew(
    bert: FrozenModel, texts: list[LearningExample], validation: list[LearningExample], tmp_path: Path, select: Select
) -> None:
    dear = small("cimi", sparsity=100.0, learning_rate=0.1, epochs=1, select=select)
    training = fit(dear, bert, texts, validation, tmp_path)
    assert (training.price_until, training.recipe) == (0, dear)
    assert training.warnings[0].startswith("Constant mask")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(dear.seed)
        fresh = trained_parameters(dear.module(bert).half())
    assert not equal(training.best, fresh)


def test_a_price_stays_where_the_scores_are_better_than_random_orders(
    bert: FrozenModel,
    texts: list[LearningExample],
    validation: list[LearningExample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module_of_fit, "chance_warning", lambda *_args: ())
    dear = small("cimi", sparsity=100.0, learning_rate=0.1, epochs=4)
    assert fit(dear, bert, texts, validation, tmp_path).price_until == 0


def test_a_price_that_leaves_something_of_the_mask_is_kept(
    bert: FrozenModel, texts: list[LearningExample], validation: list[LearningExample], tmp_path: Path
) -> None:
    training = fit(small("cimi"), bert, texts, validation, tmp_path)
    assert (training.price_until, training.recipe.sparsity) == (0, 0.3)


def test_consistency_needs_validation_texts_to_compare(
    bert: FrozenModel, texts: list[LearningExample], validation: list[LearningExample], tmp_path: Path
) -> None:
    recipe = small("ivra", criterion="cons", select="cons")
    with pytest.raises(ExplanationError, match="CONS compares at least 3 validation texts, and there are 2"):
        fit(recipe, bert, texts, validation[:2], tmp_path)


def test_without_resume_a_training_begins_anew(
    bert: FrozenModel,
    texts: list[LearningExample],
    validation: list[LearningExample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = small("cimi")
    with interrupted_after(5, monkeypatch):
        fit(recipe, bert, texts, validation, tmp_path)
    training = fit(recipe, bert, texts, validation, tmp_path)
    assert training.loop.step_number == 8
    assert [line["step"] for line in lines(tmp_path) if "terms" in line] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_what_is_finished_is_not_trained_again(
    bert: FrozenModel,
    texts: list[LearningExample],
    validation: list[LearningExample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = fit(small("cimi"), bert, texts, validation, tmp_path)
    monkeypatch.setattr(TrainingLoop, "step", lambda *_args: pytest.fail("a step was made"))
    again = fit(small("cimi"), bert, texts, validation, tmp_path, resume=True)
    assert equal(first.best, again.best)
    assert first.metrics == again.metrics


@every_recipe
def test_the_frozen_model_stays_as_it_was(
    bert: FrozenModel, texts: list[LearningExample], validation: list[LearningExample], tmp_path: Path, method: str
) -> None:
    before = fingerprint(bert)
    fit(small(method), bert, texts, validation, tmp_path)
    assert fingerprint(bert) == before
    assert not any(weight.requires_grad or weight.grad is not None for weight in bert.module.parameters())
    assert not any(part.training for part in bert.module.modules())


@every_recipe
def test_the_random_state_of_the_process_is_left_alone(
    bert: FrozenModel, texts: list[LearningExample], validation: list[LearningExample], tmp_path: Path, method: str
) -> None:
    def generator() -> tuple[object, ...]:
        return torch.get_rng_state().tolist(), str(np.random.get_state(legacy=False)), random.getstate()  # noqa: NPY002

    before = generator()
    fit(small(method), bert, texts, validation, tmp_path)
    assert generator() == before
    fit(small(method, epochs=3), bert, texts, validation, tmp_path, resume=True)
    assert generator() == before


@every_recipe
def test_the_log_says_the_loss_of_every_step_and_the_figures_of_every_epoch(
    bert: FrozenModel, texts: list[LearningExample], validation: list[LearningExample], tmp_path: Path, method: str
) -> None:
    training = fit(small(method), bert, texts, validation, tmp_path)
    head, *rest = lines(tmp_path)
    assert (head["method"], head["texts"], head["steps"]) == (method, 24, 8)
    assert head["recipe"]["epochs"] == 2
    assert ["terms" in line for line in rest] == [True] * 4 + [False] + [True] * 4 + [False]
    steps, epochs = ([line for line in rest if ("terms" in line) == kind] for kind in (True, False))
    assert [(line["step"], line["epoch"]) for line in steps] == [(step, (step - 1) // 4) for step in range(1, 9)]
    assert all(np.isfinite(list(line["terms"].values())).all() for line in steps)
    assert all(len(line["terms"]) > 2 for line in steps)  # the total and what it is made of
    assert [(line["step"], line["epoch"]) for line in epochs] == [(4, 1), (8, 2)]
    for line in epochs:
        assert set(line["validation"]) == {"aopc_c", "aopc_s"}
        assert set(line["shape"]) == set(ScoreShape.__dataclass_fields__)
        assert isinstance(line["warnings"], list)
    assert 0 < epochs[0]["seconds"] < epochs[1]["seconds"] == training.loop.seconds
    assert sorted(path.name for path in tmp_path.iterdir()) == [CHECKPOINT, LOG]


@every_recipe
def test_what_comes_back_is_rounded_as_it_is_stored_and_learns_no_more(
    bert: FrozenModel, texts: list[LearningExample], validation: list[LearningExample], tmp_path: Path, method: str
) -> None:
    training = fit(small(method), bert, texts, validation, tmp_path)
    assert set(training.best) == set(trained_parameters(small(method).module(bert)))
    assert {weight.dtype for weight in training.best.values()} == {torch.float16}
    weights = dict(training.module.named_parameters())
    assert all(torch.equal(weights[name], weight.float()) for name, weight in training.best.items())
    assert not any(weight.requires_grad for weight in weights.values())
    assert not training.module.training


@every_recipe
def test_a_text_is_scored_alike_whoever_is_beside_it(
    bert: FrozenModel, texts: list[LearningExample], method: str
) -> None:
    recipe = small(method)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        module = recipe.module(bert)
    together = explained(recipe, module, bert, texts)
    for item, row in list(zip(texts, together, strict=True))[:6]:
        (alone,) = explained(recipe, module, bert, [item])
        assert len(row) == len(item.encoding.units)
        assert row == pytest.approx(alone, abs=5e-5)


@pytest.mark.parametrize(
    ("select", "kept"), [("comp", 1), ("suff", 2), ("difference", 0), ("last", 2)], ids=lambda value: str(value)
)
def test_the_epoch_that_is_best_at_the_selected_figure_is_kept(
    bert: FrozenModel,
    texts: list[LearningExample],
    validation: list[LearningExample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    select: Select,
    kept: int,
) -> None:
    figures = [  # differences 0.25, 0.1 and 0.2
        {"aopc_c": 0.45, "aopc_s": 0.2},
        {"aopc_c": 0.5, "aopc_s": 0.4},
        {"aopc_c": 0.3, "aopc_s": 0.1},
    ]
    after: list[dict[str, Tensor]] = []
    measure = iter(figures)

    def measured(_model: object, examples: list[LearningExample], *_args: object) -> Any:
        return np.tile(list(next(measure).values()), (len(examples), 1))

    save = TrainingLoop.save

    def saved(self: TrainingLoop, training: Any) -> None:
        after.append({name: weight.clone() for name, weight in trained_parameters(training.module).items()})
        save(self, training)

    monkeypatch.setattr(module_of_fit, "per_text", measured)
    monkeypatch.setattr(module_of_fit, "random_values", lambda *_args: np.zeros((len(validation), 2)))
    monkeypatch.setattr(TrainingLoop, "save", saved)
    result = fit(small("cimi", epochs=3, select=select, **UNPRICED["cimi"]), bert, texts, validation, tmp_path)
    assert result.metrics == pytest.approx(figures[kept])
    assert equal(result.best, {name: weight.half() for name, weight in after[kept].items()})
    assert not equal(after[0], after[1])


@pytest.mark.parametrize(("select", "expected"), [("difference", 0.2), ("comp", 0.5), ("suff", -0.3), ("last", 0.0)])
def test_higher_gains_are_better(select: Select, expected: float) -> None:
    assert gain(select, {"aopc_c": 0.5, "aopc_s": 0.3}) == pytest.approx(expected)


@every_recipe
def test_a_loss_that_is_not_a_number_is_a_sentence_and_what_came_before_it_can_be_resumed(
    bert: FrozenModel,
    texts: list[LearningExample],
    validation: list[LearningExample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
) -> None:
    terms, calls = RECIPES[method].terms, 0

    def spoiled(self: object, *given: Any) -> dict[str, Tensor]:
        nonlocal calls
        calls += 1
        training: dict[str, Tensor] = terms(self, *given)
        return {name: term * (float("nan") if calls == 6 else 1.0) for name, term in training.items()}

    monkeypatch.setattr(RECIPES[method], "terms", spoiled)
    with pytest.raises(ExplanationError, match=r"not a number after 5 steps. Choose a smaller learning rate"):
        fit(small(method), bert, texts, validation, tmp_path)
    training = fit(small(method), bert, texts, validation, tmp_path, resume=True)
    assert training.loop.step_number == 8
    assert all(weight.isfinite().all() for weight in training.best.values())


def test_the_learning_rate_follows_the_recipe(
    bert: FrozenModel,
    texts: list[LearningExample],
    validation: list[LearningExample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rates: list[float] = []
    step = TrainingLoop.step

    def noting(self: TrainingLoop, terms: Any) -> dict[str, float]:
        rates.extend(group["lr"] for group in self.optimiser.param_groups)
        return step(self, terms)

    monkeypatch.setattr(TrainingLoop, "step", noting)
    fit(small("aml", learning_rate=0.8), bert, texts, validation, tmp_path)
    assert rates == pytest.approx([0.8 * (1 - done / 8) for done in range(8)])


def test_the_validation_figures_are_those_of_the_whole_path(
    bert: FrozenModel, validation: list[LearningExample]
) -> None:
    generator = np.random.default_rng(0)
    scores = [tuple(generator.standard_normal(len(item.encoding.units)).tolist()) for item in validation]
    erasures: tuple[Erasure, ...] = ("mask", "delete", "zero")
    for erasure in erasures:
        result = per_text(bert, validation, scores, erasure)
        for item, row, (comp, suff) in zip(validation, scores, result, strict=True):
            label = int(item.probabilities.argmax())
            path = erasure_curves(MaskedPredictor(bert, item.encoding, erasure), row, label)
            assert comp == pytest.approx(aopc_comprehensiveness(path), abs=1e-5)
            assert suff == pytest.approx(aopc_sufficiency(path), abs=1e-5)
        means = faithfulness(bert, validation, scores, erasure)
        assert (means["aopc_c"], means["aopc_s"]) == pytest.approx(tuple(result.mean(axis=0)), abs=1e-5)


def test_dropout_is_off_while_texts_are_scored_and_on_while_it_learns(
    bert: FrozenModel,
    texts: list[LearningExample],
    validation: list[LearningExample],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modes: list[tuple[str, bool]] = []
    terms, scores = Aml.terms, Aml.scores

    def learning(self: Aml, module: Any, *given: Any) -> dict[str, Tensor]:
        modes.append(("terms", module.training))
        return terms(self, module, *given)

    def scoring(self: Aml, module: Any, *given: Any) -> Tensor:
        modes.append(("scores", module.training))
        return scores(self, module, *given)

    monkeypatch.setattr(Aml, "terms", learning)
    monkeypatch.setattr(Aml, "scores", scoring)
    fit(small("aml"), bert, texts, validation, tmp_path)
    assert modes == [*[("terms", True)] * 4, ("scores", False)] * 2


def test_it_beats_chance_on_texts_that_it_was_not_trained_on(
    bert: FrozenModel, texts: list[LearningExample], tmp_path: Path
) -> None:
    settings = {"lambda_p": 1, "lambda_inv": 1, "lambda_a": 0.3, "rank": 16, "select": "last"}
    held_out = encode_for_learning(bert, sentences(36))[24:]
    training = fit(small("aml", epochs=8, **settings), bert, texts, held_out, tmp_path)
    generator = np.random.default_rng(0)
    randomly = [
        faithfulness(bert, held_out, [tuple(generator.random(len(item.encoding.units)).tolist()) for item in held_out])
        for _ in range(5)
    ]
    assert gain("difference", training.metrics) > max(gain("difference", metrics) for metrics in randomly)


def test_scores_that_are_no_better_than_random_orders_are_reported_and_better_ones_are_not() -> None:
    generator = np.random.default_rng(0)
    noise = generator.normal(0, 0.1, 100)
    (sentence,) = chance_warning("difference", mean_interval(noise - noise.mean()))
    assert sentence.startswith(
        "No better than random orders: on 100 validation texts, the gain by AOPC-C minus AOPC-S is"
    )
    assert chance_warning("difference", mean_interval(noise + 0.1)) == ()
    assert "the gain by AOPC-S is -0." in chance_warning("suff", mean_interval(noise - 0.1))[0]


@pytest.mark.parametrize(("select", "expected"), [("comp", 0.5), ("suff", -0.2), ("difference", 0.3), ("last", 0.3)])
def test_chance_is_judged_by_what_the_epoch_is_selected_by(select: Select, expected: float) -> None:
    assert gains(select, np.array([[0.5, 0.2]])) == pytest.approx([expected])


def test_a_training_that_learns_nothing_says_so(
    bert: FrozenModel, texts: list[LearningExample], validation: list[LearningExample], tmp_path: Path
) -> None:
    training = fit(small("ivra", learning_rate=1e-12), bert, texts, validation, tmp_path)
    few = f"Not known to be better than random orders: {len(validation)} validation texts are too few to tell."
    assert any(sentence.startswith(few) for sentence in training.warnings)
    few_texts = mean_interval(np.array([-0.1, 0.2]))
    assert chance_warning("difference", few_texts)[0].startswith("Not known to be better")
