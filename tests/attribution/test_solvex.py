"""SolveX finds the order for which comprehensiveness and sufficiency are best."""

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest

from explainers.attribution.solvex import MOST_PASSES, MOST_UNITS, SOLVEX, SolveX, beam_of, best_orders, signed
from explainers.errors import ExplanationError
from explainers.methods.registry import METHODS
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import ranking

TEXT = "film not unwatchable but dull"  # five units: the beam holds every set of one size


def table(units: int, seed: int) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A probability for every set, drawn at random, so that no order follows from single units."""
    answers = np.random.default_rng(seed).random(2**units)
    places = 2 ** np.arange(units)
    return lambda sets: (answers[sets @ places], answers[~sets @ places])


def best_order(values: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], units: int, beam: int) -> tuple[int, ...]:
    *_, last = best_orders(values, units, beam)
    return last


def worth(values: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], order: tuple[int, ...]) -> float:
    """The sum over all sizes, from the definition."""
    place = np.argsort(order)
    kept, removed = values(np.array([place < size for size in range(1, len(order) + 1)]))
    return float((kept - removed).sum())


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_finds_the_best_of_all_orders(seed: int) -> None:
    values = table(5, seed)
    best = max(worth(values, order) for order in permutations(range(5)))
    assert worth(values, best_order(values, 5, 10)) == pytest.approx(best, abs=1e-12)


def test_a_narrow_beam_may_miss_it() -> None:
    narrow, wide = (
        [worth(table(6, seed), best_order(table(6, seed), 6, beam)) for seed in range(20)] for beam in (1, 20)
    )
    assert all(one <= other + 1e-12 for one, other in zip(narrow, wide, strict=True))
    assert np.mean(wide) > np.mean(narrow)


def test_a_sum_of_weights_is_ordered_by_weight_with_its_signs(bag: Callable[..., FrozenModel]) -> None:
    weights = {"the": 0.01, "film": -0.02, "superb": 0.3, "dull": -0.2, "long": -0.05}
    model = bag(weights, additive=True)
    scores = SolveX().attribute(model, model.encode(" ".join(weights)), 1).scores
    assert np.argsort(scores).tolist() == [3, 4, 1, 0, 2]
    assert np.sign(scores).tolist() == [1, -1, 1, -1, -1]


def test_one_unit_keeps_its_sign(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"good": 1.0})
    assert [SolveX().attribute(model, model.encode("good"), label).scores[0] for label in (0, 1)] == [-0.5, 0.5]


def test_signs_that_no_place_of_zero_gives_are_met_as_often_as_possible() -> None:
    assert np.sign(signed((0, 1, 2, 3), np.array([1.0, 1.0, -1.0, 1.0]))).tolist() == [1, 1, 1, 1]
    assert np.sign(signed((0, 1, 2, 3), np.array([1.0, -1.0, -1.0, -1.0]))).tolist() == [1, -1, -1, -1]


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_no_method_is_better_by_the_sum_over_all_sizes(bert: FrozenModel, erasure: str) -> None:
    encoding = bert.encode(TEXT)

    def values(sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return tuple(bert.probabilities(encoding, masks, erasure)[:, 0] for masks in (sets, ~sets))  # type: ignore[return-value, arg-type]

    def sum_of(method: str) -> float:
        made = METHODS.get(method).make(erasure=erasure, seed=0, samples=100, steps=10)  # type: ignore[arg-type]
        return worth(values, tuple(ranking(made.attribute(bert, encoding, 0).scores)))

    own = sum_of("solvex")
    others = [sum_of(method) for method in ("occlusion", "lime", "integrated_gradients", "random")]
    assert own >= max(others) - 1e-6


@pytest.mark.parametrize("units", [1, 2, 7, 19, MOST_UNITS])
def test_it_asks_no_more_than_it_says(bert: FrozenModel, units: int) -> None:
    meter = Meter()
    encoding = bert.encode(" ".join(["film", "dull", "plot", "good", "bad"][number % 5] for number in range(units)))
    assert len(encoding.units) == units
    SolveX().attribute(bert.metered(meter), encoding, 0)
    assert meter.calls <= SOLVEX.passes(units, 0, 0) <= MOST_PASSES
    assert meter.calls >= 0.5 * SOLVEX.passes(units, 0, 0)


def test_beams_narrow_and_too_many_units_are_a_sentence(bert: FrozenModel) -> None:
    assert [beam_of(units) for units in (1, 10, 19, 20, 30, MOST_UNITS)] == [10, 10, 10, 9, 4, 1]
    with pytest.raises(ExplanationError, match="at most 60 units, and this input has 61"):
        SolveX().attribute(bert, bert.encode("film " * 61), 0)


def test_it_is_listed_apart_and_only_on_request() -> None:
    spec = METHODS.get("solvex")
    assert (spec.comparable, spec.default, spec.display_name) == (False, False, "SolveX †")


def test_it_can_be_ended_after_every_size(bert: FrozenModel) -> None:
    encoding = bert.encode("the film was not unwatchable but dull")
    *estimates, final = SolveX().refine(bert, encoding, 0)
    assert [estimate.stage for estimate in estimates] == ["estimate"] * 5
    assert final.stage == "final"
    assert final.scores == SolveX().attribute(bert, encoding, 0).scores
    for estimate in (*estimates, final):
        assert sorted(ranking(estimate.scores)) == list(range(7))
        assert len(set(estimate.scores)) == 7


def test_the_first_estimate_costs_two_passes_a_unit_and_few_more(bert: FrozenModel) -> None:
    encoding, meter = bert.encode("film dull " * 10), Meter()
    next(iter(SolveX().refine(bert.metered(meter), encoding, 0)))
    assert meter.calls <= 2 + 2 * 2 * 20  # the words alone are asked twice where no answers are pooled
