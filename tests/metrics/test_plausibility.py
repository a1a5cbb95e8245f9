from itertools import permutations

import numpy as np
import pytest

from explainers.metrics.plausibility import (
    PLAUSIBILITY,
    auprc,
    expected_auprc,
    expected_iou,
    f1,
    iou,
    iou_f1,
    plausibility,
    plausibility_by_chance,
    roc_auc,
    run_iou,
    runs,
)

MARKED = np.array([True, True, False, False, True])
SCORES = (5.0, 1.0, 4.0, 2.0, 3.0)  # order of units: 0, 2, 4, 3, 1


def test_the_metrics_of_a_worked_example() -> None:
    # the three highest are 0, 2 and 4, of which 0 and 4 are marked
    assert f1(MARKED, SCORES) == pytest.approx(2 / 3)
    assert iou(MARKED, SCORES) == pytest.approx(2 / 4)
    # of 6 pairs of a marked and an unmarked unit, 0 wins two, 4 one and 1 none
    assert roc_auc(MARKED, SCORES) == pytest.approx(3 / 6)
    # precision at each rank is 1, 1/2, 2/3, 2/4, 3/5; recall rises at ranks 1, 3 and 5
    assert auprc(MARKED, SCORES) == pytest.approx(((1 + 1) / 2 + (1 / 2 + 2 / 3) / 2 + (2 / 4 + 3 / 5) / 2) / 3)
    # predicted runs 0, 2 and 4; marked runs 0-1 and 4: 0 shares half of its union with 0-1, 4 is 4, 2 matches none
    assert iou_f1(MARKED, SCORES) == pytest.approx(2 * 2 / (3 + 2))


def test_perfect_scores_reach_1_in_every_metric() -> None:
    scores = tuple(MARKED.astype(float).tolist())
    assert set(plausibility(MARKED, scores).values()) == {1.0}


def test_runs_are_neighbours() -> None:
    assert runs(MARKED) == [(0, 2), (4, 5)]
    assert runs(np.zeros(3, dtype=bool)) == []
    assert run_iou((0, 4), (2, 6)) == pytest.approx(2 / 6)


@pytest.mark.parametrize("marked", [1, 2, 4])
def test_the_exact_chance_values_are_the_means_over_all_orders(marked: int) -> None:
    truth = np.arange(5) < marked
    orders = [tuple(map(float, order)) for order in permutations(range(5))]
    for metric in PLAUSIBILITY:
        mean = np.mean([metric.score(truth, order) for order in orders])
        assert metric.chance(truth) == pytest.approx(mean, abs=0.12 if metric.id == "iou_f1" else 1e-9)


def test_chance_grows_with_the_share_of_marked_units() -> None:
    few, many = np.arange(50) < 5, np.arange(50) < 25
    assert expected_auprc(few) < expected_auprc(many)
    assert expected_iou(few) < expected_iou(many)


@pytest.mark.parametrize("truth", [np.ones(3, dtype=bool), np.zeros(3, dtype=bool)])
def test_without_marked_or_unmarked_units_nothing_is_defined(truth: np.ndarray) -> None:
    assert plausibility(truth, (1.0, 2.0, 3.0)) == {}
    assert plausibility_by_chance(truth) == {}
