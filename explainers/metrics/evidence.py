"""Does the explanation rank the evidence first? Scores of patches and of words against annotated evidence.

ROC-AUC of the raw scores; pointing game (Zhang et al., 2018): whether the highest-scored unit is evidence; IOU of the
evidence with as many of the highest-scored units. Each is computed over patches alone and over words alone, for the
predicted class, where it is the true one. A metric is not defined for a kind of which all units or none are evidence.
"""

import numpy as np
from numpy.typing import NDArray

from explainers.datasets.example import Evidence
from explainers.metrics.erasure import Kind, units_of_kind
from explainers.metrics.plausibility import expected_iou, iou, is_defined, roc_auc
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.results.attribution import ranking

COVERED = 0.2  # of the patch, or of the evidence's box: less of an overlap does not make a patch evidence
KINDS: tuple[Kind, ...] = ("patch", "word")
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
