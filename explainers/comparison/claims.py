"""The opposite claims of two attributions of one decision: units that one ranks high and the other low."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explainers.methods.registry import method_spec
from explainers.results.answer import Units
from explainers.results.attribution import Attribution, top_count

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison


Pair = tuple[str, str]  # ids of two methods
HIGH = 20  # percent


def can_duel(comparison: "Comparison", method: str) -> bool:
    """Return whether it ranks units by what it read off the model, or by a person's order, for the explained class."""
    spec, label = method_spec(method), comparison.decision.label
    labels = {result.attribution.method: result.attribution.label for result in comparison.results}
    return labels.get(method) == label and not (spec.is_random or spec.is_single_part or spec.is_joint)


def duel_candidates(comparison: "Comparison") -> Iterator[Pair]:
    """Yield the pairs of methods that are better than chance and may duel."""
    answer = comparison.answer
    named = answer.better_than_chance if answer is not None else ()
    yield from combinations([method for method in named if can_duel(comparison, method)], 2)


def opposite_claims(first: Attribution, second: Attribution, size: int) -> tuple[Units, Units] | None:
    """The first `size` claims of either side, its highest ones first; None where one of them has fewer.

    First those that the other side ranks in its lower half, then those that it does not rank among its first.
    """
    units = len(first.scores)
    high = max(size, top_count(units, HIGH))
    for low in (max(high, units / 2), high):
        claims = _claims(first, second, high, low), _claims(second, first, high, low)
        if min(map(len, claims)) >= size:
            return claims[0][:size], claims[1][:size]
    return None


def _claims(ours: Attribution, theirs: Attribution, high: float, low: float) -> Units:
    rank, other = mean_ranks(ours.scores), mean_ranks(theirs.scores)
    positive = np.asarray(ours.scores) > 0
    claimed = np.flatnonzero(positive & (rank < high) & (other >= low))
    return tuple(int(unit) for unit in sorted(claimed, key=lambda unit: (rank[unit], -other[unit])))


def mean_ranks(scores: Sequence[float]) -> NDArray[np.float64]:
    """0 for the highest score; equal scores share the mean of their ranks."""
    from scipy.stats import rankdata  # takes a while, and the page does not need it

    ranks: NDArray[np.float64] = rankdata(-np.asarray(scores, dtype=float), method="average") - 1
    return ranks
