"""The reading of attention, its four criteria, and what a short fit does to it."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.learned import fitting_loop, ivra
from explainers.learned.batches import Batch, LearningExample, batch, encode_for_learning
from explainers.learned.fitting_loop import fit
from explainers.learned.ivra import (
    POSITIONS,
    SMALLEST,
    Ivra,
    comprehensiveness,
    consistency,
    correlation,
    error_without,
    resampled,
    sufficiency,
    top_counts,
    top_words,
)
from explainers.learned.ivra_readout import Readout, coefficients
from explainers.learned.recipe import trained_parameters
from explainers.learned.recipes import recipe_of
from explainers.learned.student import Student, UnitStates
from explainers.metrics.bootstrap import Interval
from explainers.models.catalog import fingerprint
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import attention_head_count, hidden_size, transformer_layers

TEXTS = (
    "good film",
    "the plot was unwatchable",
    "a very dull film, not good",
    "bad",
    "the film was good!",
    "dull plot",
)
RECIPES = (Ivra(), Ivra(norm="softmax"), Ivra(smat=True))


@pytest.fixture
def items(bert: FrozenModel) -> list[LearningExample]:
    return encode_for_learning(bert, [Example(text) for text in TEXTS])


@pytest.fixture
def texts(bert: FrozenModel, items: list[LearningExample]) -> Batch:
    return batch(bert, items)


def moved(module: nn.Module) -> nn.Module:
    """The module with weights that are not uniform."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in module.parameters():
            weight += 0.2 * torch.randn(weight.shape, generator=generator)
    return module


def gradients(recipe: Ivra, model: FrozenModel, texts: Batch) -> dict[str, Tensor]:
    module = moved(recipe.module(model))
    total = recipe.terms(module, model, texts, torch.Generator().manual_seed(0))["total"]
    names, weights = zip(*module.named_parameters(), strict=True)
    return dict(zip(names, torch.autograd.grad(total, weights), strict=True))


@pytest.mark.parametrize("recipe", RECIPES, ids=("sparsemax", "softmax", "smat"))
def test_r_is_a_distribution_over_the_tokens_of_words(bert: FrozenModel, texts: Batch, recipe: Ivra) -> None:
    r = moved(recipe.module(bert))(texts.internals_of(bert), texts.inputs)
    assert r.sum(1).tolist() == pytest.approx([1.0] * len(TEXTS), abs=1e-5)
    assert (r >= 0).all()
    assert (r[~texts.inputs.owned] == 0).all()  # [CLS], [SEP] and padding


@pytest.mark.parametrize("recipe", RECIPES, ids=("sparsemax", "softmax", "smat"))
def test_the_other_texts_of_a_batch_do_not_matter(
    bert: FrozenModel, items: list[LearningExample], texts: Batch, recipe: Ivra
) -> None:
    module = moved(recipe.module(bert))
    together = recipe.scores(module, bert, texts)
    for row, item in enumerate(items):
        alone = recipe.scores(module, bert, batch(bert, [item]))[0]
        assert torch.allclose(together[row, : len(alone)], alone, atol=1e-5)


def test_a_words_score_is_the_sum_of_its_tokens(bert: FrozenModel) -> None:
    text = batch(bert, encode_for_learning(bert, [Example("unwatchable film"), Example("good")])[:1])
    module = moved(Ivra().module(bert))
    r = module(text.internals_of(bert), text.inputs)[0].detach()  # [CLS] un ##watch ##able film [SEP]
    scores = Ivra().scores(module, bert, text)[0].detach()
    assert scores.tolist() == pytest.approx([float(r[1:4].sum()), float(r[4])])


def test_the_cut_is_exactly_the_top_words() -> None:
    words = torch.tensor([[0.1, 0.4, 0.2, 0.3], [0.5, 0.5, 0.0, 0.0]])
    units = torch.tensor([[True] * 4, [True, True, False, False]])
    half, least = top_counts(units, [50, 50]), top_counts(units, [1, 1])  # at least one, the first of equals
    assert top_words(words, units, half, 0.1, hard=True).tolist() == [[0, 1, 0, 1], [1, 0, 0, 0]]
    assert top_words(words, units, least, 0.1, hard=True).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]


def test_the_only_word_of_every_text_is_inside() -> None:
    units = torch.ones(2, 1, dtype=torch.bool)
    soft = top_words(torch.ones(2, 1), units, top_counts(units, [1, 50]), 1.0, hard=False)
    assert (soft > 0.99).all()


def test_every_text_has_a_cut_of_its_own() -> None:
    units = torch.ones(2, 4, dtype=torch.bool)
    words = torch.tensor([[0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]])
    cut = top_words(words, units, top_counts(units, [50, 1]), 0.1, hard=True)
    assert cut.tolist() == [[1, 1, 0, 0], [1, 0, 0, 0]]


def test_a_soft_cut_is_a_sigmoid_around_the_threshold_and_comes_near_the_hard_one_as_it_gets_colder() -> None:
    units = torch.tensor([[True] * 4 + [False]])
    words = torch.tensor([[0.1, 0.4, 0.2, 0.3, 0.0]])
    cuts = top_counts(units, [50])
    soft = top_words(words, units, cuts, 1.0, hard=False)
    logs = (words[0, :4] + SMALLEST).log()
    theta = (logs[2] + logs[3]) / 2
    expected = ((logs - theta) / logs.std(correction=0)).sigmoid()
    assert soft[0].tolist() == pytest.approx([*expected.tolist(), 0.0])
    hard = top_words(words, units, cuts, 1.0, hard=True)
    cold = top_words(words, units, cuts, 0.02, hard=False)
    assert (cold - hard).abs().max() < 0.01 < (soft - hard).abs().max()


def test_a_hard_cut_has_the_gradient_of_the_soft_one() -> None:
    units, words = torch.ones(1, 2, dtype=torch.bool), torch.tensor([[0.7, 0.3]], requires_grad=True)
    cuts = top_counts(units, [50])
    slopes = [
        torch.autograd.grad(top_words(words, units, cuts, 1.0, hard=hard)[0, 0], words)[0] for hard in (True, False)
    ]
    assert torch.equal(*slopes)
    # θ lies midway between the logarithms, whose standard deviation is half their distance: (log r - θ)/T = 1
    spread = (math.log(0.7 + SMALLEST) - math.log(0.3 + SMALLEST)) / 2
    slope = 1 / (1 + math.exp(-1)) / (1 + math.exp(1)) / spread / (0.7 + SMALLEST)
    assert slopes[0].tolist()[0] == pytest.approx([slope, 0.0], rel=1e-4)


def test_the_cut_gets_sharper_during_a_training(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temperatures: list[float] = []
    cut = ivra.top_words

    def noting(words: Tensor, units: Tensor, cuts: Tensor, temperature: float, *, hard: bool) -> Tensor:
        temperatures.append(temperature)
        return cut(words, units, cuts, temperature, hard=hard)

    monkeypatch.setattr(ivra, "top_words", noting)
    fit(Ivra(epochs=4, batch=6, temperature=1.0, last_temperature=0.25), bert, items, items, tmp_path)
    assert temperatures == pytest.approx([1.0, 0.25**0.25, 0.5, 0.25**0.75])


def test_the_margins() -> None:
    whole, other = torch.tensor([0.1, 0.1, 0.1]), torch.tensor([0.1, 0.6, 3.0])
    # COMP: 1 + (0.1 - CE without), not below 0
    assert comprehensiveness(whole, other).tolist() == pytest.approx([1.0, 0.5, 0.0])
    # SUFF: 0.1 + (CE of the top words - 0.1), not below 0
    assert sufficiency(whole, other).tolist() == pytest.approx([0.1, 0.6, 3.0])
    assert sufficiency(other, whole).tolist() == pytest.approx([0.1, 0.0, 0.0])


def test_consistency_is_0_for_equal_explanations_and_the_divergence_over_the_distance_else() -> None:
    states, units = torch.tensor([[0.0, 0.0], [0.0, 2.0]]), torch.ones(2, 2, dtype=torch.bool)
    same = torch.tensor([[0.25, 0.75], [0.25, 0.75]])
    assert float(consistency(same, units, states)) == 0
    # both fall or rise in a line from 1 to 3 parts; KL of the resampled lines over a distance of 2·1.001
    line = torch.linspace(1, 3, POSITIONS) / torch.linspace(1, 3, POSITIONS).sum()
    divergence = ((line - line.flip(0)) * (line / line.flip(0)).log()).sum() / 2
    result = consistency(torch.tensor([[0.25, 0.75], [0.75, 0.25]]), units, states)
    assert float(result) == pytest.approx(float(divergence) / 2.002, rel=1e-3)


def test_texts_of_different_lengths_are_compared_at_the_same_relative_positions() -> None:
    units = torch.tensor([[True] * 3, [True, True, False]])
    rows = resampled(torch.tensor([[0.5, 0.3, 0.1], [0.5, 0.1, 0.0]]), units)
    assert torch.allclose(rows[0], rows[1], atol=1e-6)
    assert rows[0, [0, -1]].tolist() == pytest.approx([0.5, 0.1])
    alone = torch.tensor([[True, False]])
    assert resampled(torch.tensor([[1.0, 0.0]]), alone).tolist() == [[1.0] * POSITIONS]


def test_correlation_is_0_where_explanations_are_as_far_apart_as_the_states() -> None:
    units = torch.ones(4, 3, dtype=torch.bool)
    words = torch.tensor([[0.1, 0.2, 0.7], [0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]], requires_grad=True)
    logs = resampled((words.detach() + SMALLEST).log(), units)
    centred = torch.nn.functional.normalize(logs - logs.mean(1, keepdim=True), dim=1)
    assert float(correlation(words, units, centred).detach()) == pytest.approx(0, abs=1e-5)
    assert float(correlation(words, units, centred[[2, 0, 3, 1]]).detach()) > 0.3
    same = torch.full((4, 3), 1 / 3, requires_grad=True)  # all explanations alike: no correlation, and no NaN
    loss = correlation(same, units, centred)
    assert float(loss.detach()) == 1
    (slope,) = torch.autograd.grad(loss, same)
    assert slope.isfinite().all()


def test_the_most_consistent_epoch_is_kept(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = iter((0.1, 0.3, -0.2))
    monkeypatch.setattr(
        fitting_loop.agreement, "consistency", lambda *_: Interval(value := next(values), value - 0.2, 1.0, 6)
    )
    training = fit(Ivra(criterion="cons", select="cons", epochs=3), bert, items, items, tmp_path)
    assert training.metrics["cons"] == 0.3
    assert training.kept_step == 2
    assert not training.warnings
    monkeypatch.setattr(fitting_loop.agreement, "consistency", lambda *_: None)  # all explanations are alike
    constant = fit(Ivra(criterion="cons", select="cons", epochs=1), bert, items, items, tmp_path / "constant")
    assert any(sentence.startswith("Texts that the model represents alike") for sentence in constant.warnings)


def test_the_error_without_all_words_is_that_of_the_erased_text_and_has_a_gradient(
    bert: FrozenModel, texts: Batch
) -> None:
    removed = texts.inputs.units.float().requires_grad_()
    result = error_without(bert, texts, removed)
    probabilities = [
        bert.probabilities(item.encoding, [[False] * len(item.encoding.units)])[0, int(item.probabilities.argmax())]
        for item in encode_for_learning(bert, [Example(text) for text in TEXTS])
    ]
    assert result.tolist() == pytest.approx([-math.log(p) for p in probabilities], abs=1e-4)
    (slope,) = torch.autograd.grad(result.sum(), removed)
    assert slope.abs().sum() > 0


@pytest.mark.parametrize("criterion", ["comp", "suff", "cons", "sim", "comp+suff"])
@pytest.mark.parametrize("norm", ["softmax", "sparsemax"])
def test_every_criterion_reaches_every_weight(bert: FrozenModel, texts: Batch, criterion: str, norm: str) -> None:
    recipe = Ivra(criterion=criterion, norm=norm)  # type: ignore[arg-type]
    result = gradients(recipe, bert, texts)
    assert set(result) == {"omega_q", "omega_k", "head", "layer", "log_scale"}
    assert all(gradient.isfinite().all() and gradient.abs().sum() > 0 for gradient in result.values())


def test_a_mix_is_the_sum_of_its_criteria(bert: FrozenModel, texts: Batch) -> None:
    recipe = Ivra(criterion="comp+suff+cons")
    losses = recipe.terms(recipe.module(bert), bert, texts, torch.Generator().manual_seed(0))
    terms = {name: float(term.detach()) for name, term in losses.items()}
    assert terms["total"] == pytest.approx(terms["comp"] + terms["suff"] + terms["cons"])


def test_levels_that_are_not_learned_stay_uniform(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path
) -> None:
    module = fit(Ivra(levels="head", epochs=2), bert, items, items, tmp_path).module
    assert isinstance(module, Readout)
    assert (module.omega_q == 1).all()
    assert (module.omega_k == 1).all()
    assert (module.layer == 0).all()
    assert module.head.abs().sum() > 0


def test_the_weights_are_few(bert: FrozenModel) -> None:
    # 2 layers, 2 heads, d_k = 8: 2·2·2·8 features, 2·2 heads, 2 layers, 1 scale
    assert sum(weight.numel() for weight in trained_parameters(Ivra().module(bert)).values()) == 64 + 4 + 2 + 1
    assert (len(transformer_layers(bert)), attention_head_count(bert), hidden_size(bert)) == (2, 2, 16)


def test_coefficients_are_uniform_at_first(bert: FrozenModel) -> None:
    result = coefficients(Ivra().module(bert))
    assert result["omega_q"].shape == result["omega_k"].shape == (2, 2, 8)
    assert result["lambda_hat"].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert result["eta_hat"].tolist() == [0.5, 0.5]
    assert coefficients(Ivra(smat=True).module(bert))["lambda_hat"].tolist() == [[0.25, 0.25], [0.25, 0.25]]


def test_a_fit_lowers_its_loss_and_leaves_the_model_alone(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path
) -> None:
    before = fingerprint(bert)
    recipe = Ivra(norm="softmax", epochs=15, learning_rate=0.05)
    module = fit(recipe, bert, items, items, tmp_path).module

    def loss(module: nn.Module) -> float:
        terms = [
            recipe.terms(module, bert, batch(bert, items), torch.Generator().manual_seed(seed)) for seed in range(8)
        ]
        return sum(float(term["total"].detach()) for term in terms)

    assert loss(module) < loss(recipe.module(bert))
    assert fingerprint(bert) == before


@pytest.mark.parametrize("recipe", [Ivra(), Ivra(criterion="sim"), Ivra(criterion="sim", smat=True)])
def test_the_same_seed_gives_the_same_weights(
    bert: FrozenModel, items: list[LearningExample], tmp_path: Path, recipe: Ivra
) -> None:
    recipe = replace(recipe, epochs=2, batch=3)
    first, second = (fit(recipe, bert, items, items, tmp_path / name).best for name in ("a", "b"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    fresh = trained_parameters(recipe.module(bert))
    assert any(not torch.equal(first[name], fresh[name].half()) for name in first)


def test_the_student_learns_and_is_not_kept(bert: FrozenModel, texts: Batch) -> None:
    recipe = Ivra(criterion="sim")
    module = recipe.module(bert)
    recipe.terms(module, bert, texts, torch.Generator())
    student = module.student
    assert isinstance(student, Student)
    first = {name: weight.clone() for name, weight in student.weights.items()}
    recipe.terms(module, bert, texts, torch.Generator())
    assert module.student is student
    assert any(not torch.equal(first[name], student.weights[name]) for name in first)
    assert not any("student" in name for name in module.state_dict())


def test_the_students_step_goes_down_and_its_derivative_is_exact(bert: FrozenModel, texts: Batch) -> None:
    module = moved(Ivra(norm="softmax").module(bert))
    shares = Ivra(norm="softmax").scores(module, bert, texts).detach()
    states = UnitStates(bert.base, bert.tokenizer)  # type: ignore[arg-type]

    def judged(given: Tensor) -> Tensor:
        return Student(states, 3, 0.5, 0).sim_loss(texts, given)

    leaf = shares.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(judged(leaf), leaf)
    assert (gradient[1::2] == 0).all()  # what judges is not explained
    direction = gradient / gradient.norm()
    difference = (judged(shares + 0.5 * direction) - judged(shares - 0.5 * direction)).detach()
    assert float(difference) == pytest.approx(float(gradient.norm()), rel=0.02)


def test_after_its_lessons_an_untaught_student_takes_its_place(
    bert: FrozenModel, texts: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explainers.learned.student.LESSONS", 2)
    student = Student(UnitStates(bert.base, bert.tokenizer), 3, 0.5, 0)  # type: ignore[arg-type]
    shares = Ivra().scores(Ivra().module(bert), bert, texts).detach()
    losses = [float(student.sim_loss(texts, shares).detach()) for _ in range(4)]
    assert losses[1] < losses[0]  # the first student has learned
    assert losses[2] == pytest.approx(losses[0], abs=0.05)  # the second begins anew
    assert losses[2] != losses[0]  # with other weights
    assert student.lessons == 4


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"criterion": "fun"},
            "criterion of ivra must be one of sim, comp, suff, cons, or several joined by \\+, not 'fun'",
        ),
        ({"levels": "head+word"}, "levels of ivra must be one of feature, head, layer"),
        ({"temperature": 0.0}, "temperature of ivra must be more than 0, not 0.0"),
        ({"last_temperature": 0.0}, "last_temperature of ivra must be more than 0, not 0.0"),
        ({"criterion": "cons", "batch": 1}, "at least 2"),
    ],
)
def test_wrong_settings_are_explained(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ExplanationError, match=message):
        recipe_of("ivra", values)


def test_equal_states_and_equal_explanations_have_a_finite_ratio() -> None:
    same = torch.full((3, 2), 0.5, requires_grad=True)
    loss = consistency(same, torch.ones(3, 2, dtype=torch.bool), torch.zeros(3, 4))
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.item() == 0
    assert torch.isfinite(same.grad).all()  # type: ignore[arg-type]
