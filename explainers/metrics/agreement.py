"""How much two explanations of the same decision agree: by ranks, by their strongest units, by sign."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau, rankdata

from explainers.results.attribution import ranking
from explainers.results.erasure_curves import top_count

Scores = tuple[float, ...]


def spearman(one: Scores, other: Scores) -> float:
    """ρ of the ranks; 0 where one of them is constant, because it ranks nothing; NaN (not defined) with one unit."""
    if len(one) < 2:
        return float("nan")
    first, second = rankdata(one), rankdata(other)
    if first.std() == 0 or second.std() == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def kendall(one: Scores, other: Scores) -> float:
    """τ-b; 0 where one of them is constant, NaN with one unit."""
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
