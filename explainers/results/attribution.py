"""What every method answers with. Sign and range are data here, never guessed by a view.

Probabilities along an erasure order: units removed from the highest score down, and kept alone.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, PlainSerializer

from explainers.models.inputs.encoding import Encoding

Stage = Literal["estimate", "final"]


@dataclass(frozen=True)
class Attribution:
    """One score per unit of `encoding` for class number `label`; positive signed scores support the class.

    `spread` is the standard deviation of each score that sampling alone would cause, `draws` are equally likely
    alternative scores from which it is estimated; `gap` is |Σ scores - (f(x) - f(baseline))|. `model_calls` are the
    answers that it used, `new_calls` those of them that had to be computed; None where that was not recorded.
    """

    method: str
    encoding: Encoding
    label: int
    scores: tuple[float, ...]
    signed: bool
    spread: tuple[float, ...] = ()
    draws: tuple[tuple[float, ...], ...] = ()
    gap: float | None = None
    samples: int = 0
    samples_at_most: int | None = None  # where sampling ends by itself
    ended_early: bool = False  # because there was no more time for it
    stage: Stage = "final"
    seconds: float = 0.0
    model_calls: int = 0
    new_calls: int | None = None

    def __post_init__(self) -> None:
        scores, units = len(self.scores), len(self.encoding.units)
        if scores != units:
            raise ValueError(f"{self.method} gave {scores} scores for {units} units")
        if not np.isfinite(self.scores).all():
            raise ValueError(f"{self.method} gave scores that are not finite: {self.scores}")

    @property
    def image_share(self) -> float | None:
        """Σ|s| over patches divided by Σ|s| over all units, 0…1; None where every score is 0."""
        sizes = np.abs(self.scores)
        patches = [number for number, unit in enumerate(self.encoding.units) if unit.kind == "patch"]
        return float(sizes[patches].sum() / sizes.sum()) if sizes.any() else None

    def ended(self) -> "Attribution":
        """Return this estimate as the result, because there is no more time for better ones."""
        return replace(self, stage="final", ended_early=True)

    def costing(self, seconds: float, model_calls: int, new_calls: int) -> "Attribution":
        return replace(self, seconds=seconds, model_calls=model_calls, new_calls=new_calls)


def ranking(scores: tuple[float, ...]) -> NDArray[np.int64]:
    """Unit numbers from the highest score to the lowest; equal scores stay in the order of the text."""
    return np.argsort(-np.asarray(scores, dtype=float), kind="stable")


def floats(values: object) -> tuple[float, ...]:
    """Plain numbers, so that results can be cached, compared and written as JSON."""
    return tuple(float(value) for value in np.asarray(values, dtype=float).reshape(-1))


Floats = NDArray[np.float64]


def _rows(values: object) -> Floats:
    rows = np.asarray(values, dtype=float)
    if rows.size and rows.ndim != 2:
        raise ValueError("a curve has a row of probabilities per count")
    return rows


Curve = Annotated[Floats, BeforeValidator(_rows), PlainSerializer(np.ndarray.tolist, return_type=list[list[float]])]

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

    Between the counts a curve is drawn as a straight line; see `explainers.metrics.faithfulness` for where they lie.
    `kept` is empty where only removal was computed. `label` is the class that the metrics read.
    """

    counts: tuple[int, ...]
    removed: Curve  # (len(counts), C)
    kept: Curve  # (len(counts), C)
    label: int

    @property
    def units(self) -> int:
        return self.counts[-1]

    @property
    def only_ends(self) -> bool:
        """Return whether nothing between its ends was measured, which are those of every order."""
        return len(self.counts) <= min(self.units, 2)

    @property
    def shares(self) -> Floats:
        """`counts` as shares of all units, 0…1."""
        return np.asarray(self.counts) / max(self.units, 1)

    def when_removed(self, percent: float) -> float:
        """p(label) without the top `percent` % of the units."""
        return self.removed_at(top_count(self.units, percent))

    def when_kept(self, percent: float) -> float:
        """p(label) with only the top `percent` % of the units."""
        return self.kept_at(top_count(self.units, percent))

    def removed_at(self, count: int) -> float:
        """p(label) without the `count` highest-scored units, one of `counts`."""
        return float(self.removed[self.counts.index(count), self.label])

    def kept_at(self, count: int) -> float:
        """p(label) with only the `count` highest-scored units, one of `counts`."""
        return float(self.kept[self.counts.index(count), self.label])

    @property
    def full(self) -> float:
        """p(label) of the whole input."""
        return float(self.removed[0, self.label])

    @property
    def reverse(self) -> tuple[Floats, Floats]:
        """Shares, and p(label) when the lowest-scored units are removed first; read off `kept`."""
        return 1 - self.shares[::-1], self.kept[::-1, self.label]
