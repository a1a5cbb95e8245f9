"""Which methods lead in a metric, where the lead is more than noise and beyond the random orders."""

import math
from collections.abc import Sequence

import numpy as np

SMALLEST = 0.02  # difference in AOPC; with a smaller one another seed changes more leads
VISIBLE = 0.005  # two decimals show no smaller difference


def leaders(
    scores: dict[str, float],
    noise: dict[str, float],
    random_scores: Sequence[float],
    *,
    higher: bool,
    smallest: float = VISIBLE,
) -> frozenset[str]:
    """The methods whose metric is best, if that is a real difference; otherwise none.

    Real means: beyond the 95 % band of the random orders, and ahead of every method that is not itself among the best
    by more than 1.96 standard deviations of sampling noise and by more than `smallest`. A method with a better
    value than one of the best is among them too. Methods for which the metric is not defined (NaN) take no part;
    where it is not defined for a random order, none leads. Noise that is not defined counts as infinite.
    """
    scores = {method: score for method, score in scores.items() if not math.isnan(score)}
    noise = {method: math.inf if math.isnan(noise[method]) else noise[method] for method in scores}
    sign = 1 if higher else -1
    if not scores:
        return frozenset()
    best = max(scores, key=lambda method: sign * scores[method])
    tied = {
        method
        for method in scores
        if method == best
        or abs(scores[best] - scores[method]) <= max(smallest, 1.96 * float(np.hypot(noise[best], noise[method])))
    }
    worst = min(sign * scores[method] for method in tied)
    tied = {method for method in scores if sign * scores[method] >= worst}
    edge = edge_of_band(random_scores, higher=higher) if random_scores else -np.inf * sign
    beats_random = sign * scores[best] > sign * edge
    return frozenset(tied) if beats_random and len(tied) < max(len(scores), 2) else frozenset()


def edge_of_band(random_scores: Sequence[float], *, higher: bool) -> float:
    """The edge of the 95 % band of random orders that a method has to pass: the score of one of them, not one between
    two, so that of ten orders it is the best. Row marks, tables, verdict and exports test against this edge alone."""
    if higher:
        return float(np.quantile(random_scores, 0.975, method="higher"))
    return float(np.quantile(random_scores, 0.025, method="lower"))
