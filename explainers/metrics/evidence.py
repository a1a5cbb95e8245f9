"""Did it find the evidence? Scores of patches and of words against what the label is known to follow from.

ROC-AUC of the raw scores; pointing game (Zhang et al., 2018): is the highest-scored unit evidence; IOU of as many of
the highest-scored units as there are evidence. Each is computed over patches alone and over words alone, for the class
that the model predicts, where that is the true one: of another class the evidence is not known. Where all units of a
kind are evidence, or none is ("there is no circle", and there is none), there is nothing to find, and no figure.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom
from sklearn.metrics import roc_auc_score

from explainers.datasets.example import Evidence
from explainers.explanation import ranking
from explainers.metrics.modalities import Kind, of_kind
from explainers.models.encoding import Encoding, Unit

COVERED = 0.2  # of the patch, or of the evidence's box: less of an overlap does not make a patch evidence
KINDS: tuple[Kind, ...] = ("patch", "word")
NAMES = ("auc", "pointing", "iou")
FIGURES = tuple(f"{kind}_{name}" for kind in KINDS for name in NAMES)
Figures = dict[str, float]


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


def found(encoding: Encoding, evidence: Evidence, scores: tuple[float, ...]) -> Figures:
    """By the names of `FIGURES`, those that are defined."""
    figures = {}
    for kind, units, truth in sought(encoding, evidence):
        own = tuple(scores[unit] for unit in units)
        order, k = ranking(own), int(truth.sum())
        hits = int(truth[order[:k]].sum())
        figures[f"{kind}_auc"] = float(roc_auc_score(truth, own))
        figures[f"{kind}_pointing"] = float(truth[order[0]])
        figures[f"{kind}_iou"] = hits / (2 * k - hits)
    return figures


def chance(encoding: Encoding, evidence: Evidence) -> Figures:
    """What a random order gets on average, exactly."""
    figures = {}
    for kind, units, truth in sought(encoding, evidence):
        k, n = int(truth.sum()), len(units)
        hits = np.arange(k + 1)
        figures[f"{kind}_auc"], figures[f"{kind}_pointing"] = 0.5, k / n
        figures[f"{kind}_iou"] = float((hypergeom(n, k, k).pmf(hits) * hits / (2 * k - hits)).sum())
    return figures


def sought(encoding: Encoding, evidence: Evidence) -> list[tuple[Kind, tuple[int, ...], NDArray[np.bool_]]]:
    """The kinds of units in which there is something to find, with which of them are evidence."""
    asked = []
    for kind in KINDS:
        units = of_kind(encoding, kind)
        truth = np.asarray([is_evidence(encoding.units[unit], evidence) for unit in units], dtype=bool)
        if truth.any() and not truth.all():
            asked.append((kind, units, truth))
    return asked
