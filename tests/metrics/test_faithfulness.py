import math
from collections.abc import Callable

import numpy as np
import pytest

from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.metrics.faithfulness import (
    METRICS,
    aopc_comprehensiveness,
    aopc_sufficiency,
    comprehensiveness,
    decision_flip,
    decisive_metrics,
    log_odds,
    measured,
    metrics_at_percents,
    prefetch,
    sampling_noise,
    search_decision_flip,
    sufficiency,
    tied_at,
)
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.results.attribution import ErasureCurves


def curves(removed: list[float], kept: list[float], label: int = 1) -> ErasureCurves:
    """Curves of two classes, of which class 1 has these probabilities."""
    two = [np.stack([1 - np.array(line), np.array(line)], axis=1) for line in (removed, kept)]
    return ErasureCurves(tuple(range(len(removed))), two[0], two[1], label)


# ten units, so that 1, 5, 10, 20 and 50 % are 1, 1, 1, 2 and 5 units
REMOVED = [0.9, 0.8, 0.6, 0.55, 0.52, 0.4, 0.4, 0.3, 0.3, 0.3, 0.2]
KEPT = [0.2, 0.5, 0.7, 0.8, 0.8, 0.85, 0.85, 0.9, 0.9, 0.9, 0.9]
TEN = curves(REMOVED, KEPT)


@pytest.mark.parametrize(("percent", "expected"), [(1, 0.1), (5, 0.1), (10, 0.1), (20, 0.3), (50, 0.5)])
def test_comprehensiveness_is_the_fall_without_the_top(percent: float, expected: float) -> None:
    assert comprehensiveness(TEN, percent) == pytest.approx(expected)


@pytest.mark.parametrize(("percent", "expected"), [(1, 0.4), (5, 0.4), (10, 0.4), (20, 0.2), (50, 0.05)])
def test_sufficiency_is_the_fall_with_only_the_top(percent: float, expected: float) -> None:
    assert sufficiency(TEN, percent) == pytest.approx(expected)


def test_the_aopc_are_their_means() -> None:
    assert aopc_comprehensiveness(TEN) == pytest.approx((3 * 0.1 + 0.3 + 0.5) / 5)  # 0.22
    assert aopc_sufficiency(TEN) == pytest.approx((3 * 0.4 + 0.2 + 0.05) / 5)  # 0.29


def test_log_odds_compare_the_logarithms_at_a_fifth() -> None:
    assert log_odds(TEN) == pytest.approx(math.log(0.6 / 0.9))


def test_log_odds_stay_finite_at_probability_zero() -> None:
    assert log_odds(curves([1.0, 0.0], [0.0, 1.0])) == pytest.approx(math.log(1e-9))


@pytest.mark.parametrize(
    ("removed", "expected"),
    [
        ([0.9, 0.4, 0.3], 0.5),
        ([0.9, 0.6, 0.4], 1.0),
        ([0.9, 0.8, 0.7], 1.0),  # none changes it
        ([0.6, 0.7, 0.4], 1.0),  # class 0 is predicted until everything is erased
        ([0.6, 0.4, 0.7], 0.5),
        (REMOVED, 0.5),  # 0.52 after four of ten, 0.4 after five
    ],
)
def test_the_decision_flips_at_the_smallest_share_that_changes_the_class(removed: list[float], expected: float) -> None:
    assert decision_flip(curves(removed, removed)) == pytest.approx(expected)


def test_the_decision_flip_is_not_defined_for_a_class_that_is_not_predicted() -> None:
    other_class = curves([0.4, 0.3, 0.6], [0.4, 0.3, 0.6])  # class 0 is explained and class 1 predicted
    assert math.isnan(decision_flip(other_class))
    assert math.isnan(search_decision_flip(lambda _counts: other_class, (0, 1, 2)))


def test_metrics_of_the_other_class_are_the_opposite() -> None:
    other = curves(REMOVED, KEPT, label=0)
    assert aopc_comprehensiveness(other) == pytest.approx(-aopc_comprehensiveness(TEN))
    assert aopc_sufficiency(other) == pytest.approx(-aopc_sufficiency(TEN))


def test_one_unit_has_all_metrics() -> None:
    expected = {"aopc_c": 0.6, "aopc_s": 0.0, "log_odds": math.log(1 / 3), "dffot": 1.0}
    assert {id: METRICS.get(id).score(curves([0.9, 0.3], [0.3, 0.9])) for id in expected} == pytest.approx(expected)


def test_a_model_that_does_not_read_gives_zero_to_everybody() -> None:
    expected = {"aopc_c": 0.0, "aopc_s": 0.0, "log_odds": 0.0, "dffot": 1.0}
    assert {id: METRICS.get(id).score(curves([0.6] * 8, [0.6] * 8)) for id in expected} == pytest.approx(expected)


def test_the_right_order_beats_the_opposite_one_by_every_metric(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"superb": 3.0, "good": 1.0, "the": 0.0, "film": 0.0, "dull": -2.0})
    answers = MaskedPredictor(model, model.encode("the superb film good the dull film the good the"), "mask")
    weights = (0, 3, 0, 1, 0, -2, 0, 0, 1, 0)
    right, wrong = (erasure_curves(answers, tuple(sign * float(w) for w in weights), 1) for sign in (1, -1))
    for metric in METRICS.declared:
        assert metric.sign * metric.score(right) > metric.sign * metric.score(wrong), metric.id


@pytest.mark.parametrize(
    ("scores", "percents"),
    [
        ((5.0, 4.0, 3.0, 2.0, 1.0), ()),
        ((0.0, 0.0, 0.0, 0.0, 0.0), (1, 5, 10, 20, 50)),
        ((5.0, 5.0, 3.0, 2.0, 1.0), (1, 5, 10, 20)),  # one unit is cut off, and the second is as high
        ((5.0, 4.0, 2.0, 2.0, 1.0), (50,)),  # three units are cut off, and the fourth is as high
        ((1.0, 2.0, 5.0, 5.0, 1.0), (1, 5, 10, 20)),  # wherever in the text they stand
        ((0.0,), ()),  # nothing can be confused with a single unit
        ((1.0, 1.0), (1, 5, 10, 20, 50)),
    ],
)
def test_ties_at_the_cut_are_reported(scores: tuple[float, ...], percents: tuple[int, ...]) -> None:
    assert tied_at(scores) == percents


@pytest.fixture
def answers(bag: Callable[..., FrozenModel]) -> MaskedPredictor:
    """Three words with p = 0.5 + 0.3, + 0.1 and + 0."""
    model = bag({"great": 0.3, "fine": 0.1, "the": 0.0}, additive=True)
    return MaskedPredictor(model.metered(Meter()), model.encode("great fine the"), "mask")


def test_only_what_the_asked_metrics_read_is_asked(answers: MaskedPredictor) -> None:
    values = measured(answers, (3.0, 2.0, 1.0), 1, decisive_metrics())
    # great alone is removed for K = 1 to 20 %, great and fine for 50 %: (4 · 0.3 + 0.4) / 5
    assert values == {"aopc_c": pytest.approx(0.32), "aopc_s": pytest.approx(0.08)}
    assert answers.model.meter.calls == 6  # 0, 1 and 2 of three units removed, and kept


def test_after_a_prefetch_nothing_more_is_asked(answers: MaskedPredictor) -> None:
    prefetch(answers, [(3.0, 2.0, 1.0)])
    asked = answers.model.meter.calls
    measured(answers, (3.0, 2.0, 1.0), 1, metrics_at_percents())
    assert answers.model.meter.calls == asked


NO_NOISE = {"aopc_c": 0, "aopc_s": 0, "log_odds": 0, "dffot": pytest.approx(1 / 3)}


def test_a_method_without_sampling_has_no_noise_but_the_flip_has_its_resolution(answers: MaskedPredictor) -> None:
    noise = sampling_noise(answers, (), 1)
    assert {id: noise[id] for id in NO_NOISE} == NO_NOISE
    assert answers.model.meter.calls == 0


def test_draws_that_agree_have_no_noise(answers: MaskedPredictor) -> None:
    noise = sampling_noise(answers, ((3.0, 2.0, 1.0), (9.0, 1.0, 0.0)), 1)
    assert {id: noise[id] for id in NO_NOISE} == NO_NOISE


def test_the_noise_is_the_deviation_of_the_metric_over_the_draws(answers: MaskedPredictor) -> None:
    noise = sampling_noise(answers, ((3.0, 2.0, 1.0), (2.0, 3.0, 1.0)), 1)
    # K = 1, 5, 10, 20 % is one unit of three, 50 % is two. great first: (4 · 0.3 + 0.4) / 5 = 0.32,
    # fine first: (4 · 0.1 + 0.4) / 5 = 0.16; their standard deviation is 0.08
    assert noise["aopc_c"] == pytest.approx(0.08)
    # only great: 0.9 - 0.8, only fine: 0.9 - 0.6, both: 0; (4 · 0.1) / 5 = 0.08 and (4 · 0.3) / 5 = 0.24
    assert noise["aopc_s"] == pytest.approx(0.08)
    # ln 0.6/0.9 and ln 0.8/0.9
    assert noise["log_odds"] == pytest.approx(math.log(0.8 / 0.6) / 2)


def test_at_most_ten_draws_are_measured(answers: MaskedPredictor) -> None:
    agreed, other = (3.0, 2.0, 1.0), (1.0, 2.0, 3.0)
    assert sampling_noise(answers, (agreed,) * 10 + (other,) * 10, 1)["aopc_c"] == 0


@pytest.mark.parametrize(
    ("metric", "higher"), [("aopc_c", True), ("aopc_s", False), ("log_odds", False), ("dffot", False)]
)
def test_a_metric_says_which_direction_is_better(metric: str, higher: bool) -> None:
    assert METRICS.get(metric).higher_is_better == higher
