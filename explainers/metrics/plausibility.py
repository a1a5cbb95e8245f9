"""Do a method's highest-scored units agree with the units that people marked? Each metric beside its chance value.

Over n units of which k are marked, with chance the expectation over random orders:

    ROC-AUC of the raw scores                                           chance 1/2
    AUPRC, the trapezoid area under precision and recall (ERASER)       exact, from the expected hits at every rank
    F1 of the k highest-scored units, equal to precision and recall     chance k/n
    IOU of the k highest-scored units with the k marked ones            exact, hypergeometric
    IOU-F1 (ERASER): runs of the k highest-scored units that share at   mean of 100 random orders
    least half of their union with a marked run

A metric is not defined where all units are marked, or none.

Where the evidence is annotated, patches and words are scored against it: ROC-AUC of the raw scores; pointing game
(Zhang et al., 2018): whether the highest-scored unit is evidence; IOU of the evidence with as many of the highest-
scored units. Each is computed over patches alone and over words alone, for the predicted class, where it is the true
one. A metric is not defined for a kind of which all units or none are evidence.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explainers.datasets.example import Evidence
from explainers.metrics.erasure import Kind, units_of_kind
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.results.attribution import ranking

Truth = NDArray[np.bool_]  # (units,), true where people marked
Run = tuple[int, int]  # units first to last (exclusive)
ORDERS = 100
MATCHED = 0.5  # least IOU of two runs
COVERED = 0.2  # of the patch, or of the evidence's box: less of an overlap does not make a patch evidence
KINDS: tuple[Kind, ...] = ("patch", "word")


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


EVIDENCE_METRICS = tuple(f"{kind}_{name}" for kind in KINDS for name in ("auc", "pointing", "iou"))


def is_evidence(unit: Unit, evidence: Evidence) -> bool:
    if unit.box is None:
        return unit.segment == 0 and any(start < unit.end and unit.start < end for start, end in evidence.words)
    return any(
        shared >= COVERED * min(area(unit.box), area(box))
        for box in evidence.boxes
        if (shared := area(overlap(unit.box, box))) > 0
    )


def overlap(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    return max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])


def area(box: tuple[int, int, int, int]) -> int:
    left, top, right, bottom = box
    return max(0, right - left) * max(0, bottom - top)


def evidence_scores(encoding: Encoding, evidence: Evidence, scores: tuple[float, ...]) -> dict[str, float]:
    """Those of `EVIDENCE_METRICS` that are defined."""
    metrics = {}
    for kind, units, truth in ranked_kinds(encoding, evidence):
        of_kind = tuple(scores[unit] for unit in units)
        metrics[f"{kind}_auc"] = roc_auc(truth, of_kind)
        metrics[f"{kind}_pointing"] = float(truth[ranking(of_kind)[0]])
        metrics[f"{kind}_iou"] = iou(truth, of_kind)
    return metrics


def expected_at_random(encoding: Encoding, evidence: Evidence) -> dict[str, float]:
    """The exact expectation of `evidence_scores` for a random order."""
    metrics = {}
    for kind, _units, truth in ranked_kinds(encoding, evidence):
        metrics[f"{kind}_auc"], metrics[f"{kind}_pointing"] = 0.5, float(truth.mean())
        metrics[f"{kind}_iou"] = expected_iou(truth)
    return metrics


def ranked_kinds(encoding: Encoding, evidence: Evidence) -> list[tuple[Kind, tuple[int, ...], NDArray[np.bool_]]]:
    """The kinds of which some units are evidence and some are not, with the units and whether each is evidence."""
    kinds = []
    for kind in KINDS:
        units = units_of_kind(encoding, kind)
        truth = np.asarray([is_evidence(encoding.units[unit], evidence) for unit in units], dtype=bool)
        if is_defined(truth):
            kinds.append((kind, units, truth))
    return kinds
