import math

import numpy as np
import pytest

from explainers.metrics.intervals import paired


def test_the_mean_of_the_texts_and_their_number() -> None:
    found = paired(np.array([1.0, 2.0, 6.0]))
    assert (found.mean, found.texts) == (3, 3)
    assert 1 <= found.low < 3 < found.high <= 6


def test_texts_that_agree_leave_nothing_open() -> None:
    found = paired(np.full(5, 0.25))
    assert (found.low, found.mean, found.high) == (0.25, 0.25, 0.25)


def test_a_single_text_says_nothing_of_others() -> None:
    found = paired(np.array([0.7]))
    assert (found.low, found.high, found.texts) == (0.7, 0.7, 1)


def test_of_many_texts_it_is_the_mean_and_1_96_standard_errors() -> None:
    values = np.random.default_rng(0).standard_normal(400)
    found = paired(values)
    error = values.std() / math.sqrt(400)
    assert found.low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert found.high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_the_interval_holds_the_truth_in_95_of_100_samples() -> None:
    chance = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        found = paired(chance.standard_normal(50))
        inside += found.low <= 0 <= found.high
    assert 0.90 <= inside / 200 <= 0.98


def test_the_seed_decides() -> None:
    values = np.random.default_rng(0).standard_normal(20)
    assert paired(values) == paired(values)
    assert paired(values) != paired(values, seed=1)


def test_values_are_left_as_they_are() -> None:
    values = np.array([3.0, 1.0, 2.0])
    paired(values)
    assert values.tolist() == [3, 1, 2]
