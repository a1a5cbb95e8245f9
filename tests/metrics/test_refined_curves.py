import math
from collections.abc import Callable

import numpy as np
import pytest

from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.metrics.faithfulness import (
    METRICS,
    TOLERANCE,
    all_metrics,
    curves_and_metrics,
    measured,
    prefetch_decision_flips,
    refined_curves,
    search_decision_flip,
)
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import curve_counts, first_counts, metric_counts

Build = Callable[..., FrozenModel]
WORDS = [f"w{number}" for number in range(40)]


@pytest.fixture
def flat(bag: Build) -> FrozenModel:
    """p = 0.5 whatever is erased."""
    return bag(dict.fromkeys(WORDS, 0.0))


@pytest.fixture
def steep(bag: Build) -> FrozenModel:
    """p falls at once when the last words are erased, and hardly with the others."""
    return bag({word: 6.0 if number >= 36 else -0.4 for number, word in enumerate(WORDS)})


@pytest.mark.parametrize("units", [1, 2, 5, 26, 60, 61, 200])
def test_a_curve_begins_with_the_counts_of_the_metrics_and_the_middles_between_them(units: int) -> None:
    counts = first_counts(units)
    assert set(metric_counts(units)) <= set(counts) <= set(curve_counts(units))
    assert len(counts) <= 2 * len(metric_counts(units))


def test_a_straight_curve_has_no_further_points(flat: FrozenModel) -> None:
    meter = Meter()
    answers = MaskedPredictor(flat.metered(meter), flat.encode(" ".join(WORDS)), "mask")
    (curves,) = refined_curves(answers, [tuple(float(n) for n in range(40))], 1)
    assert curves.counts == first_counts(40)
    assert meter.used == 2 * len(curves.counts) - 2  # nothing and everything are asked once


def test_points_are_added_where_a_curve_bends(steep: FrozenModel) -> None:
    answers = MaskedPredictor(steep, steep.encode(" ".join(WORDS)), "mask")
    scores = tuple(float(-n) for n in range(40))  # the words that matter come last
    (curves,), full = refined_curves(answers, [scores], 1), erasure_curves(answers, scores, 1)
    assert len(first_counts(40)) < len(curves.counts) < len(full.counts)
    added = set(curves.counts) - set(first_counts(40))
    assert added
    assert min(added) > 20
    drawn = np.interp(full.shares, curves.shares, curves.removed[:, 1])
    rough = np.interp(full.shares, [count / 40 for count in metric_counts(40)],
                      [full.removed[count, 1] for count in metric_counts(40)])  # fmt: skip
    error, before = (np.abs(line - full.removed[:, 1]).max() for line in (drawn, rough))
    assert error < min(before, 3 * TOLERANCE)


def test_several_orders_have_the_same_points(steep: FrozenModel) -> None:
    answers = MaskedPredictor(steep, steep.encode(" ".join(WORDS)), "mask")
    orders = [tuple(np.random.default_rng(seed).random(40)) for seed in range(4)]
    curves = refined_curves(answers, orders, 1)
    assert len({curve.counts for curve in curves}) == 1
    for order, curve in zip(orders, curves, strict=True):
        assert (curve.removed == erasure_curves(answers, order, 1, curve.counts).removed).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("words", [1, 2, 7, 26, 40])
def test_no_metric_changes_because_a_curve_has_few_points(bag: Build, words: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = bag(dict(zip(WORDS, rng.normal(0, 2, 40), strict=True)))
    encoding = model.encode(" ".join(WORDS[:words]))
    answers = MaskedPredictor(model, encoding, "mask")
    scores = tuple(rng.normal(size=words))
    label = int(model.probabilities(encoding, np.ones((1, words), dtype=bool)).argmax())
    (_,), (metrics,) = curves_and_metrics(answers, [scores], label)
    assert metrics == all_metrics(erasure_curves(answers, scores, label))


def test_a_class_that_comes_back_does_not_hide_the_first_flip(bag: Build) -> None:
    """Erasing w0 flips the class, erasing w0 and w1 restores it: bisection would not see the first flip."""
    model = bag(dict(zip(WORDS, [3.0, -3.0, 2.0, *[0.0] * 8, -1.0, *[0.0] * 28], strict=True)))
    answers = MaskedPredictor(model, model.encode(" ".join(WORDS[:12])), "mask")
    scores = tuple(float(-n) for n in range(12))
    full = erasure_curves(answers, scores, 1)
    classes = full.removed.argmax(axis=1)
    first = int(np.flatnonzero(classes != classes[0])[0])
    assert classes[first + 1] == classes[0]
    share = search_decision_flip(lambda counts: erasure_curves(answers, scores, 1, counts, kept=False), full.counts)
    assert share == pytest.approx(first / 12)


def test_the_search_stops_at_the_first_flip(bag: Build) -> None:
    model = bag(dict(zip(WORDS, [6.0, *[0.0] * 38, -3.0], strict=True)))
    meter = Meter()
    answers = MaskedPredictor(model.metered(meter), model.encode(" ".join(WORDS)), "mask")
    scores = tuple(float(-n) for n in range(40))
    share = search_decision_flip(
        lambda counts: erasure_curves(answers, scores, 1, counts, kept=False), curve_counts(40)
    )
    assert share == pytest.approx(1 / 40)
    assert meter.used == 2  # the whole text, and without the first word
    assert not math.isnan(share)
    assert METRICS.get("dffot").search is search_decision_flip


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("words", [1, 3, 40])
def test_the_searches_of_several_orders_ask_together_for_what_each_would_ask(
    bag: Build, words: int, label: int
) -> None:
    model = bag(dict(zip(WORDS, np.random.default_rng(3).normal(0.2, 2, 40), strict=True)))
    orders = [tuple(np.random.default_rng(seed).random(words)) for seed in range(5)]
    flips = [METRICS.get("dffot")]

    def asked(*, together: bool) -> tuple[list[float], set[bytes], int]:
        meter = Meter()
        answers = MaskedPredictor(model.metered(meter), model.encode(" ".join(WORDS[:words])), "mask")
        if together:
            prefetch_decision_flips(answers, orders, label)
        shares = [measured(answers, order, label, flips)["dffot"] for order in orders]
        return shares, set(answers.answers), meter.used

    shares, masks, passes = asked(together=True)
    assert (np.array(shares) == np.array(asked(together=False)[0])).all() or np.isnan(shares).all()
    assert (masks, passes) == asked(together=False)[1:]
