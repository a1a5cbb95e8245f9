"""Metrics against the truth, on curves that can be read."""

import numpy as np
import pytest

from explainers.studies.planted.measure import DRAWS, SHARES
from explainers.studies.planted.truth import at_percents, candidate_values, degradation, diagnosticity, within_input

GOOD, HALF, BAD = [1000, 1000, 9000, 9000], [5000, 3000, 5000, 7000], [9000, 9000, 1000, 1000]  # removed, kept
ROW = {
    "units": 4,
    "p": 9000,
    "planted": [0],
    "scores": {"lime": [4, 3, 2, 1], "kernel_shap": [3, 4, 2, 1], "occlusion": [1, 2, 3, 4]},
    "curves": {"mask": {"lime": GOOD, "kernel_shap": HALF, "occlusion": BAD}},
    "random": {"mask": [BAD, GOOD]},
    "degraded": {"mask": [GOOD, *([HALF] * DRAWS), *([BAD] * DRAWS * (len(SHARES) - 2))]},
}


def test_curves_are_read_at_the_five_sizes() -> None:
    # of four units 1, 5, 10 and 20 % are one unit, 50 % are two
    (p,) = at_percents([[5000, 3000, 4000, 7000]], 4)
    assert p.tolist() == [[0.5, 0.5, 0.5, 0.5, 0.3], [0.4, 0.4, 0.4, 0.4, 0.7]]


def test_candidates_are_what_they_are_called() -> None:
    value = candidate_values(ROW, {"mask": [HALF]})
    assert value["C, mask"] == pytest.approx([(4 * 0.4 + 0.6) / 5])
    assert value["-S, mask"] == pytest.approx([-(4 * 0.4 + 0.2) / 5])
    assert value["T, mask"] == pytest.approx([(0 + 0.4) / 5])
    assert value["C 50 %, mask"] == pytest.approx([0.6])
    assert value["log-odds, mask"] == pytest.approx([np.log(0.9) - np.log(0.5)])
    assert value["C, all operators"] == pytest.approx(value["C, mask"])


def test_limits_turn_t_into_shares_of_what_is_possible() -> None:
    limits = {
        "remove low": [1000, 1000],
        "remove high": [9000, 9000],
        "keep low": [1000, 1000],
        "keep high": [9000, 9000],
    }
    value = candidate_values({**ROW, "limits": {"mask": limits}}, {"mask": [GOOD, BAD]})
    assert value["T normalised, mask"] == pytest.approx([2.0, 0.0])


def test_a_metric_that_ranks_the_methods_as_the_truth_does_has_a_rho_of_one() -> None:
    rho = within_input([ROW], "AUC")  # 1, 2/3 and 0
    assert rho["T, mask"] == [1.0]
    assert rho["C, mask"] == [1.0]


def test_an_input_on_which_all_methods_are_equally_right_does_not_count() -> None:
    assert within_input([{**ROW, "scores": {method: [4, 3, 2, 1] for method in ROW["scores"]}}], "precision") == {}


def test_diagnosticity_counts_ties_half() -> None:
    assert diagnosticity([ROW])["T, mask"] == [0.75]  # better than one, equal to the other


def test_levels_in_the_right_order_count_and_equal_ones_half() -> None:
    assert degradation([ROW])["T, mask"] == [(1 + 1 + 0.5 + 0.5) / 4]
