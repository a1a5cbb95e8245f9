"""Faithfulness figures as plain functions of a masking path; p is the probability of the explained class.

AOPC-C and AOPC-S follow ERASER (DeYoung et al., 2020) with K ∈ {1, 5, 10, 20, 50} %; log-odds Shrikumar et al. (2017);
DFFOT Serrano and Smith (2019). The operator that erases is the path's and stands next to every figure.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from explainers.metrics.masking import PERCENTS, Asked, MaskingPath, counts, masking_path, top

FLOOR = 1e-9


def comprehensiveness(path: MaskingPath, percent: float) -> float:
    """COMP(K) = p(x) - p(x without the top K %)."""
    return path.full - path.when_removed(percent)


def sufficiency(path: MaskingPath, percent: float) -> float:
    """SUFF(K) = p(x) - p(only the top K %)."""
    return path.full - path.when_kept(percent)


def aopc_comprehensiveness(path: MaskingPath) -> float:
    """Mean of COMP over `PERCENTS`."""
    return float(np.mean([comprehensiveness(path, percent) for percent in PERCENTS]))


def aopc_sufficiency(path: MaskingPath) -> float:
    """Mean of SUFF over `PERCENTS`."""
    return float(np.mean([sufficiency(path, percent) for percent in PERCENTS]))


def log_odds(path: MaskingPath) -> float:
    """ln p(x without the top 20 %) - ln p(x), p not below 1e-9."""
    return math.log(max(path.when_removed(20), FLOOR)) - math.log(max(path.full, FLOOR))


def decision_flip(path: MaskingPath) -> float:
    """DFFOT: the smallest share of units whose removal changes the predicted class; 1 if none does.

    Known at the points of the path: every count of units, in texts of more than 60 units every 2 %.
    """
    classes = path.removed.argmax(axis=1)
    flipped = np.flatnonzero(classes != classes[0])
    return float(path.shares[flipped[0]]) if len(flipped) else 1.0


def curve_area(path: MaskingPath, *, kept: bool) -> float:
    """The trapezoid area under p along 0…100 % of the units removed, or kept."""
    line = path.kept if kept else path.removed
    return float(np.trapezoid(line[:, path.label], path.shares))


@dataclass(frozen=True)
class Metric:
    id: str
    name: str
    score: Callable[[MaskingPath], float]
    higher_is_better: bool
    meaning: str


METRICS = (
    Metric(
        "aopc_c",
        "AOPC-C",
        aopc_comprehensiveness,
        True,
        "Comprehensiveness: how far the probability falls when the top 1, 5, 10, 20 and 50 % are erased, on average.",
    ),
    Metric(
        "aopc_s",
        "AOPC-S",
        aopc_sufficiency,
        False,
        "Sufficiency: how far it falls when only the top 1, 5, 10, 20 and 50 % are kept, on average.",
    ),
    Metric(
        "log_odds",
        "Log-odds",
        log_odds,
        False,
        "Change of the logarithm of the probability when the top 20 % are erased.",
    ),
    Metric(
        "dffot",
        "DFFOT",
        decision_flip,
        False,
        "Decision flip: the smallest share of units, taken from the top, whose removal changes the predicted class.",
    ),
)


def tied_at(scores: tuple[float, ...]) -> tuple[int, ...]:
    """The `PERCENTS` at which the cut falls between equal scores, so that position decided, not score."""
    ordered = sorted(scores, reverse=True)
    cuts = {percent: top(len(scores), percent) for percent in PERCENTS}
    return tuple(p for p, cut in cuts.items() if cut < len(scores) and ordered[cut - 1] == ordered[cut])


def noise(asked: Asked, draws: tuple[tuple[float, ...], ...], label: int, *, most: int = 10) -> dict[str, float]:
    """The standard deviation of each figure that a sampling method's chance causes; for DFFOT a step of the curve."""
    units = len(asked.encoding.units)
    found = {metric.id: 0.0 for metric in METRICS} | {"dffot": float(max(np.diff(counts(units)))) / units}
    if draws:
        points = tuple(sorted({0, units, *(top(units, percent) for percent in PERCENTS)}))
        paths = [masking_path(asked, draw, label, points) for draw in draws[:most]]
        for metric in METRICS[:3]:
            found[metric.id] = float(np.std([metric.score(path) for path in paths]))
    return found
