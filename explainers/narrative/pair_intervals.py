"""Shares of ordered pairs of examples, with 95 % intervals.

Pairs that share an example are not independent, so the examples are drawn anew and not the pairs: with w_i the number
of times that example i is drawn, the share is Σ w_i w_j hit_ij / Σ w_i w_j over the pairs that count.
"""

import numpy as np
from numpy.typing import NDArray

from explainers.metrics.intervals import Interval

RESAMPLES = 1000


def over_pairs(hits: NDArray[np.bool_], counted: NDArray[np.bool_], *, seed: int = 0) -> Interval:
    """The share of `hits` (n, n) among the pairs that are `counted` (n, n); at least one must be."""
    n = len(hits)
    draws = np.random.default_rng(seed).multinomial(n, [1 / n] * n, RESAMPLES).astype(float)  # (R, n)
    weights = np.vstack([np.ones((1, n)), draws])  # the first row is the sample itself
    met = np.einsum("rn,rn->r", weights @ (hits & counted), weights)
    all_of = np.einsum("rn,rn->r", weights @ counted, weights)
    shares = met[all_of > 0] / all_of[all_of > 0]
    low, high = np.quantile(shares[1:], (0.025, 0.975)) if len(shares) > 1 else (shares[0], shares[0])
    return Interval(float(shares[0]), float(low), float(high), int(counted.sum()))
