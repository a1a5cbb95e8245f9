import math

import numpy as np
import pytest

from explainers.metrics.agreement import (
    AGREEMENTS,
    kendall,
    sign_agreement,
    spearman,
    top_overlap,
)

Scores = tuple[float, ...]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((1, 2, 3), (10, 20, 30), 1.0),
        ((1, 2, 3), (3, 2, 1), -1.0),
        ((1, 2, 3), (2, 1, 3), 0.5),  # 1 - 6 (1 + 1 + 0) / (3 · 8)
        ((1, 2, 3, 4), (2, 1, 4, 3), 0.6),  # 1 - 6 · 4 / (4 · 15)
        ((1, 1, 2), (1, 2, 3), math.sqrt(3) / 2),  # ranks 1.5, 1.5, 3 and 1, 2, 3: 1.5 / √(1.5 · 2)
        ((5, 5, 5), (1, 2, 3), 0.0),  # a constant one ranks nothing
        ((5, 5), (5, 5), 0.0),
    ],
)
def test_spearman(one: Scores, other: Scores, expected: float) -> None:
    assert spearman(one, other) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((1, 2, 3), (10, 20, 30), 1.0),
        ((1, 2, 3), (3, 2, 1), -1.0),
        ((1, 2, 3), (2, 1, 3), 1 / 3),  # two pairs agree, one does not
        ((1, 2, 3, 4), (2, 1, 4, 3), 1 / 3),  # four of six agree: (4 - 2) / 6
        ((1, 1, 2), (1, 2, 3), 2 / math.sqrt(6)),  # two agree, one is tied in the first: 2 / √(2 · 3)
        ((5, 5, 5), (1, 2, 3), 0.0),
    ],
)
def test_kendall(one: Scores, other: Scores, expected: float) -> None:
    assert kendall(one, other) == pytest.approx(expected)


@pytest.mark.parametrize("measure", [spearman, kendall])
def test_one_unit_has_no_ranks(measure: object) -> None:
    assert math.isnan(measure((1.0,), (2.0,)))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("one", "other", "percent", "expected"),
    [
        ((9, 8, 1, 2, 3), (8, 9, 1, 2, 3), 20, 0.0),  # one unit each, not the same
        ((9, 8, 1, 2, 3), (9, 8, 3, 2, 1), 20, 1.0),
        ((9, 8, 1, 2, 3), (8, 9, 1, 2, 3), 40, 1.0),
        ((9, 8, 1, 2, 3), (9, 1, 8, 2, 3), 40, 0.5),
        ((-9, 1, 0, 0, 0), (0, 1, 0, 0, 0), 20, 1.0),  # the most positive, not the largest
        ((1,), (-1,), 20, 1.0),
    ],
)
def test_the_overlap_of_the_top(one: Scores, other: Scores, percent: float, expected: float) -> None:
    assert top_overlap(one, other, percent) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [((1, -1), (2, -3), 1.0), ((1, -1), (1, 1), 0.5), ((1, -1), (-1, 1), 0.0), ((0, 1, 1, 1), (0, 0, 1, -1), 0.5)],
)
def test_the_share_of_equal_signs(one: Scores, other: Scores, expected: float) -> None:
    assert sign_agreement(one, other) == pytest.approx(expected)


@pytest.mark.parametrize("agreement", AGREEMENTS, ids=lambda agreement: agreement.id)
def test_every_agreement_is_one_with_itself_and_the_same_from_both_sides(agreement: object) -> None:
    one, other = (tuple(row) for row in np.random.default_rng(0).standard_normal((2, 15)))
    assert agreement.score(one, one) == pytest.approx(1)  # type: ignore[attr-defined]
    assert agreement.score(one, other) == pytest.approx(agreement.score(other, one))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("measure", "expected"), [(spearman, 0), (kendall, 0), (top_overlap, 0.2), (sign_agreement, 0.5)]
)
def test_random_scores_agree_as_chance_says(measure: object, expected: float) -> None:
    draws = np.random.default_rng(0).standard_normal((300, 2, 20))
    mean = np.mean([measure(tuple(one), tuple(other)) for one, other in draws])  # type: ignore[operator]
    assert mean == pytest.approx(expected, abs=0.04)
