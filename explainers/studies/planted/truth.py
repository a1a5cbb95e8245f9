"""How well explanations find planted words, and which metric deserves trust because it prefers what is true.

The truth of an explanation, by method and for the consensus:

    precision   the share of planted units among the k highest-scored ones, k = number of planted units
    AUC         P(a planted unit is scored above another one), ties count half

Equal scores at the cut are shared: each counts by the chance that it is taken. A random order has precision k/n and
AUC 1/2.

A candidate for trust is a number per explanation, higher is better, read off the curves of one operator or averaged
over them:

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

from explainers.comparison.consensus import by_agreement, consensus_scores, order_of_tests
from explainers.methods.registry import METHODS
from explainers.metrics.bootstrap import Interval, difference_interval, mean_interval
from explainers.metrics.chance import fixed_sequence
from explainers.results.answer import CONSENSUS, Null
from explainers.results.attribution import PERCENTS, top_count
from explainers.studies.planted.measure import DRAWS, SHARES, UNIT_OF_P, Row, inner_counts

Floats = NDArray[np.float64]
Scores = Sequence[float]

WITHOUT = ("gradient_x_input", "attention_mean", "attention_last")  # of the weaker ones, by earlier measurements

Candidate = Callable[[Floats, float], Floats]  # of p at `PERCENTS`, removed and kept (orders, 2, 5), and p of the input
AVERAGED = "all operators"
SIZES = (1, 10, 20, 50)  # percent, alone; on inputs of up to 20 units 5 % is one unit, as 1 % is


def precision(scores: Scores, planted: Sequence[int]) -> float:
    """The expected share of planted units among the top k, 0…1."""
    values, k = np.asarray(scores, dtype=float), len(planted)
    cut = np.sort(values)[-k]
    above, at = values > cut, values == cut
    chance = above + at * (k - above.sum()) / at.sum()
    return float(chance[list(planted)].mean())


def precision_of_first(scores: Scores, planted: Sequence[int]) -> float:
    """The chance that the first unit is planted, 0…1."""
    values = np.asarray(scores, dtype=float)
    first = np.flatnonzero(values == values.max())
    return float(np.isin(first, planted).mean())


def auc(scores: Scores, planted: Sequence[int]) -> float:
    """0…1."""
    ranks, k = rankdata(scores), len(planted)
    others = len(ranks) - k
    return float((ranks[list(planted)].sum() - k * (k + 1) / 2) / (k * others))


MEASURES: Mapping[str, Callable[[Scores, Sequence[int]], float]] = {"precision": precision, "AUC": auc}


def consensus(row: Row, methods: Sequence[str]) -> Scores:
    """The consensus of those of the methods that the row has, (units,)."""
    return consensus_scores([tuple(row["scores"][method]) for method in methods if method in row["scores"]])


def by_families(row: Row) -> Scores:
    """The consensus in which groups of methods, not methods, have equal weights, (units,)."""
    groups = dict.fromkeys(METHODS.get(method).group for method in row["scores"])
    families = [[method for method in row["scores"] if METHODS.get(method).group == group] for group in groups]
    return tuple(np.mean([consensus(row, family) for family in families], axis=0).tolist())


def explanations(row: Row) -> dict[str, Scores]:
    """Orders by the name of the rule: every method's own scores, and the consensus in its variants."""
    methods = [spec.id for spec in METHODS if spec.id in row["scores"]]
    return {
        "consensus": consensus(row, methods),
        "consensus without gradient × input and attention": consensus(
            row, [method for method in methods if method not in WITHOUT]
        ),
        "consensus, families alike": by_families(row),
        **{method: row["scores"][method] for method in methods},
    }


def values(rows: Sequence[Row], measure: str) -> dict[str, Floats]:
    """Map each rule to the measure of every row, (rows,), with the exact expectation of a random order."""
    score = MEASURES[measure]
    by_row = [
        {
            **{name: score(scores, row["planted"]) for name, scores in explanations(row).items()},
            "random": len(row["planted"]) / row["units"] if measure == "precision" else 0.5,
        }
        for row in rows
    ]
    return {name: np.array([some[name] for some in by_row]) for name in by_row[0]} if by_row else {}


def difference(values: Mapping[str, Floats], one: str, other: str) -> Interval:
    """Over inputs, input by input."""
    return difference_interval(values[one], values[other])


def at_percents(lines: Sequence[Sequence[int]], units: int) -> Floats:
    """From curves as they are stored to p at `PERCENTS`, removed and kept: (orders, 2, 5)."""
    counts = inner_counts(units)
    places = [counts.index(top_count(units, percent)) for percent in PERCENTS]
    p = np.asarray(lines, dtype=float).reshape(len(lines), 2, len(counts)) / UNIT_OF_P
    return p[:, :, places]


CONTROLS = 19  # random orders of the test
TOP = 20  # percent: the first units by which the methods agree


def evidence_of(row: Row, lines: Sequence[Sequence[int]]) -> Floats:
    """T of orders with these curves under one operator, (orders,)."""
    p = at_percents(lines, row["units"])
    values: Floats = (p[:, 1] - p[:, 0]).mean(axis=1)
    return values


def supported(row: Row) -> tuple[str, ...]:
    """The consensus and the methods that pass the test against random orders, in a fixed sequence."""
    curves = row["curves"]["mask"]
    null = Null(tuple(evidence_of(row, row["random"]["mask"][:CONTROLS]).tolist()))
    own = dict(zip(curves, evidence_of(row, list(curves.values())).tolist(), strict=True))
    scores = {method: tuple(value) for method, value in row["scores"].items()}
    order = (CONSENSUS, *order_of_tests(by_agreement(scores, top_count(row["units"], TOP))))
    return fixed_sequence(order, lambda method: null.beaten_by(own[method]))


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
