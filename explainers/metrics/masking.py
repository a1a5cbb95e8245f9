"""The one experiment behind every faithfulness figure: erase units in the order of an explanation and ask the model.

`removed[i]` are the probabilities when the `counts[i]` highest-scored units are erased, `kept[i]` when only these are
left. Special tokens always stay.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from explainers.explanation import ranking
from explainers.models.encoding import Encoding, Erasure

if TYPE_CHECKING:
    from explainers.models.classifier import FrozenModel

Floats = NDArray[np.float64]

PERCENTS = (1, 5, 10, 20, 50)
EVERY_COUNT_UP_TO = 60  # units; longer texts are drawn in steps of 2 %


def top(units: int, percent: float) -> int:
    """k = max(1, ⌈n·K/100⌉), and 0 where nothing can be removed."""
    return min(units, max(1, int(np.ceil(units * percent / 100 - 1e-9))))


def counts(units: int) -> tuple[int, ...]:
    """How many units are erased at each point: all counts, or for long texts every 2 % and the counts of `PERCENTS`."""
    if units <= EVERY_COUNT_UP_TO:
        return tuple(range(units + 1))
    steps = {round(units * step / 50) for step in range(51)}
    return tuple(sorted(steps | {top(units, percent) for percent in PERCENTS}))


@dataclass(frozen=True)
class MaskingPath:
    counts: tuple[int, ...]
    removed: Floats  # (len(counts), C)
    kept: Floats  # (len(counts), C)
    label: int

    @property
    def units(self) -> int:
        return self.counts[-1]

    @property
    def shares(self) -> Floats:
        return np.asarray(self.counts) / max(self.units, 1)

    def when_removed(self, percent: float) -> float:
        """p(label) without the top `percent` % of the units."""
        return float(self.removed[self.counts.index(top(self.units, percent)), self.label])

    def when_kept(self, percent: float) -> float:
        """p(label) with only the top `percent` % of the units."""
        return float(self.kept[self.counts.index(top(self.units, percent)), self.label])

    @property
    def full(self) -> float:
        return float(self.removed[0, self.label])

    @property
    def reverse(self) -> tuple[Floats, Floats]:
        """p(label) when the lowest-scored units are erased first, at the shares where it is known: no further pass."""
        return 1 - self.shares[::-1], self.kept[::-1, self.label]


@dataclass
class Asked:
    """A model and what it has already answered about one encoding, so that no mask is computed twice in a run."""

    model: "FrozenModel"
    encoding: Encoding
    erasure: Erasure
    answers: dict[bytes, Floats] = field(default_factory=dict)

    def probabilities(self, keeps: NDArray[np.bool_]) -> Floats:
        keys = [row.tobytes() for row in keeps]
        new = list({key: row for row, key in enumerate(keys) if key not in self.answers}.values())
        if new:
            found = self.model.probabilities(self.encoding, keeps[new], self.erasure)
            self.answers.update(zip((keys[row] for row in new), found, strict=True))
        return np.stack([self.answers[key] for key in keys])


def masking_path(
    asked: Asked, scores: tuple[float, ...], label: int, at: tuple[int, ...] | None = None, *, kept: bool = True
) -> MaskingPath:
    """Erases in the order of `scores`, at all `counts` of the text or only at those in `at`.

    Without `kept` only removal is asked, and the path's `kept` is empty.
    """
    units = len(scores)
    points = at if at is not None else counts(units)
    found = asked.probabilities(masks_of(scores, points, kept=kept))
    return MaskingPath(points, found[: len(points)], found[len(points) :], label)


def masks_of(scores: tuple[float, ...], points: tuple[int, ...], *, kept: bool) -> NDArray[np.bool_]:
    """What is left without the highest-scored units, a row per point, and with `kept` then what is left with only them:
    (points or 2·points, units), true = kept."""
    place = np.empty(len(scores), dtype=int)
    place[ranking(scores)] = np.arange(len(scores))  # 0 = the highest score
    tops = place[None, :] < np.asarray(points)[:, None]  # (points, units)
    return np.vstack([~tops, tops]) if kept else ~tops
