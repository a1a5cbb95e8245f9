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
from scipy.stats import pearsonr, rankdata

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


def consistency(
    states: Floats, scores: Sequence[Sequence[float]], *, classes: Sequence[int] | None = None, seed: int = 0
) -> Interval | None:
    """CONS of the scores of n inputs with mean hidden states (n, d), and its 95 % bootstrap interval over inputs.

    With `classes`, one per input, only pairs of the same class count, and they are ranked within it: states differ most
    between classes, so an explanation that depends on the class alone is consistent too. None where all explanations,
    or all states, are equally far apart, so that ρ is not defined. Pairs of an input with itself, which resampling
    makes, do not count.
    Raises `ValueError` for fewer than three inputs.
    """
    if len(scores) < FEWEST:
        raise ValueError(f"Consistency compares pairs of at least {FEWEST} inputs.")
    of_states = squareform(pdist(np.asarray(states, dtype=float)))
    of_scores = squareform(pdist(np.stack([aligned(row) for row in scores])))
    groups = np.zeros(len(scores), dtype=np.int64) if classes is None else np.asarray(classes)
    whole = _correlation(of_states, of_scores, groups, np.arange(len(scores)))
    if np.isnan(whole):
        return None
    draws = np.random.default_rng(seed).integers(0, len(scores), (RESAMPLES, len(scores)))
    values = [_correlation(of_states, of_scores, groups, draw) for draw in draws]
    low, high = np.nanquantile(values, (0.025, 0.975))
    return Interval(whole, float(low), float(high), len(scores))


def _correlation(of_states: Floats, of_scores: Floats, groups: NDArray[np.int64], inputs: NDArray[np.int64]) -> float:
    """ρ over the pairs of different inputs of a group among `inputs`, ranked within the group; NaN if in no group both
    distances vary."""
    first, second = (inputs[each] for each in np.triu_indices(len(inputs), 1))
    counted = (first != second) & (groups[first] == groups[second])
    pairs, of_pairs = (first[counted], second[counted]), groups[first[counted]]
    ranked = []
    for group in np.unique(of_pairs):
        distances = [each[pairs][of_pairs == group] for each in (of_states, of_scores)]
        if min(map(np.ptp, distances)) > ROUNDING:
            ranked.append(np.stack([_ranks(each) for each in distances]))
    return float(pearsonr(*np.concatenate(ranked, axis=1)).statistic) if ranked else float("nan")


def _ranks(values: Floats) -> Floats:
    """From about -0.5 to 0.5, with mean 0, whatever the number of values."""
    ranks: Floats = (rankdata(values) - (len(values) + 1) / 2) / len(values)
    return ranks
