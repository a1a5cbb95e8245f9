"""Erasure curves with few points: those that the metrics read, and others only where a curve bends.

A curve starts at `first_counts`: the counts of the metrics and the middle of every gap between them. Where p(label) in
the middle of a gap differs by more than TOLERANCE from the straight line between the gap's ends, by removing or by
keeping, both halves get their middle too, and so on, at most down to the counts of `curve_counts`. A bend that does
not show in the middle of a gap is not found.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from explainers.metrics.erasure import Answers, erasure_curves, erasure_masks
from explainers.results.erasure_curves import ErasureCurves, Floats, curve_counts, first_counts, metric_counts

TOLERANCE = 0.08  # of p(label): how far a drawn line may miss the middle of a gap

Gap = tuple[int, int]  # places in `curve_counts`


def refined_curves(answers: Answers, orders: Sequence[tuple[float, ...]], label: int) -> tuple[ErasureCurves, ...]:
    """A curve for each of `orders`, all at the same counts, so that a band can be drawn.

    Of several orders the mean line decides where they bend.
    """
    units = len(answers.encoding.units)
    possible, counts = curve_counts(units), set(first_counts(units))
    open_gaps = list(pairwise(possible.index(count) for count in metric_counts(units)))
    while open_gaps := [gap for gap in open_gaps if gap[1] - gap[0] > 1]:
        middles = {(low + high) // 2 for low, high in open_gaps}
        counts |= {possible[middle] for middle in middles}
        lines = _lines(answers, orders, label, tuple(sorted(counts)))
        bent = [gap for gap in open_gaps if _error(lines, possible, gap) > TOLERANCE]
        open_gaps = [half for low, high in bent for half in ((low, (low + high) // 2), ((low + high) // 2, high))]
    return tuple(erasure_curves(answers, order, label, tuple(sorted(counts))) for order in orders)


def _lines(
    answers: Answers, orders: Sequence[tuple[float, ...]], label: int, counts: tuple[int, ...]
) -> dict[int, Floats]:
    """By count p(label) when so many are removed and kept, the mean over the orders, (2,)."""
    masks = np.vstack([erasure_masks(order, counts, kept=True) for order in orders])
    p = answers.probabilities(masks)[:, label].reshape(len(orders), 2, len(counts)).mean(axis=0)
    return dict(zip(counts, p.T, strict=True))


def _error(lines: dict[int, Floats], possible: Sequence[int], gap: Gap) -> float:
    """How far the straight line over the gap is from the value in its middle."""
    low, middle, high = (possible[place] for place in (gap[0], sum(gap) // 2, gap[1]))
    share = (middle - low) / (high - low)
    return float(np.abs(lines[middle] - (1 - share) * lines[low] - share * lines[high]).max())
