"""The joint order: mean ranks, ties, and agreement, by hand."""

import math

import pytest

from explainers.comparison.consensus import agreement, by_agreement, consensus_scores, order_of_tests, top_units

A, B, C = (3.0, 2.0, 1.0, 0.0), (30.0, 10.0, 20.0, 0.0), (0.0, 1.0, 2.0, 3.0)


def test_the_consensus_is_one_minus_the_mean_rank() -> None:
    # ranks 0 1 2 3 and 0 2 1 3: means 0, 1.5, 1.5, 3 of at most 3
    assert consensus_scores([A, B]) == pytest.approx((1, 0.5, 0.5, 0))


def test_equal_scores_share_their_ranks() -> None:
    assert consensus_scores([(1.0, 1.0, 0.0)]) == pytest.approx((0.75, 0.75, 0))


def test_differences_in_the_last_digits_are_ties() -> None:
    assert consensus_scores([(1.0, 1.0 + 1e-9, 0.0)]) == consensus_scores([(1.0, 1.0, 0.0)])
    assert top_units((0.5, 0.5 + 1e-9, 0.1), 1) == {0}


def test_scale_and_sign_do_not_count() -> None:
    assert consensus_scores([A, tuple(value * 1000 - 5 for value in A)]) == consensus_scores([A])


def test_agreement_is_the_mean_share_of_common_first_units() -> None:
    # top two: {0, 1}, {0, 2}, {2, 3}: shares 1/2, 0, 1/2
    assert agreement([A, B, C], 2) == pytest.approx(1 / 3)
    assert agreement([A, A], 2) == 1
    assert math.isnan(agreement([A], 2))


def test_the_method_that_shares_most_comes_first() -> None:
    # B shares a unit with A and one with C; A and C share one with B only
    assert by_agreement({"a": A, "b": B, "c": C}, 2) == ("b", "a", "c")


def test_methods_that_sample_are_tested_before_the_others() -> None:
    order = ("cimi", "lime", "aml", "kernel_shap", "integrated_gradients")
    assert order_of_tests(order) == ("lime", "kernel_shap", "cimi", "aml", "integrated_gradients")
