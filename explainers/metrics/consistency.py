"""CONS: whether inputs that the model represents alike are explained alike (Xie et al., 2024, Eq. 12).

Spearman's ρ, over all pairs of inputs, between the distance of their mean hidden states and the distance of their
explanations. Explanations of different lengths are compared by rank at the same relative positions, each with mean 0
and length 1. Otherwise random scores would count as consistent: the ranks of few units vary more than those of many,
and hidden states depend on the length too.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from scipy.stats import rankdata, spearmanr

from explainers.metrics.intervals import Interval

ID, NAME = "cons", "CONS"
FEWEST = 3  # inputs
LENGTH = 32  # positions at which explanations are compared
RESAMPLES = 200
ROUNDING = 1e-9

Floats = NDArray[np.float64]


def aligned(scores: Sequence[float]) -> Floats:
    """The ranks of an input's scores at `LENGTH` relative positions, linear between units: (LENGTH,).

    They have mean 0 and length 1; all are 0 where every score is the same.
    """
    ranks = np.interp(np.linspace(0, 1, LENGTH), np.linspace(0, 1, len(scores)), rankdata(scores))
    centred: Floats = ranks - ranks.mean()
    size = float(np.linalg.norm(centred))
    return centred / size if size > ROUNDING else np.zeros(LENGTH)


def consistency(states: Floats, scores: Sequence[Sequence[float]], *, seed: int = 0) -> Interval | None:
    """CONS of the scores of n inputs with mean hidden states (n, d), and its 95 % bootstrap interval over inputs.

    None where all explanations, or all states, are equally far apart, so that ρ is not defined. Pairs of an input
    with itself, which resampling makes, do not count. Raises `ValueError` for fewer than three inputs.
    """
    if len(scores) < FEWEST:
        raise ValueError(f"Consistency compares pairs of at least {FEWEST} inputs.")
    of_states = squareform(pdist(np.asarray(states, dtype=float)))
    of_scores = squareform(pdist(np.stack([aligned(row) for row in scores])))
    pairs = np.triu_indices(len(scores), 1)
    if min(np.ptp(of_scores[pairs]), np.ptp(of_states[pairs])) <= ROUNDING:
        return None
    draws = np.random.default_rng(seed).integers(0, len(scores), (RESAMPLES, len(scores)))
    values = [_correlation(of_states, of_scores, draw) for draw in draws]
    low, high = np.nanquantile(values, (0.025, 0.975))
    whole = _correlation(of_states, of_scores, np.arange(len(scores)))
    return Interval(whole, float(low), float(high), len(scores))


def _correlation(of_states: Floats, of_scores: Floats, inputs: NDArray[np.int64]) -> float:
    """ρ over the pairs of different inputs among `inputs`; NaN if one side does not vary."""
    first, second = (inputs[each] for each in np.triu_indices(len(inputs), 1))
    different = first != second
    pairs = (first[different], second[different])
    if not different.any() or min(np.ptp(of_scores[pairs]), np.ptp(of_states[pairs])) <= ROUNDING:
        return float("nan")
    return float(spearmanr(of_states[pairs], of_scores[pairs]).statistic)
