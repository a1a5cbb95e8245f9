"""Precision, AUC and the consensus on numbers that can be checked with pencil and paper."""

import pytest

from explainers.studies.planted.truth import (
    auc,
    by_families,
    difference,
    explanations,
    precision,
    precision_of_first,
    values,
)

ROW = {
    "planted": [0, 1],
    "units": 4,
    "scores": {
        "kernel_shap": [4.0, 3.0, 2.0, 1.0],
        "lime": [4.0, 1.0, 3.0, 2.0],
        "attention_mean": [0.0, 0.0, 1.0, 2.0],
    },
}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((4, 3, 2, 1), 1.0),
        ((4, 1, 3, 2), 0.5),
        ((1, 2, 3, 4), 0.0),
        ((5, 1, 1, 1), (1 + 1 / 3) / 2),  # the second place is shared by three
        ((1, 1, 1, 1), 0.5),  # as at random
    ],
)
def test_precision_among_the_top_two(scores: tuple[float, ...], expected: float) -> None:
    assert precision(scores, [0, 1]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("scores", "expected"), [((4, 3, 2, 1), 1.0), ((4, 1, 3, 2), 0.5), ((1, 2, 3, 4), 0.0), ((1, 1, 1, 1), 0.5)]
)
def test_auc_counts_pairs(scores: tuple[float, ...], expected: float) -> None:
    assert auc(scores, [0, 1]) == pytest.approx(expected)


def test_the_first_of_equal_scores_is_shared() -> None:
    assert precision_of_first((2, 1, 2), [0]) == 0.5


def test_a_family_counts_once_in_the_consensus_of_families() -> None:
    # the samplers' mean ranks from 0 are 0, 2, 1.5, 2.5 of 3, those of attention 2.5, 2.5, 1, 0
    assert by_families(ROW) == pytest.approx((1.75 / 3, 0.75 / 3, 1.75 / 3, 1.75 / 3))


def test_the_consensus_without_attention_is_that_of_the_others() -> None:
    rules = explanations(ROW)
    without = rules["consensus without gradient × input and attention"]
    assert without == pytest.approx((1.0, 1 / 3, 0.5, 0.5 / 3))


def test_a_random_order_has_its_exact_expectation() -> None:
    assert values([ROW], "precision")["random"].tolist() == [0.5]
    assert values([ROW], "AUC")["random"].tolist() == [0.5]


def test_a_difference_is_taken_input_by_input() -> None:
    gap = difference(values([ROW, ROW], "precision"), "kernel_shap", "lime")
    assert (gap.mean, gap.low, gap.high, gap.texts) == (0.5, 0.5, 0.5, 2)
