"""Probabilities along an erasure order: units removed from the highest score down, and kept alone."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PERCENTS = (1, 5, 10, 20, 50)  # ERASER's K (DeYoung et al., 2020)
EVERY_COUNT_UP_TO = 60  # units; longer inputs are sampled in steps of 2 %


def top_count(units: int, percent: float) -> int:
    """k = max(1, ⌈n·K/100⌉), never more than n."""
    return min(units, max(1, int(np.ceil(units * percent / 100 - 1e-9))))


def curve_counts(units: int) -> tuple[int, ...]:
    """Counts of erased units at which a curve is sampled: all, for long inputs every 2 % and those of `PERCENTS`."""
    if units <= EVERY_COUNT_UP_TO:
        return tuple(range(units + 1))
    steps = {round(units * step / 50) for step in range(51)}
    return tuple(sorted(steps | {top_count(units, percent) for percent in PERCENTS}))


def metric_counts(units: int) -> tuple[int, ...]:
    """The counts that the metrics at `PERCENTS` read, with both ends."""
    return tuple(sorted({0, units, *(top_count(units, percent) for percent in PERCENTS)}))


def first_counts(units: int) -> tuple[int, ...]:
    """Those of `metric_counts` and the middle of every gap: where every curve of a comparison is measured."""
    possible = curve_counts(units)
    places = [possible.index(count) for count in metric_counts(units)]
    middles = {(low + high) // 2 for low, high in pairwise(places)}
    return tuple(possible[place] for place in sorted({*places, *middles}))


@dataclass(frozen=True)
class ErasureCurves:
    """Class probabilities when the `counts[i]` highest-scored units are removed, and when only they are kept.

    Between the counts a curve is drawn as a straight line; see `explainers.metrics.refined_curves` for where they lie.
    `kept` is empty where only removal was computed. `label` is the class that the metrics read.
    """

    counts: tuple[int, ...]
    removed: Floats  # (len(counts), C)
    kept: Floats  # (len(counts), C)
    label: int

    @property
    def units(self) -> int:
        return self.counts[-1]

    @property
    def shares(self) -> Floats:
        """`counts` as shares of all units, 0…1."""
        return np.asarray(self.counts) / max(self.units, 1)

    def when_removed(self, percent: float) -> float:
        """p(label) without the top `percent` % of the units."""
        return float(self.removed[self.counts.index(top_count(self.units, percent)), self.label])

    def when_kept(self, percent: float) -> float:
        """p(label) with only the top `percent` % of the units."""
        return float(self.kept[self.counts.index(top_count(self.units, percent)), self.label])

    @property
    def full(self) -> float:
        """p(label) of the whole input."""
        return float(self.removed[0, self.label])

    @property
    def reverse(self) -> tuple[Floats, Floats]:
        """Shares, and p(label) when the lowest-scored units are removed first; read off `kept`."""
        return 1 - self.shares[::-1], self.kept[::-1, self.label]
