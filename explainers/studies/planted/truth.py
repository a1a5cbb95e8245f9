"""How well explanations find the planted words: precision among the top k and AUC, by method and for the consensus.

    precision   the share of planted units among the k highest-scored ones, k = number of planted units
    AUC         P(a planted unit is scored above another one), ties count half

Equal scores at the cut are shared: each counts by the chance that it is taken. A random order has precision k/n and
AUC 1/2.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from explainers.comparison.consensus import by_agreement, consensus_scores
from explainers.methods.registry import METHODS
from explainers.metrics.bootstrap import Interval, difference_interval
from explainers.metrics.chance import fixed_sequence
from explainers.results.answer import CONSENSUS, Null
from explainers.results.attribution import PERCENTS, top_count
from explainers.studies.planted.measure import UNIT_OF_P, Row, inner_counts

Floats = NDArray[np.float64]
Scores = Sequence[float]

WITHOUT = ("gradient_x_input", "attention_mean", "attention_last")  # of the weaker ones, by earlier measurements


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
TOP = 20  # percent: the first units by which agreement orders the methods


def evidence_of(row: Row, lines: Sequence[Sequence[int]]) -> Floats:
    """T under `mask` of orders with these curves, (orders,)."""
    p = at_percents(lines, row["units"])
    values: Floats = (p[:, 1] - p[:, 0]).mean(axis=1)
    return values


def supported(row: Row) -> tuple[str, ...]:
    """The consensus and the methods that pass the test against random orders, in a fixed sequence by agreement."""
    curves = row["curves"]["mask"]
    null = Null(tuple(evidence_of(row, row["random"]["mask"][:CONTROLS]).tolist()))
    own = dict(zip(curves, evidence_of(row, list(curves.values())).tolist(), strict=True))
    scores = {method: tuple(value) for method, value in row["scores"].items()}
    order = (CONSENSUS, *by_agreement(scores, top_count(row["units"], TOP)))
    return fixed_sequence(order, lambda method: null.beaten_by(own[method]))
