"""Which metric deserves trust: whether what it prefers is what is true, on inputs whose truth was planted.

A candidate is a number per explanation, higher is better, read off the curves of one operator or averaged over them:

    C, -S        AOPC-C, minus AOPC-S
    T            AOPC-C minus AOPC-S
    log-odds     minus the change of ln p(class) when the top 20 % are erased
    C K, -S K, T K   the same at one size K alone
    T normalised     C and S as shares of what a greedy search finds possible on the input (mask, every 5th input)

Normalising C alone, or S alone, changes no order within an input, so it needs no row of its own.

    with the truth  Spearman's ρ within an input between the candidate and the truth (AUC; precision) over the methods
    diagnosticity   P(the true order is preferred to a random one), ties count half
    degraded        the share of neighbouring levels of damage that come in the right order, ties count half
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from explainers.metrics.bootstrap import Interval, mean_interval
from explainers.results.attribution import PERCENTS
from explainers.studies.planted.measure import DRAWS, SHARES, UNIT_OF_P, Row
from explainers.studies.planted.truth import MEASURES, Floats, at_percents

Candidate = Callable[[Floats, float], Floats]  # of p at `PERCENTS`, removed and kept (orders, 2, 5), and p of the input
AVERAGED = "all operators"
SIZES = (1, 10, 20, 50)  # percent, alone; on inputs of up to 20 units 5 % is one unit, as 1 % is


def _c(p: Floats, full: float) -> Floats:
    return full - p[:, 0]


def _s(p: Floats, full: float) -> Floats:
    return full - p[:, 1]


def candidates() -> dict[str, Candidate]:
    """Candidates by name; each gives (orders,), higher is better."""
    whole: dict[str, Candidate] = {
        "C": lambda p, full: _c(p, full).mean(axis=1),
        "-S": lambda p, full: -_s(p, full).mean(axis=1),
        "T": lambda p, full: (_c(p, full) - _s(p, full)).mean(axis=1),
        "log-odds": lambda p, full: np.log(full) - np.log(np.maximum(p[:, 0, PERCENTS.index(20)], 1 / UNIT_OF_P)),
    }
    for place, percent in ((PERCENTS.index(size), size) for size in SIZES):
        whole[f"C {percent} %"] = lambda p, full, place=place: _c(p, full)[:, place]  # type: ignore[misc]
        whole[f"-S {percent} %"] = lambda p, full, place=place: -_s(p, full)[:, place]  # type: ignore[misc]
        whole[f"T {percent} %"] = lambda p, full, place=place: (_c(p, full) - _s(p, full))[:, place]  # type: ignore[misc]
    return whole


def candidate_values(row: Row, lines: Mapping[str, Sequence[Sequence[int]]]) -> dict[str, Floats]:
    """Map each "candidate, operator" to the value of every order; `lines` are their curves by operator."""
    full = row["p"] / UNIT_OF_P
    by_candidate: dict[str, Floats] = {}
    for name, candidate in candidates().items():
        by_operator = {erasure: candidate(at_percents(some, row["units"]), full) for erasure, some in lines.items()}
        by_candidate |= {f"{name}, {erasure}": value for erasure, value in by_operator.items()}
        by_candidate[f"{name}, {AVERAGED}"] = np.mean(
            [value[: _fewest(by_operator)] for value in by_operator.values()], axis=0
        )
    if "limits" in row:
        by_candidate["T normalised, mask"] = _normalised(row, at_percents(lines["mask"], row["units"]), full)
    return by_candidate


def _fewest(values: Mapping[str, Floats]) -> int:
    """How many orders every operator has: the first ones are the same."""
    return min(map(len, values.values()))


def _normalised(row: Row, p: Floats, full: float) -> Floats:
    """C and S of every order as shares of the way from the worst to the best that greedy search finds."""
    low, high, keep_low, keep_high = (
        at_percents([[*row["limits"]["mask"][name]] * 2], row["units"])[0, 0].mean()
        for name in ("remove low", "remove high", "keep low", "keep high")
    )
    removed, kept = p[:, 0].mean(axis=1), p[:, 1].mean(axis=1)
    comp = (high - removed) / max(high - low, 1 / UNIT_OF_P)
    suff = (kept - keep_low) / max(keep_high - keep_low, 1 / UNIT_OF_P)
    return np.asarray(comp + suff)


def within_input(rows: Sequence[Row], measure: str) -> dict[str, list[float]]:
    """Map each candidate to Spearman's ρ with the truth over the methods, one per input where both differ."""
    by_candidate: dict[str, list[float]] = {}
    for row in rows:
        methods = list(row["scores"])
        truth = np.array([MEASURES[measure](row["scores"][method], row["planted"]) for method in methods])
        if len(set(truth.tolist())) == 1:
            continue
        lines = {erasure: [some[method] for method in methods] for erasure, some in row["curves"].items()}
        for name, value in candidate_values(row, lines).items():
            by_candidate.setdefault(name, []).append(_spearman(truth, value))
    return by_candidate


def _spearman(one: Floats, other: Floats) -> float:
    """0 where one of them is constant."""
    first, second = rankdata(one), rankdata(np.round(other, 6))
    return float(np.corrcoef(first, second)[0, 1]) if first.std() and second.std() else 0.0


def diagnosticity(rows: Sequence[Row]) -> dict[str, list[float]]:
    """For each candidate and input the share of random orders that the true order beats, ties count half."""
    by_candidate: dict[str, list[float]] = {}
    for row in rows:
        lines = {erasure: [row["degraded"][erasure][0], *some] for erasure, some in row["random"].items()}
        for name, value in candidate_values(row, lines).items():
            by_candidate.setdefault(name, []).append(float(_preferred(value[0], value[1:]).mean()))
    return by_candidate


def _preferred(one: float, others: Floats) -> NDArray[np.float64]:
    rounded = np.round(others - one, 6)
    return np.where(rounded < 0, 1.0, np.where(rounded == 0, 0.5, 0.0))


def degradation(rows: Sequence[Row]) -> dict[str, list[float]]:
    """For each candidate and input the share of neighbouring levels in the right order, draw by draw; ties half."""
    by_candidate: dict[str, list[float]] = {}
    for row in rows:
        for name, value in candidate_values(row, row["degraded"]).items():
            levels = [value[:1].repeat(DRAWS), *np.split(value[1:], len(SHARES) - 1)]
            steps = [_preferred(0.0, after - before) for before, after in pairwise(levels)]
            by_candidate.setdefault(name, []).append(float(np.mean(steps)))
    return by_candidate


def intervals(by_candidate: Mapping[str, Iterable[float]]) -> dict[str, Interval]:
    """For each candidate the mean and its interval over inputs."""
    return {name: mean_interval(np.asarray(list(values))) for name, values in by_candidate.items()}
