"""P(right | agreement, units, pair, learned) of the consensus: a logistic regression, checked on kinds left out.

Right: the k units of highest consensus are exactly the k planted ones. Agreement: the mean share of common units among
the top m of two methods, over all pairs of methods, with m as a comparison knows it; the rule for m is the one whose
regression predicts best in cross-validation over inputs. Every input counts with the methods that need no fitting, and
where the learned ones are fitted to its model once more with all of them.

Held out are whole kinds of shortcuts, so that nothing is learned from the kind on which it is checked. The regression
has to predict better than the base rate: the share of right ones among texts, or pairs, of about as many units
(`BANDS`), separately with and without the learned methods.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from explainers.comparison.confidence import BASE_RATE, PREDICTORS, REGRESSION, band_of
from explainers.comparison.consensus import agreement
from explainers.methods.registry import METHODS
from explainers.metrics.bootstrap import Interval, mean_interval, wilson
from explainers.results.attribution import top_count
from explainers.studies.planted.measure import Row, compared_methods
from explainers.studies.planted.truth import Floats, consensus, precision

RESAMPLES = 300
BANDS = (1, 16, 31)  # units with which each begins
FORMS = ("unfitted", "learned")
CELLS = tuple(f"{kind}, {form}" for kind in ("text", "pair") for form in FORMS)  # each in every band
FEWEST = 20  # inputs of a cell: with fewer it has neither a base rate nor a confidence
FOLDS = 5
BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
TOPS: Mapping[str, Callable[[int], int]] = {
    "top 1": lambda units: 1,
    "top 2": lambda units: min(2, units),
    "top 3": lambda units: min(3, units),
    "top 20 %": lambda units: top_count(units, 20),
}
Cell = dict[str, list[float]]
LEARNED = frozenset(spec.id for spec in compared_methods(learned=True) if spec.default)


@dataclass(frozen=True)
class Cases:
    """Consensuses of inputs, (cases,) each: the `input` and its `kind`, what is known about it `x` (cases, 4), and
    whether it is right `y`; several cases of one input are resampled together."""

    input: NDArray[np.int64]
    kind: NDArray[np.str_]
    x: Floats
    y: Floats

    def take(self, places: NDArray[Any]) -> "Cases":
        """Some of them."""
        return Cases(self.input[places], self.kind[places], self.x[places], self.y[places])

    def by_input(self, values: Floats) -> Floats:
        """The mean value of every input, (inputs,)."""
        _, places = np.unique(self.input, return_inverse=True)
        sums, counts = np.bincount(places, values), np.bincount(places)
        return np.asarray(sums / counts)

    @property
    def cell(self) -> NDArray[np.int64]:
        """Return what a base rate is taken of: texts or pairs, without or with learned methods, of about as many units;
        the numbers of `CELLS`, (cases,)."""
        bands = np.array([band_of(int(units), BANDS) for units in self.x[:, 1]], dtype=np.int64)
        pair, learned = self.x[:, 2].astype(np.int64), self.x[:, 3].astype(np.int64)
        return bands + len(BANDS) * (learned + len(FORMS) * pair)


def by_default(row: Row) -> Row:
    """Return the row with the scores of the methods that a comparison has unless a person chooses."""
    return {**row, "scores": {method: value for method, value in row["scores"].items() if METHODS.get(method).default}}


def unfitted(row: Row) -> Row:
    """Return the row without the scores of learned methods."""
    return {**row, "scores": {method: value for method, value in row["scores"].items() if method not in LEARNED}}


def is_complete(row: Row) -> bool:
    """Return whether every learned method was fitted to its model."""
    return set(row["scores"]) >= LEARNED


def is_right(row: Row) -> bool:
    """Return whether the consensus of all its methods ranks the planted units first."""
    return precision(consensus(row, list(row["scores"])), row["planted"]) == 1.0


def cases_of(rows: Sequence[Row], top: str) -> Cases:
    """One of every input without learned methods, and one with them where they are fitted."""
    chosen = list(map(by_default, rows))
    forms = [
        (n, form) for n, row in enumerate(chosen) for form in (unfitted(row), *([row] if is_complete(row) else []))
    ]
    x = [
        [
            agreement(list(map(tuple, row["scores"].values())), TOPS[top](row["units"])),
            row["units"],
            row["model"] == "nli",
            is_complete(row),
        ]
        for _, row in forms
    ]
    y = [is_right(row) for _, row in forms]
    numbers, kinds = np.array([n for n, _ in forms]), np.array([row["kind"] for _, row in forms])
    return Cases(numbers, kinds, np.array(x, dtype=float), np.array(y, dtype=float))


@dataclass(frozen=True)
class Bin:
    """The inputs whose prediction lies in a bin: their number, mean prediction and share of right ones."""

    low: float
    high: float
    inputs: int
    predicted: float
    right: float


@dataclass(frozen=True)
class Checked:
    """On kinds that were left out: Brier scores, `base` that of the other kinds' base rate in the cell of the input;
    `gain` is base - brier."""

    brier: Interval
    base: Interval
    gain: Interval
    auroc: float
    bins: tuple[Bin, ...]


SCALE = np.array([1.0, 0.1, 1.0, 1.0])  # units in tens, so that the penalty treats the predictors alike
PENALTY = 1.0  # scikit-learn's default; without one nothing bounds a predictor that separates all cases


def coefficients(cases: Cases) -> Floats:
    """In the order of `PREDICTORS`, (5,)."""
    model = LogisticRegression(C=PENALTY, max_iter=1000).fit(cases.x * SCALE, cases.y)
    return np.concatenate([model.intercept_, model.coef_[0] * SCALE])


def predicted(learned_from: Cases, x: Floats) -> Floats:
    """P(right), (cases,); the share of right ones where all cases to learn from are alike."""
    if len(set(learned_from.y.tolist())) < 2:
        return np.full(len(x), learned_from.y.mean())
    b = coefficients(learned_from)
    return np.asarray(1 / (1 + np.exp(-(b[0] + x @ b[1:]))))


def held_out_kinds(cases: Cases) -> tuple[Floats, Floats]:
    """For every case what the other kinds predict, and the share of right ones among those of its cell, NaN where they
    are too few: (cases,) each."""
    p, base, cell = np.zeros(len(cases.y)), np.full(len(cases.y), np.nan), cases.cell
    for kind in dict.fromkeys(cases.kind.tolist()):
        out = cases.kind == kind
        others = cases.take(~out)
        p[out] = predicted(others, cases.x[out])
        for number in set(cell[out].tolist()):
            alike = others.y[others.cell == number]
            if len(alike) >= FEWEST:
                base[out & (cell == number)] = alike.mean()
    return p, base


def cross_validated(cases: Cases) -> float:
    """The mean Brier score over folds of inputs."""
    folds = GroupKFold(FOLDS).split(cases.x, cases.y, cases.input)
    scores = [((predicted(cases.take(train), cases.x[test]) - cases.y[test]) ** 2).mean() for train, test in folds]
    return float(np.mean(scores))


def chosen_top(rows: Sequence[Row]) -> tuple[str, dict[str, float]]:
    """The rule for m with the lowest Brier score in cross-validation, and the scores of all."""
    scores = {top: cross_validated(cases_of(rows, top)) for top in TOPS}
    return min(scores, key=lambda top: scores[top]), scores


def check(cases: Cases, p: Floats, base: Floats) -> Checked:
    """Predictions against what came true, where there is a base rate; intervals over inputs."""
    from sklearn.metrics import roc_auc_score

    known = ~np.isnan(base)
    cases, p, base = cases.take(known), p[known], base[known]
    own, other = (cases.by_input((chance - cases.y) ** 2) for chance in (p, base))
    auroc = float(roc_auc_score(cases.y, p)) if len(set(cases.y.tolist())) > 1 else float("nan")
    gain = mean_interval(other - own)
    return Checked(mean_interval(own), mean_interval(other), gain, auroc, tuple(_bins(p, cases.y)))


def _bins(p: Floats, y: Floats) -> list[Bin]:
    places = np.clip(np.searchsorted(BINS, p, side="right") - 1, 0, len(BINS) - 2)
    return [
        Bin(BINS[place], BINS[place + 1], int(inside.sum()), float(p[inside].mean()), float(y[inside].mean()))
        for place in range(len(BINS) - 1)
        if (inside := places == place).any()
    ]


def fitted(rows: Sequence[Row], command: str) -> tuple[dict[str, Any], Checked]:
    """The content of assets/confidence.json, and how well it predicts on kinds that were left out."""
    top, scores = chosen_top(rows)
    cases = cases_of(rows, top)
    checked = check(cases, *held_out_kinds(cases))
    plain = [spec.id for spec in compared_methods(learned=False) if spec.default]
    content = {
        "right": "the k units of highest consensus are the k planted words",
        "agreement": f"mean share of common units among the {top} of two methods, over all pairs of methods",
        "top": top,
        "rule": REGRESSION if checked.gain.low > 0 else BASE_RATE,
        "cross-validated Brier score by top": {name: round(score, 4) for name, score in scores.items()},
        "predictors": list(PREDICTORS),
        "coefficients": [round(coefficient, 5) for coefficient in coefficients(cases).tolist()],
        "covariance": np.round(np.cov(_resampled(cases).T), 7).tolist(),
        "methods": {"unfitted": plain, "learned": sorted(LEARNED)},
        "inputs": len(rows),
        "inputs with learned methods": int(cases.x[:, 3].sum()),
        "bands of units": list(BANDS),
        "cells": _cells(cases),
        "on kinds left out": {
            "Brier score": _triple(checked.brier),
            "Brier score of the base rate": _triple(checked.base),
            "gain": _triple(checked.gain),
            "AUROC": round(checked.auroc, 4),
        },
        "intervals": "95 %, over inputs; not over trainings",
        "seeds": sorted({row["seed"] for row in rows}),
        "models": sorted({row["model"] for row in rows}),
        "command": command,
    }
    return content, checked


def _resampled(cases: Cases) -> Floats:
    """The coefficients of resamples of inputs, (resamples, 5)."""
    chance, inputs = np.random.default_rng(0), len(set(cases.input.tolist()))
    places = [np.flatnonzero(cases.input == number) for number in range(inputs)]
    rows = []
    for _ in range(RESAMPLES):
        some = cases.take(np.concatenate([places[number] for number in chance.integers(0, inputs, inputs)]))
        rows += [coefficients(some)] if 0 < some.y.mean() < 1 else []
    return np.array(rows)


def _cells(cases: Cases) -> dict[str, list[Cell | None]]:
    """Map texts or pairs, without or with learned methods, to what was measured in every band; None where there are
    fewer than `FEWEST` inputs."""
    found = [_cell(cases.take(cases.cell == number)) for number in range(len(CELLS) * len(BANDS))]
    return {name: found[at * len(BANDS) : (at + 1) * len(BANDS)] for at, name in enumerate(CELLS)}


def _cell(cases: Cases) -> Cell | None:
    """Return the agreement, 1st to 99th percentile, the units, and the share of right ones with its interval and the
    number of inputs."""
    if len(cases.y) < FEWEST:
        return None
    low, high = np.quantile(cases.x[:, 0], (0.01, 0.99))
    units = [float(cases.x[:, 1].min()), float(cases.x[:, 1].max())]
    right = [*share_interval(cases.y), len(cases.y)]
    return {"agreement": [round(low, 3), round(high, 3)], "units": units, "right": right}


def share_interval(right: Floats) -> list[float]:
    """The share of right ones and its 95 % interval by Wilson, which also holds where all are right."""
    low, high = wilson(float(right.sum()), len(right))
    return [round(value, 4) for value in (float(right.mean()), low, high)]


def _triple(value: Interval) -> list[float]:
    return [round(bound, 4) for bound in (value.mean, value.low, value.high)]
