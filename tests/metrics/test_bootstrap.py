import math

import numpy as np
import pytest
from scipy.stats import bootstrap

from explainers.metrics.bootstrap import (
    RESAMPLES,
    Floats,
    difference_interval,
    interval_of_rows,
    item_weights,
    mean_interval,
    statistic_interval,
)


def test_the_mean_of_the_texts_and_their_number() -> None:
    interval = mean_interval(np.array([1.0, 2.0, 6.0]))
    assert (interval.mean, interval.texts) == (3, 3)
    assert 1 <= interval.low < 3 < interval.high <= 6


def test_texts_that_agree_leave_nothing_open() -> None:
    interval = mean_interval(np.full(5, 0.25))
    assert (interval.low, interval.mean, interval.high) == (0.25, 0.25, 0.25)


def test_a_single_text_says_nothing_of_others() -> None:
    interval = mean_interval(np.array([0.7]))
    assert (interval.low, interval.high, interval.texts) == (0.7, 0.7, 1)


def test_of_many_texts_it_is_the_mean_and_1_96_standard_errors() -> None:
    values = np.random.default_rng(0).standard_normal(400)
    interval = mean_interval(values)
    error = values.std() / math.sqrt(400)
    assert interval.low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert interval.high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_the_interval_holds_the_truth_in_95_of_100_samples() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        interval = mean_interval(rng.standard_normal(50))
        covered += interval.low <= 0 <= interval.high
    assert 0.90 <= covered / 200 <= 0.98


def test_the_seed_decides() -> None:
    values = np.random.default_rng(0).standard_normal(20)
    assert mean_interval(values) == mean_interval(values)
    assert mean_interval(values) != mean_interval(values, seed=1)


def test_values_are_left_as_they_are() -> None:
    values = np.array([3.0, 1.0, 2.0])
    mean_interval(values)
    assert values.tolist() == [3, 1, 2]


def test_every_resample_has_as_many_items_as_there_are() -> None:
    weights = item_weights(7)
    assert weights.shape == (1 + RESAMPLES, 7)
    assert weights[0].tolist() == [1] * 7
    assert set(weights.sum(axis=1)) == {7}
    assert weights[1:].mean(axis=0) == pytest.approx(np.ones(7), abs=0.1)


@pytest.mark.parametrize("items", [2, 9, 60])
def test_the_interval_of_a_mean_is_that_of_scipy(items: int) -> None:
    values = np.random.default_rng(2).random(items)
    rng = np.random.default_rng(5)
    theirs = bootstrap((values,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=rng).confidence_interval
    interval = mean_interval(values, seed=5)
    assert (interval.low, interval.high) == pytest.approx((theirs.low, theirs.high))


def test_a_difference_is_paired_by_item() -> None:
    values = np.array([0.0, 10.0, 20.0])
    interval = difference_interval(values + 1, values)
    assert (interval.low, interval.mean, interval.high) == (1, 1, 1)


def test_a_statistic_of_rows_is_computed_for_every_resample() -> None:
    values = np.array([1.0, 2.0, 4.0])

    def largest(weights: Floats) -> Floats:
        return np.where(weights > 0, values, 0.0).max(axis=1)

    interval = statistic_interval(largest, 3)
    assert (interval.low, interval.mean, interval.high) == (1, 4, 4)  # one resample in 27 has the first item alone


def test_resamples_without_a_value_are_left_out() -> None:
    rows = np.array([0.5, np.nan, 0.25, 0.25])
    assert (interval_of_rows(rows, 4).low, interval_of_rows(rows, 4).high) == (0.25, 0.25)
    alone = interval_of_rows(np.array([0.5, np.nan]), 1)
    assert (alone.low, alone.mean, alone.high) == (0.5, 0.5, 0.5)
