from collections.abc import Callable

import numpy as np
import pytest

from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.models.calls import Meter, PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.results.attribution import ErasureCurves, curve_counts, top_count

Build = Callable[..., FrozenModel]


@pytest.mark.parametrize(
    ("units", "percent", "expected"),
    [
        (10, 1, 1),  # never less than one
        (10, 10, 1),
        (10, 20, 2),
        (11, 10, 2),  # ⌈1.1⌉
        (10, 50, 5),
        (3, 50, 2),  # ⌈1.5⌉
        (1, 50, 1),
        (100, 100 * 0.07, 7),  # 7.000000000000001 in floating point
        (50, 20, 10),
        (200, 1, 2),
        (0, 20, 0),
    ],
)
def test_the_top_k_percent_are_this_many_units(units: int, percent: float, expected: int) -> None:
    assert top_count(units, percent) == expected


@pytest.mark.parametrize("units", [1, 2, 59, 60])
def test_short_texts_are_measured_at_every_count(units: int) -> None:
    assert curve_counts(units) == tuple(range(units + 1))


@pytest.mark.parametrize("units", [61, 100, 333, 512])
def test_long_texts_are_measured_at_the_ends_and_at_the_counts_of_the_metrics(units: int) -> None:
    counts = curve_counts(units)
    assert (counts[0], counts[-1]) == (0, units)
    assert {top_count(units, percent) for percent in (1, 5, 10, 20, 50)} <= set(counts)
    assert len(counts) <= 51 + 5
    assert list(counts) == sorted(set(counts))


@pytest.fixture
def additive(bag: Build) -> FrozenModel:
    """p(positive) = 0.5 + 0.3 great - 0.2 dull + 0.1 fine + 0 the"""
    return bag({"great": 0.3, "dull": -0.2, "fine": 0.1, "the": 0.0}, additive=True)


def curves_of(model: FrozenModel, text: str, scores: tuple[float, ...], erasure: Erasure = "mask") -> ErasureCurves:
    return erasure_curves(MaskedPredictor(model, model.encode(text), erasure), scores, 1)


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_the_curves_remove_and_keep_in_the_order_of_the_scores(additive: FrozenModel, erasure: Erasure) -> None:
    curves = curves_of(additive, "the dull great fine", (0.0, -1.0, 9.0, 1.0), erasure)
    # order: great, fine, the, dull; the whole text has 0.5 + 0.3 - 0.2 + 0.1 = 0.7
    assert curves.removed[:, 1] == pytest.approx([0.7, 0.4, 0.3, 0.3, 0.5])
    assert curves.kept[:, 1] == pytest.approx([0.5, 0.8, 0.9, 0.9, 0.7])
    assert curves.full == pytest.approx(0.7)


def test_a_text_by_shares(additive: FrozenModel) -> None:
    curves = curves_of(additive, "the dull great fine", (0.0, -1.0, 9.0, 1.0))
    assert curves.shares == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert [curves.when_removed(percent) for percent in (1, 20, 50)] == pytest.approx([0.4, 0.4, 0.3])
    assert [curves.when_kept(percent) for percent in (1, 20, 50)] == pytest.approx([0.8, 0.8, 0.9])


def test_the_reverse_is_the_curve_of_the_opposite_scores(additive: FrozenModel) -> None:
    scores = (0.0, -1.0, 9.0, 1.0)
    shares, probabilities = curves_of(additive, "the dull great fine", scores).reverse
    opposite = curves_of(additive, "the dull great fine", tuple(-score for score in scores))
    assert shares == pytest.approx(opposite.shares)
    assert probabilities == pytest.approx(opposite.removed[:, 1])


def test_both_ends_are_the_same_for_every_order(bert: FrozenModel) -> None:
    one, other = (curves_of(bert, "the film was good", scores) for scores in ((1, 2, 3, 4), (4, 1, 3, 2)))
    assert (one.removed[0] == other.removed[0]).all()
    assert (one.removed[-1] == other.removed[-1]).all()
    assert (one.removed[0] == one.kept[-1]).all()
    assert (one.removed[-1] == one.kept[0]).all()


def test_ties_are_broken_by_position(additive: FrozenModel) -> None:
    tied = curves_of(additive, "the dull great fine", (0.0, 0.0, 0.0, 0.0))
    first_to_last = curves_of(additive, "the dull great fine", (4.0, 3.0, 2.0, 1.0))
    assert (tied.removed == first_to_last.removed).all()


def test_equal_words_with_equal_scores_can_swap_places(additive: FrozenModel) -> None:
    # dull dull great: whichever "dull" goes first, the probability is the same
    one, other = (curves_of(additive, "dull great dull", scores) for scores in ((1.0, 5.0, 1.0), (0.9, 5.0, 1.0)))
    assert one.removed == pytest.approx(other.removed)
    assert one.kept == pytest.approx(other.kept)


@pytest.mark.parametrize("change", [lambda s: 10 * s, lambda s: s - 3, np.tanh], ids=["scaled", "moved", "squashed"])
def test_only_the_order_of_the_scores_matters(bert: FrozenModel, change: Callable[[np.ndarray], np.ndarray]) -> None:
    scores = np.array([0.2, -0.4, 0.9, 0.1])
    one, other = (curves_of(bert, "the film was good", tuple(values)) for values in (scores, change(scores)))
    assert (one.removed == other.removed).all()
    assert (one.kept == other.kept).all()


def test_one_unit_has_curves_of_two_points(additive: FrozenModel) -> None:
    curves = curves_of(additive, "great", (1.0,))
    assert curves.counts == (0, 1)
    assert curves.removed[:, 1] == pytest.approx([0.8, 0.5])
    assert curves.kept[:, 1] == pytest.approx([0.5, 0.8])


def test_only_the_requested_counts_are_computed(additive: FrozenModel) -> None:
    meter = Meter()
    answers = MaskedPredictor(additive.metered(meter), additive.encode("the dull great fine"), "mask")
    curves = erasure_curves(answers, (0.0, -1.0, 9.0, 1.0), 1, (0, 1, 4))
    assert curves.removed[:, 1] == pytest.approx([0.7, 0.4, 0.5])
    # full, without great, empty; empty, only great, full
    assert meter.calls == 4


def test_no_mask_is_computed_twice_in_a_run(additive: FrozenModel) -> None:
    meter = Meter()
    answers = MaskedPredictor(additive.metered(meter), additive.encode("the dull great fine"), "mask")
    first = erasure_curves(answers, (0.0, -1.0, 9.0, 1.0), 1)
    assert meter.calls == 8  # five points twice, where nothing and everything coincide
    again = erasure_curves(answers, (0.0, -5.0, 2.0, 1.0), 1)  # the same order
    assert meter.calls == 8
    assert (again.removed == first.removed).all()
    erasure_curves(answers, (0.0, -1.0, 1.0, 9.0), 1)  # fine before great: only the first step is new, removed and kept
    assert meter.calls == 10


def test_what_is_asked_again_is_not_counted_again_as_used(additive: FrozenModel) -> None:
    meter, other = Meter(), Meter()
    model, encoding = additive.pooled(PredictionCache()), additive.encode("the dull great fine")
    for _ in range(2):
        erasure_curves(MaskedPredictor(model.metered(other), encoding, "mask"), (0.0, -1.0, 9.0, 1.0), 1)
    assert (other.calls, other.used) == (8, 16)  # two askers
    answers = MaskedPredictor(model.metered(meter), encoding, "mask")
    for _ in range(2):
        erasure_curves(answers, (0.0, -1.0, 9.0, 1.0), 1)
    assert (meter.calls, meter.used) == (0, 8)
