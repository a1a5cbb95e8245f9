from collections.abc import Callable
from itertools import combinations
from math import factorial

import numpy as np
import pytest

from explainers.attribution.interactions import PairInteractions, fit_pairs, pair_interactions
from explainers.attribution.kernel_shap import kernel_weights
from explainers.attribution.mask_samples import shared_masks
from explainers.errors import ExplanationError
from explainers.models.calls import Meter, PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.studies.sampling.measure import Game, all_masks, game_of


def exact_pairs(game: Game) -> dict[tuple[int, int], float]:
    """6 Σ_T (n-t-1)! (t+1)! / (n+1)! (v(T∪uw) - v(T∪u) - v(T∪w) + v(T)) over all T without u and w, t = |T|.

    The closed form of Tsai, Yeh and Ravikumar (2023) for the highest order, here 2.
    """
    n, masks = game.units, all_masks(game.units)
    pairs = {}
    for u, w in combinations(range(n), 2):
        total = 0.0
        for row in np.flatnonzero(~masks[:, u] & ~masks[:, w]):
            t = int(masks[row].sum())
            one, other = 1 << u, 1 << w
            v = game.values
            both = v[row | one | other] - v[row | one] - v[row | other] + v[row]
            total += factorial(n - t - 1) * factorial(t + 1) / factorial(n + 1) * both
        pairs[u, w] = 6 * total
    return pairs


@pytest.mark.parametrize("units", [2, 3, 5, 8])
def test_with_all_masks_the_pairs_are_those_of_the_formula(units: int) -> None:
    game = Game(units, np.random.default_rng(units).random(2**units))
    masks = shared_masks(units, 0, 2**units)
    coefficients = fit_pairs(masks, game.probabilities(masks), kernel_weights(masks))
    assert coefficients[units:] == pytest.approx(list(exact_pairs(game).values()), abs=1e-4)
    assert coefficients.sum() == pytest.approx(game.values[-1] - game.values[0], abs=1e-5)


def test_of_a_model_the_pairs_are_those_of_the_formula_too(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not very good")
    result = pair_interactions(bert, encoding, 0, samples=100)
    assert result.pairs == pytest.approx(exact_pairs(game_of(bert, encoding, 0)), abs=1e-4)


def test_a_sum_of_effects_has_no_interactions(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"great": 0.3, "dull": -0.2, "the": 0.0}, additive=True)
    result = pair_interactions(model, model.encode("great dull the"), 1, samples=100)
    assert result.singles == pytest.approx((0.3, -0.2, 0), abs=1e-5)
    assert list(result.pairs.values()) == pytest.approx([0] * 3, abs=1e-5)


def test_two_words_of_which_one_is_enough_take_from_each_other(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"great": 9.0, "fine": 9.0})
    result = pair_interactions(model, model.encode("great fine"), 1, samples=10)
    # p is 1/2 without both and 1 with either: 1/2 for each, and together 1/2 too much
    assert result.singles == pytest.approx((0.5, 0.5), abs=1e-3)
    assert result.pairs[0, 1] == pytest.approx(-0.5, abs=1e-3)


def test_some_of_the_masks_give_effects_of_pairs_exactly_where_there_are_no_others(
    monkeypatch: pytest.MonkeyPatch, bag: Callable[..., FrozenModel]
) -> None:
    model = bag({"the": 0.0})
    encoding = model.encode("the " * 14)

    def together(_encoding: object, keeps: np.ndarray, _erasure: str) -> np.ndarray:
        p = 0.3 + 0.1 * keeps[:, 2] + 0.2 * (keeps[:, 3] & keeps[:, 9]) - 0.1 * (keeps[:, 0] & keeps[:, 1])
        return np.stack([1 - p, p], axis=1)

    monkeypatch.setattr(model, "probabilities", together)
    result = pair_interactions(model, encoding, 1, samples=300)
    assert result.singles == pytest.approx([0, 0, 0.1] + [0] * 11, abs=1e-5)
    assert result.strongest(2) == [((3, 9), pytest.approx(0.2, abs=1e-5)), ((0, 1), pytest.approx(-0.1, abs=1e-5))]


def test_after_kernel_shap_they_cost_nothing(bert: FrozenModel) -> None:
    meter, encoding = Meter(), bert.encode("the film was not very good ,")
    model = bert.metered(meter).pooled(PredictionCache())
    pair_interactions(model, encoding, 0, samples=100)
    asked = meter.calls
    assert isinstance(pair_interactions(model, encoding, 1, samples=80), PairInteractions)
    assert meter.calls == asked


@pytest.mark.parametrize(
    ("text", "samples", "sentence"),
    [
        ("good", 100, "at least two units"),
        ("the film was not very good", 20, r"6 units need at least 33 samples, not 20"),
    ],
)
def test_what_cannot_be_estimated_is_refused(bert: FrozenModel, text: str, samples: int, sentence: str) -> None:
    with pytest.raises(ExplanationError, match=sentence):
        pair_interactions(bert, bert.encode(text), 0, samples=samples)


def test_among_some_units_the_others_stay_in_place(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"great": 0.3, "dull": -0.2, "the": 0.1}, additive=True)
    encoding = model.encode("great dull the")
    result = pair_interactions(model, encoding, 1, samples=100, among=(2, 0))
    assert result.units == (0, 2)
    assert result.singles == pytest.approx((0.3, 0.1), abs=1e-5)
    assert result.pairs == pytest.approx({(0, 2): 0.0}, abs=1e-5)
    with pytest.raises(ExplanationError, match="at least two"):
        pair_interactions(model, encoding, 1, samples=100, among=(1,))
