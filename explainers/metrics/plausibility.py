"""Do a method's highest-scored units agree with the units that people marked? Each metric beside its chance value.

Over n units of which k are marked, with chance the expectation over random orders:

    ROC-AUC of the raw scores                                           chance 1/2
    AUPRC, the trapezoid area under precision and recall (ERASER)       exact, from the expected hits at every rank
    F1 of the k highest-scored units, equal to precision and recall     chance k/n
    IOU of the k highest-scored units with the k marked ones            exact, hypergeometric
    IOU-F1 (ERASER): runs of the k highest-scored units that share at   mean of 100 random orders
    least half of their union with a marked run

A metric is not defined where all units are marked, or none.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explainers.results.attribution import ranking

Truth = NDArray[np.bool_]  # (units,), true where people marked
Run = tuple[int, int]  # units first to last (exclusive)
ORDERS = 100
MATCHED = 0.5  # least IOU of two runs


def roc_auc(truth: Truth, scores: tuple[float, ...]) -> float:
    from sklearn.metrics import roc_auc_score  # takes a while, and the page does not need it

    return float(roc_auc_score(truth, scores))


def auprc(truth: Truth, scores: tuple[float, ...]) -> float:
    from sklearn.metrics import auc, precision_recall_curve

    precision, recall, _ = precision_recall_curve(truth, scores)
    return float(auc(recall, precision))


def hits(truth: Truth, scores: tuple[float, ...]) -> int:
    """How many of the k highest-scored units are marked; ties are broken by position."""
    return int(truth[ranking(scores)[: truth.sum()]].sum())


def f1(truth: Truth, scores: tuple[float, ...]) -> float:
    return hits(truth, scores) / int(truth.sum())


def iou(truth: Truth, scores: tuple[float, ...]) -> float:
    shared = hits(truth, scores)
    return shared / (2 * int(truth.sum()) - shared)


def iou_f1(truth: Truth, scores: tuple[float, ...]) -> float:
    top = np.zeros(len(truth), dtype=bool)
    top[ranking(scores)[: truth.sum()]] = True
    predicted, marked = runs(top), runs(truth)
    matched = sum(max(run_iou(run, other) for other in marked) >= MATCHED for run in predicted)
    return 2 * matched / (len(predicted) + len(marked))


def runs(chosen: Truth) -> list[Run]:
    """The chosen units as runs of neighbours."""
    edges = np.flatnonzero(np.diff(chosen.astype(int), prepend=0, append=0)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def run_iou(one: Run, other: Run) -> float:
    shared = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    return shared / (one[1] - one[0] + other[1] - other[0] - shared)


def expected_auprc(truth: Truth) -> float:
    """With q = (k-1)/(n-1), a marked unit at rank i > 1 adds ((1 + (i-1) q)/i + q) / 2k on average, at rank 1 1/k."""
    n, k = len(truth), int(truth.sum())
    others = (k - 1) / (n - 1)
    ranks = np.arange(2, n + 1)
    return float((2 + ((1 + (ranks - 1) * others) / ranks + others).sum()) / (2 * n))


def expected_iou(truth: Truth) -> float:
    from scipy.stats import hypergeom

    n, k = len(truth), int(truth.sum())
    shared = np.arange(k + 1)
    return float((hypergeom(n, k, k).pmf(shared) * shared / (2 * k - shared)).sum())


def expected_iou_f1(truth: Truth) -> float:
    rng = np.random.default_rng(0)
    return float(np.mean([iou_f1(truth, tuple(rng.permutation(len(truth)).tolist())) for _ in range(ORDERS)]))


@dataclass(frozen=True)
class PlausibilityMetric:
    """`chance` is what a random order is expected to reach. Higher is better."""

    id: str
    name: str
    score: Callable[[Truth, tuple[float, ...]], float]
    chance: Callable[[Truth], float]


PLAUSIBILITY = (
    PlausibilityMetric("auprc", "AUPRC", auprc, expected_auprc),
    PlausibilityMetric("auc", "ROC-AUC", roc_auc, lambda _truth: 0.5),
    PlausibilityMetric("f1", "F1", f1, lambda truth: float(truth.mean())),
    PlausibilityMetric("iou", "IOU", iou, expected_iou),
    PlausibilityMetric("iou_f1", "IOU-F1", iou_f1, expected_iou_f1),
)


def is_defined(truth: Truth) -> bool:
    """Return whether some units are marked and some are not."""
    return bool(truth.any() and not truth.all())


def plausibility(truth: Truth, scores: tuple[float, ...]) -> dict[str, float]:
    """Every metric of `PLAUSIBILITY` by id; empty where they are not defined."""
    return {metric.id: metric.score(truth, scores) for metric in PLAUSIBILITY} if is_defined(truth) else {}


def plausibility_by_chance(truth: Truth) -> dict[str, float]:
    """The chance value of every metric; empty where they are not defined."""
    return {metric.id: metric.chance(truth) for metric in PLAUSIBILITY} if is_defined(truth) else {}
