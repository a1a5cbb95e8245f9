"""Means with 95 % paired-bootstrap intervals over texts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    mean: float
    low: float
    high: float
    texts: int


def paired(values: NDArray[np.float64], *, seed: int = 0) -> Interval:
    """The mean and its 95 % bootstrap interval over texts (n,)."""
    draws = np.random.default_rng(seed).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), (0.025, 0.975))
    return Interval(float(values.mean()), float(low), float(high), len(values))
