"""95 % bootstrap intervals over items (inputs, texts, examples, people's answers): the one bootstrap of the program.

Items are drawn with replacement, as many as there are, `RESAMPLES` times, and the interval lies between the percentiles
of what the resamples give (Efron and Tibshirani, 1993). A resample is a row of weights: how often it has each item. So
any statistic of weighted items is computed for all resamples at once, and what is computed from the same rows is
paired. `scipy.stats.bootstrap` draws the same resamples and gives the same interval of a mean; it refuses a single
item, has no interval where one resample is not defined, and cannot pair statistics.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RESAMPLES = 2000
BOUNDS = (0.025, 0.975)


@dataclass(frozen=True)
class Interval:
    """The value of the items themselves, between the bounds of the interval; `texts` is the number of items."""

    mean: float
    low: float
    high: float
    texts: int


def item_weights(items: int, *, seed: int = 0) -> Floats:
    """(1 + RESAMPLES, items): how often each item counts; once in the first row, as it was drawn in the others."""
    draws = np.random.default_rng(seed).integers(0, items, (RESAMPLES, items))
    places = draws + items * np.arange(RESAMPLES)[:, None]
    counts = np.bincount(places.ravel(), minlength=RESAMPLES * items).reshape(RESAMPLES, items)
    return np.vstack([np.ones((1, items)), counts])


def interval_of_rows(values: Floats, items: int) -> Interval:
    """The interval of a statistic of the rows of `item_weights`, (1 + RESAMPLES,). Resamples of which it is not
    defined (NaN) are left out."""
    resampled = values[1:][~np.isnan(values[1:])]
    low, high = np.quantile(resampled, BOUNDS) if len(resampled) else (values[0], values[0])
    return Interval(float(values[0]), float(low), float(high), items)


def mean_interval(values: Floats, *, seed: int = 0) -> Interval:
    """The mean of `values`, one per item, with its interval."""
    return interval_of_rows(item_weights(len(values), seed=seed) @ values / len(values), len(values))


def share_interval(values: Floats) -> Interval:
    """The share of ones among `values`, others being 0, with Wilson's interval, which does not vanish at 0 and 1."""
    from scipy.stats import binomtest

    bounds = binomtest(int(values.sum()), len(values)).proportion_ci(method="wilson")
    return Interval(float(values.mean()), float(bounds.low), float(bounds.high), len(values))


def wilson(yes: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share of `n` (Wilson, 1927)."""
    if n == 0:
        return float("nan"), float("nan")
    z, share = 1.96, yes / n
    middle, half = share + z**2 / (2 * n), z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return float((middle - half) / (1 + z**2 / n)), float((middle + half) / (1 + z**2 / n))


def difference_interval(values: Floats, others: Floats, *, seed: int = 0) -> Interval:
    """The mean of `values` minus that of `others`, paired by item, with its interval."""
    return mean_interval(values - others, seed=seed)


def statistic_interval(statistic: Callable[[Floats], Floats], items: int, *, seed: int = 0) -> Interval:
    """The interval of a statistic that takes rows of weights, (R, items), and returns a value for each, (R,)."""
    return interval_of_rows(statistic(item_weights(items, seed=seed)), items)
