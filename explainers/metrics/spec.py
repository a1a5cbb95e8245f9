"""What is known about a faithfulness metric: its direction, how it is printed, and how it is measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from explainers.results.attribution import ErasureCurves

CurvesAt = Callable[[tuple[int, ...]], ErasureCurves]


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


@dataclass(frozen=True)
class MetricSpec:
    """A number read off erasure curves; NaN where it is not defined.

    `every_count`: the metric needs the curve at every count of units, not only at `PERCENTS`; `search`, if given, finds
    the same value with fewer counts. `noise` is what may decide between two methods: the spread of a sampling method's
    scores, or the resolution of the metric, a step of the curve.
    """

    id: str
    name: str
    score: Callable[[ErasureCurves], float]
    higher_is_better: bool
    meaning: str
    places: int = 3  # decimals
    aggregate: Callable[[Sequence[float]], float] = mean  # over random orders and over inputs
    every_count: bool = False
    search: Callable[[CurvesAt, tuple[int, ...]], float] | None = None  # from curves, and the counts to search
    noise: Literal["sampling", "resolution"] = "sampling"
    validated: bool = False  # measured after every epoch while a method is trained
    decides: Literal["", "removing", "keeping"] = ""  # the experiment for which an answer is tested by it

    @property
    def sampling_noise(self) -> bool:
        """Return whether the spread of a sampling method's scores carries over to the metric."""
        return self.noise == "sampling"

    @property
    def arrow(self) -> str:
        return "↑" if self.higher_is_better else "↓"

    @property
    def sign(self) -> int:
        """1 where higher is better, else -1."""
        return 1 if self.higher_is_better else -1
