"""The one test against random orders: does an order of units do better than chance?

    T = AOPC-C − AOPC-S = mean over K of p(only the top K %) − p(without the top K %)
    p = (1 + #{random orders with T ≥ its T}) / (R + 1)          a permutation test, exact for every number R of orders

For short inputs T is known for every order, because the metrics read few sets of units (`exact_null`); then
p = #{orders with T ≥ its T} / #{orders}, its own among them.

Several methods are tested one after the other in an order that does not depend on T, and the first that fails ends the
test (`fixed_sequence`). The probability that any of them passes by luck is at most 5 %, however they depend on each
other (Maurer, Hothorn and Lehmacher, 1995). `Null` has p and the level.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from explainers.metrics import erasure, faithfulness
from explainers.results.answer import Null
from explainers.results.attribution import PERCENTS, top_count

EXACT_UP_TO = 8  # units: 256 masks, which methods that sample ask in any case
FEWEST_UNITS = 5  # with fewer there are so few orders that even the best one has p > 5 %

Floats = NDArray[np.float64]


def evidence(metrics: Mapping[str, float]) -> float:
    """Return T of an order from its metrics by id; NaN where one of them is not defined."""
    removing, keeping = faithfulness.decisive_metric("removing"), faithfulness.decisive_metric("keeping")
    return sum(metric.sign * metrics.get(metric.id, math.nan) for metric in (removing, keeping))


def sampled_null(scores: Mapping[str, Sequence[float]]) -> Null:
    """Return the null of random orders with these metrics, by id a value per order."""
    metrics = [faithfulness.decisive_metric("removing").id, faithfulness.decisive_metric("keeping").id]
    values = zip(*(scores.get(metric, ()) for metric in metrics), strict=True)
    evidences = (evidence(dict(zip(metrics, pair, strict=True))) for pair in values)
    return Null(tuple(value for value in evidences if not math.isnan(value)))


def exact_null(answers: erasure.MaskedPredictor, label: int) -> Null:
    """Return T of every order of the units, each different one as often as the others.

    The metrics read nested sets of the top units only, so that an order counts as the chain of these sets.
    """
    units = len(answers.encoding.units)
    counts = sorted({top_count(units, percent) for percent in PERCENTS})
    weights = {count: sum(top_count(units, percent) == count for percent in PERCENTS) for count in counts}
    gains = {count: _gains(answers, units, count, label) for count in counts}
    return Null(
        tuple(
            sum(weights[len(top)] * gains[len(top)][top] for top in chain) / len(PERCENTS)
            for chain in _chains(tuple(range(units)), counts)
        ),
        exact=True,
    )


def fixed_sequence(order: Iterable[str], passes: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the first of `order`, up to the first that does not pass."""
    result: list[str] = []
    for name in order:
        if not passes(name):
            break
        result.append(name)
    return tuple(result)


Units = tuple[int, ...]


def _gains(answers: erasure.MaskedPredictor, units: int, count: int, label: int) -> dict[Units, float]:
    """Return, for each set of `count` units, p(only they are kept) − p(they are removed)."""
    sets = list(combinations(range(units), count))
    kept = np.zeros((len(sets), units), dtype=bool)
    for row, members in enumerate(sets):
        kept[row, list(members)] = True
    p = answers.probabilities(np.vstack([kept, ~kept]))[:, label]
    return dict(zip(sets, (p[: len(sets)] - p[len(sets) :]).tolist(), strict=True))


def _chains(units: Units, counts: Sequence[int]) -> Iterator[tuple[Units, ...]]:
    """Return every chain of nested sets of `units` with these sizes, in ascending order; each once."""
    *smaller, largest = counts
    for top in combinations(units, largest):
        if not smaller:
            yield (top,)
        else:
            for chain in _chains(top, smaller):
                yield (*chain, top)
