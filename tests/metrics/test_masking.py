from collections.abc import Callable

import numpy as np
import pytest

from explainers.metrics.masking import Asked, MaskingPath, counts, masking_path, top
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Erasure
from explainers.models.meter import Meter

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
    assert top(units, percent) == expected


@pytest.mark.parametrize("units", [1, 2, 59, 60])
def test_short_texts_are_measured_at_every_count(units: int) -> None:
    assert counts(units) == tuple(range(units + 1))


@pytest.mark.parametrize("units", [61, 100, 333, 512])
def test_long_texts_are_measured_at_the_ends_and_at_the_counts_of_the_figures(units: int) -> None:
    found = counts(units)
    assert (found[0], found[-1]) == (0, units)
    assert {top(units, percent) for percent in (1, 5, 10, 20, 50)} <= set(found)
    assert len(found) <= 51 + 5
    assert list(found) == sorted(set(found))


@pytest.fixture
def additive(bag: Build) -> FrozenModel:
    """p(positive) = 0.5 + 0.3 great - 0.2 dull + 0.1 fine + 0 the"""
    return bag({"great": 0.3, "dull": -0.2, "fine": 0.1, "the": 0.0}, additive=True)


def path_of(model: FrozenModel, text: str, scores: tuple[float, ...], erasure: Erasure = "mask") -> MaskingPath:
    return masking_path(Asked(model, model.encode(text), erasure), scores, 1)


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero"])
def test_the_path_removes_and_keeps_in_the_order_of_the_scores(additive: FrozenModel, erasure: Erasure) -> None:
    path = path_of(additive, "the dull great fine", (0.0, -1.0, 9.0, 1.0), erasure)
    # order: great, fine, the, dull; the whole text has 0.5 + 0.3 - 0.2 + 0.1 = 0.7
    assert path.removed[:, 1] == pytest.approx([0.7, 0.4, 0.3, 0.3, 0.5])
    assert path.kept[:, 1] == pytest.approx([0.5, 0.8, 0.9, 0.9, 0.7])
    assert path.full == pytest.approx(0.7)


def test_a_text_by_shares(additive: FrozenModel) -> None:
    path = path_of(additive, "the dull great fine", (0.0, -1.0, 9.0, 1.0))
    assert path.shares == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert [path.when_removed(percent) for percent in (1, 20, 50)] == pytest.approx([0.4, 0.4, 0.3])
    assert [path.when_kept(percent) for percent in (1, 20, 50)] == pytest.approx([0.8, 0.8, 0.9])


def test_the_reverse_is_the_path_of_the_opposite_scores(additive: FrozenModel) -> None:
    scores = (0.0, -1.0, 9.0, 1.0)
    shares, probabilities = path_of(additive, "the dull great fine", scores).reverse
    opposite = path_of(additive, "the dull great fine", tuple(-score for score in scores))
    assert shares == pytest.approx(opposite.shares)
    assert probabilities == pytest.approx(opposite.removed[:, 1])


def test_both_ends_are_the_same_for_every_order(bert: FrozenModel) -> None:
    one, other = (path_of(bert, "the film was good", scores) for scores in ((1, 2, 3, 4), (4, 1, 3, 2)))
    assert (one.removed[0] == other.removed[0]).all()
    assert (one.removed[-1] == other.removed[-1]).all()
    assert (one.removed[0] == one.kept[-1]).all()
    assert (one.removed[-1] == one.kept[0]).all()


def test_ties_are_broken_by_position(additive: FrozenModel) -> None:
    tied = path_of(additive, "the dull great fine", (0.0, 0.0, 0.0, 0.0))
    first_to_last = path_of(additive, "the dull great fine", (4.0, 3.0, 2.0, 1.0))
    assert (tied.removed == first_to_last.removed).all()


def test_equal_words_with_equal_scores_can_be_exchanged(additive: FrozenModel) -> None:
    # dull dull great: whichever "dull" goes first, the probability is the same
    one, other = (path_of(additive, "dull great dull", scores) for scores in ((1.0, 5.0, 1.0), (0.9, 5.0, 1.0)))
    assert one.removed == pytest.approx(other.removed)
    assert one.kept == pytest.approx(other.kept)


@pytest.mark.parametrize("change", [lambda s: 10 * s, lambda s: s - 3, np.tanh], ids=["scaled", "moved", "squashed"])
def test_only_the_order_of_the_scores_matters(bert: FrozenModel, change: Callable[[np.ndarray], np.ndarray]) -> None:
    scores = np.array([0.2, -0.4, 0.9, 0.1])
    one, other = (path_of(bert, "the film was good", tuple(each)) for each in (scores, change(scores)))
    assert (one.removed == other.removed).all()
    assert (one.kept == other.kept).all()


def test_one_unit_has_a_path_of_two_points(additive: FrozenModel) -> None:
    path = path_of(additive, "great", (1.0,))
    assert path.counts == (0, 1)
    assert path.removed[:, 1] == pytest.approx([0.8, 0.5])
    assert path.kept[:, 1] == pytest.approx([0.5, 0.8])


def test_only_the_points_asked_for_are_computed(additive: FrozenModel) -> None:
    meter = Meter()
    asked = Asked(additive.metered(meter), additive.encode("the dull great fine"), "mask")
    path = masking_path(asked, (0.0, -1.0, 9.0, 1.0), 1, (0, 1, 4))
    assert path.removed[:, 1] == pytest.approx([0.7, 0.4, 0.5])
    # full, without great, empty; empty, only great, full
    assert meter.calls == 4


def test_no_mask_is_computed_twice_in_a_run(additive: FrozenModel) -> None:
    meter = Meter()
    asked = Asked(additive.metered(meter), additive.encode("the dull great fine"), "mask")
    first = masking_path(asked, (0.0, -1.0, 9.0, 1.0), 1)
    assert meter.calls == 8  # five points twice, where nothing and everything coincide
    again = masking_path(asked, (0.0, -5.0, 2.0, 1.0), 1)  # the same order
    assert meter.calls == 8
    assert (again.removed == first.removed).all()
    masking_path(asked, (0.0, -1.0, 1.0, 9.0), 1)  # fine before great: only the first step is new, removed and kept
    assert meter.calls == 10
