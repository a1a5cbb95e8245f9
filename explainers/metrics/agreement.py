"""How much explanations agree: two of one decision, and those of many inputs with what the model represents.

Two explanations of one decision are compared by their ranks, their strongest units and their signs.

CONS compares many: are inputs that the model represents alike explained alike (Xie et al., 2024, Eq. 12)? It is
Spearman's ρ, over all pairs of inputs, between the distance of their mean hidden states and the distance of their
explanations. Explanations of different lengths are compared by rank at the same relative positions, each with mean 0
and length 1. Otherwise random scores would count as consistent: the ranks of few units vary more than those of many,
and hidden states depend on the length too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explainers.metrics.bootstrap import Floats, Interval, statistic_interval
from explainers.results.attribution import ranking, top_count

ID, NAME = "cons", "CONS"
FEWEST = 3  # inputs
LENGTH = 32  # positions at which explanations are compared
ROUNDING = 1e-9
AT_ONCE = 2_000_000  # weights of pairs, of as many resamples as they are for
Scores = tuple[float, ...]


def spearman(one: Scores, other: Scores) -> float:
    """ρ of the ranks; 0 where one of them is constant, because it ranks nothing; NaN (not defined) with one unit."""
    from scipy.stats import rankdata  # takes a while, and the page does not need it

    if len(one) < 2:
        return float("nan")
    first, second = rankdata(one), rankdata(other)
    if first.std() == 0 or second.std() == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def kendall(one: Scores, other: Scores) -> float:
    """τ-b; 0 where one of them is constant, NaN with one unit."""
    from scipy.stats import kendalltau

    if len(one) < 2:
        return float("nan")
    constant = len(set(one)) == 1 or len(set(other)) == 1
    return 0.0 if constant else float(kendalltau(one, other).statistic)


def top_overlap(one: Scores, other: Scores, percent: float = 20) -> float:
    """The share of each one's top `percent` % that is in the other's too."""
    cut = top_count(len(one), percent)
    return len(set(ranking(one)[:cut]) & set(ranking(other)[:cut])) / cut


def sign_agreement(one: Scores, other: Scores) -> float:
    """The share of units whose scores have the same sign in both; only meaningful for signed scores."""
    return float(np.mean(np.sign(one) == np.sign(other)))


@dataclass(frozen=True)
class Agreement:
    id: str
    name: str
    score: Callable[[Scores, Scores], float]
    signed_only: bool = False


AGREEMENTS = (
    Agreement("spearman", "Spearman's ρ of ranks", spearman),
    Agreement("kendall", "Kendall's τ of ranks", kendall),
    Agreement("overlap", "Overlap of the top 20 %", top_overlap),
    Agreement("sign", "Same sign", sign_agreement, signed_only=True),
)


def aligned(scores: Sequence[float]) -> Floats:
    """The ranks of an input's scores at `LENGTH` relative positions, linear between units: (LENGTH,).

    They have mean 0 and length 1; all are 0 where every score is the same.
    """
    from scipy.stats import rankdata

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
    from scipy.spatial.distance import pdist

    if len(scores) < FEWEST:
        raise ValueError(f"Consistency compares pairs of at least {FEWEST} inputs.")
    groups = np.zeros(len(scores), dtype=np.int64) if classes is None else np.asarray(classes)
    first, second = np.triu_indices(len(scores), 1)
    distances = pdist(np.asarray(states, dtype=float)), pdist(np.stack([aligned(row) for row in scores]))
    members = [
        _PairsOfGroup(first[same], second[same], *(_Ordered.of(distance[same]) for distance in distances))
        for group in np.unique(groups)
        if (same := (groups[first] == group) & (groups[second] == group)).any()
    ]
    interval = statistic_interval(lambda weights: _correlations(members, weights), len(scores), seed=seed)
    return None if np.isnan(interval.mean) else interval


@dataclass(frozen=True)
class _Ordered:
    """Values in ascending order, where each came from, and where each run of equal values begins."""

    values: Floats
    order: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, values: Floats) -> "_Ordered":
        order = np.argsort(values, kind="stable")
        ascending = values[order]
        return cls(ascending, order, np.flatnonzero(np.r_[True, ascending[1:] != ascending[:-1]]))

    def ranks(self, weights: Floats) -> Floats:
        """Mean ranks of the values when each counts so often, (R, n): from about -0.5 to 0.5, with mean 0."""
        counts = np.add.reduceat(weights[:, self.order], self.starts, axis=1)  # of equal values together
        total = counts.sum(axis=1, keepdims=True)
        middle = counts.cumsum(axis=1) - (counts - 1) / 2
        of_runs = (middle - (total + 1) / 2) / np.maximum(total, 1)
        ranks = np.empty_like(weights)
        ranks[:, self.order] = np.repeat(of_runs, np.diff(np.r_[self.starts, len(self.order)]), axis=1)
        return ranks

    def vary(self, weights: Floats) -> NDArray[np.bool_]:
        """Return whether the values that count differ, (R,)."""
        counted = weights[:, self.order] > 0
        lowest, highest = counted.argmax(axis=1), len(self.order) - 1 - counted[:, ::-1].argmax(axis=1)
        vary: NDArray[np.bool_] = counted.any(axis=1) & (self.values[highest] - self.values[lowest] > ROUNDING)
        return vary


@dataclass(frozen=True)
class _PairsOfGroup:
    """The pairs of different inputs of one group, with both distances."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    of_states: _Ordered
    of_scores: _Ordered

    def moments(self, weights: Floats) -> Floats:
        """Sums of the products of both ranks, and of each one's squares, over the pairs, (3, R) for weights of the
        inputs (R, n); zeros where one of the distances does not vary."""
        pairs = weights[:, self.first] * weights[:, self.second]
        counts = pairs * (self.of_states.vary(pairs) & self.of_scores.vary(pairs))[:, None]
        one, other = self.of_states.ranks(pairs), self.of_scores.ranks(pairs)
        products = one * other, one * one, other * other
        return np.stack([np.einsum("rp,rp->r", counts, product) for product in products])


def _correlations(groups: Sequence[_PairsOfGroup], weights: Floats) -> Floats:
    """ρ for each row of weights of the inputs, over the pairs of all groups, ranked within each; NaN where in no group
    both distances vary."""
    rows = max(1, AT_ONCE // max((len(group.first) for group in groups), default=1))
    moments = np.zeros((3, len(weights)))
    for start in range(0, len(weights), rows):
        part = slice(start, start + rows)
        for group in groups:
            moments[:, part] += group.moments(weights[part])
    product, one, other = moments
    size = np.sqrt(one * other)
    correlations: Floats = np.divide(product, size, out=np.full(len(weights), np.nan), where=size > 0)
    return correlations
