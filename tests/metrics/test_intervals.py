import math

import numpy as np
import pytest

from explainers.metrics.intervals import paired


def test_the_mean_of_the_texts_and_their_number() -> None:
    interval = paired(np.array([1.0, 2.0, 6.0]))
    assert (interval.mean, interval.texts) == (3, 3)
    assert 1 <= interval.low < 3 < interval.high <= 6


def test_texts_that_agree_leave_nothing_open() -> None:
    interval = paired(np.full(5, 0.25))
    assert (interval.low, interval.mean, interval.high) == (0.25, 0.25, 0.25)


def test_a_single_text_says_nothing_of_others() -> None:
    interval = paired(np.array([0.7]))
    assert (interval.low, interval.high, interval.texts) == (0.7, 0.7, 1)


def test_of_many_texts_it_is_the_mean_and_1_96_standard_errors() -> None:
    values = np.random.default_rng(0).standard_normal(400)
    interval = paired(values)
    error = values.std() / math.sqrt(400)
    assert interval.low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert interval.high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_the_interval_holds_the_truth_in_95_of_100_samples() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        interval = paired(rng.standard_normal(50))
        covered += interval.low <= 0 <= interval.high
    assert 0.90 <= covered / 200 <= 0.98


def test_the_seed_decides() -> None:
    values = np.random.default_rng(0).standard_normal(20)
    assert paired(values) == paired(values)
    assert paired(values) != paired(values, seed=1)


def test_values_are_left_as_they_are() -> None:
    values = np.array([3.0, 1.0, 2.0])
    paired(values)
    assert values.tolist() == [3, 1, 2]
