"""What an explained set says: which method, on which inputs an answer is supported, which words, and whom to trust.

Pure functions of the two frames of `set_frames`. Every mean has the interval of the one bootstrap, over inputs; two
methods are compared on the inputs that both explained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd

from explainers.evaluation.names import CONTROLS, FEWEST, RANDOM
from explainers.evaluation.set_frames import EVIDENCE, metric_column
from explainers.methods.registry import method_spec
from explainers.metrics.bootstrap import Floats, Interval, interval_of_rows, item_weights, share_interval
from explainers.results.attribution import ranking, top_count

MOST_ITEMS = 1_000  # that are drawn one by one; of more, groups of them
MOST_POINTS = 5_000  # of the trust map that are drawn one by one
BINS = 40  # of it in each direction otherwise
CHEAPER = 0.9  # of the cost: what costs more is no cheaper
TOP = 20  # percent of the units
LENGTHS = (10, 20, 40)  # units; the bounds of the groups by length
By = Literal["all", "class", "length", "right"]
GROUPINGS: dict[By, str] = {
    "all": "all inputs",
    "class": "predicted class",
    "length": "length",
    "right": "right or wrong",
}


@dataclass(frozen=True)
class MethodSummary:
    """A method over the set. `metrics` by column, such as "evidence_mask"; `behind` is how much less evidence it has
    than the best method on the same inputs; `seconds` and `passes` are means, None for controls without a cost."""

    method: str
    inputs: int
    metrics: Mapping[str, Interval]
    behind: Interval | None = None
    seconds: float | None = None
    passes: float | None = None
    failed: int = 0


@dataclass(frozen=True)
class MeanCurves:
    """The mean erasure curves of a method over the set, each at `CURVE_SHARES`, with their intervals."""

    method: str
    removed: tuple[Interval, ...]
    kept: tuple[Interval, ...]


@dataclass(frozen=True)
class Recommendation:
    """Which method to use: one sentence, the method, and those that cannot be told from it. `best` is empty where the
    set does not decide it."""

    sentence: str
    best: str = ""
    level: tuple[str, ...] = ()


@dataclass(frozen=True)
class StatusShare:
    """A group of inputs: how many, the share with a supported answer, and the mean agreement between methods."""

    group: str
    inputs: int
    supported: Interval
    agreement: Interval | None
    failed: int


def may_be_chosen(method: str) -> bool:
    """Return whether a method claims to explain and may be compared: no control, and not optimised on the metrics."""
    if method in CONTROLS:
        return False
    spec = method_spec(method)
    return spec.comparable and not spec.is_control and not spec.is_random


def mean_over_inputs(values: Floats) -> Interval | None:
    """Return the mean of those values that are defined, with its interval; None without any.

    Of more than `MOST_ITEMS` inputs, random groups of equal size are drawn in place of single ones.
    """
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    groups = np.arange(len(values))
    if len(values) > MOST_ITEMS:
        groups = np.random.default_rng(0).permutation(groups) % MOST_ITEMS
    sums, sizes = np.bincount(groups, values), np.bincount(groups)
    weights = _weights(len(sums))
    return interval_of_rows((weights @ sums) / (weights @ sizes), len(values))


def method_table(methods: pd.DataFrame, columns: Sequence[str], operator: str) -> list[MethodSummary]:
    """Return a summary per method with these columns of metrics: the most evidence under `operator` first, controls
    last."""
    best = _best(methods, operator)
    evidences = _by_method(methods, metric_column(EVIDENCE, operator))
    rows = []
    for method, own in methods.groupby("method", sort=False):
        explained = own[own["failed"].isna()]
        means = {name: mean_over_inputs(explained[name].to_numpy(dtype=float)) for name in columns if name in own}
        rows.append(
            MethodSummary(
                str(method),
                len(explained),
                {name: mean for name, mean in means.items() if mean is not None},
                _difference(evidences, best, str(method)) if best and method != best else None,
                _mean(explained["seconds"]),
                _mean(explained["passes"]),
                len(own) - len(explained),
            )
        )
    return sorted(rows, key=lambda row: _place(row, metric_column(EVIDENCE, operator)))


def mean_curves(methods: pd.DataFrame) -> list[MeanCurves]:
    """Return the mean curves of every method that has any, over the inputs that it explained."""
    found = []
    for method, own in methods.groupby("method", sort=False):
        drawn = own[own["removed"].notna() & own["kept"].notna()]
        if len(drawn):
            removed, kept = (
                _mean_of_columns(np.array(drawn[name].tolist(), dtype=float)) for name in ("removed", "kept")
            )
            found.append(MeanCurves(str(method), removed, kept))
    return found


def _mean_of_columns(values: Floats) -> tuple[Interval, ...]:
    """Return the mean and interval of every column of `values`, (inputs, shares), that is defined."""
    means = [mean_over_inputs(column) for column in values.T]
    return tuple(mean for mean in means if mean is not None)


def recommendation(methods: pd.DataFrame, operator: str) -> Recommendation:
    """Return the method with the most evidence under `operator`, if it beats random orders, and those level with it."""
    evidences, best = _by_method(methods, metric_column(EVIDENCE, operator)), _best(methods, operator)
    if not best:
        return Recommendation("Undecided: no method that can be compared was measured. Choose one that is no control.")
    inputs = int(evidences[best].notna().sum())
    if inputs < FEWEST:
        few = "1 input is" if inputs == 1 else f"{inputs} inputs are"
        return Recommendation(f"Undecided: {few} too few to compare methods. Take at least {FEWEST}.")
    gain = _difference(evidences, best, RANDOM)
    if gain is not None and gain.low <= 0:
        return Recommendation(f"Undecided: no method is better than random orders over these {inputs:,} inputs.")
    others = [method for method in evidences if may_be_chosen(method) and method != best]
    behind = {method: _difference(evidences, best, method) for method in others}
    level = tuple(method for method, interval in behind.items() if interval is not None and interval.low <= 0)
    passes = {method: _mean(methods.loc[methods["method"] == method, "passes"]) or 0.0 for method in (best, *level)}
    return Recommendation(_sentence(best, level, len(others), passes, inputs), best, level)


def status_shares(rows: pd.DataFrame, by: By) -> list[StatusShare]:
    """Return how often an answer is supported in each group of inputs, and how far methods agree there."""
    shares = []
    for group, members in rows.groupby(_groups(rows, by), sort=False):
        explained = members[members["status"] != "failed"]
        if len(explained):
            supported = share_interval((explained["status"] == "supported").to_numpy(dtype=float))
            agreement = mean_over_inputs(explained["agreement"].to_numpy(dtype=float))
            shares.append(StatusShare(str(group), len(explained), supported, agreement, len(members) - len(explained)))
    return sorted(shares, key=lambda share: _order(share.group, by))


def words_over_set(rows: pd.DataFrame, methods: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return a row per predicted class and word: its mean `score` by the method, the `spread` between inputs (NaN in
    one input alone), the number of `inputs`, the share of them in which it is among the `top` 20 %, and `least`.

    `least` is the lower bound of the 95 % interval of the mean, so that a rare word does not come first by luck; the
    rows are in its order, those of a class with fewer than `FEWEST` inputs in that of the mean. Words that repeat share
    the spread within a word, pooled over the class; a word of one input has that of all scores of the class. A word
    counts once per input.
    """
    single = _words_by_input(rows, methods[(methods["method"] == method) & methods["scores"].notna()])
    grouped = single.groupby(["class", "word"], sort=False)
    table = grouped.agg(
        score=("score", "mean"), spread=("score", _spread), inputs=("score", "size"), top=("top", "mean")
    ).reset_index()
    table["spread"] = table["spread"].where(table["inputs"] > 1)
    repeated, classes = table[table["inputs"] > 1], table["class"]
    squares = (repeated["spread"] ** 2 * repeated["inputs"]).groupby(repeated["class"]).sum()
    within = np.sqrt(squares / (repeated["inputs"] - 1).groupby(repeated["class"]).sum())
    every = classes.map(single.groupby("class")["score"].agg(_spread))
    spread = classes.map(within).fillna(every).where(table["inputs"] > 1, every)
    table["least"] = table["score"] - 1.96 * spread / np.sqrt(table["inputs"])
    few = classes.map(single.groupby("class")["id"].nunique()) < FEWEST
    order = table["score"].where(few, table["least"])
    return (
        table.assign(order=order)
        .sort_values(["class", "order"], ascending=[True, False], ignore_index=True)
        .drop(columns="order")
    )


def inputs_with(rows: pd.DataFrame, word: str, predicted: str) -> pd.DataFrame:
    """Return the inputs of a predicted class in which the word stands."""
    named = [
        isinstance(units, Sequence | np.ndarray) and word in {_word(unit) for unit in units} for units in rows["units"]
    ]
    return rows[np.asarray(named, dtype=bool) & (rows["predicted"] == predicted).to_numpy()]


def trust_points(rows: pd.DataFrame, methods: pd.DataFrame, operator: str) -> pd.DataFrame:
    """Return a point per input: `agreement` between the methods, and the `evidence` of the best one for this input."""
    column = metric_column(EVIDENCE, operator)
    chosen = methods[[may_be_chosen(method) for method in methods["method"]]]
    best = chosen.groupby("id")[column].max().rename("evidence")
    points = rows[["id", "text", "pair", "label", "predicted", "right", "seed", "status", "agreement"]]
    return points.join(best, on="id").dropna(subset=["agreement", "evidence"]).reset_index(drop=True)


def worth_a_look(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return lists of inputs by title, those first on which the methods agree most: the model is wrong; no order of
    words is better than random ones; one method alone is supported."""
    explained = rows[rows["status"] != "failed"].sort_values("agreement", ascending=False, na_position="last")
    supported = explained["supported"].map(
        lambda methods: len(methods) if isinstance(methods, Sequence | np.ndarray) else 0
    )
    wrong = explained["right"].eq(False).fillna(False).astype(bool)
    open_ = (explained["status"] == "open") & explained["refusal"].isna()
    return {
        "The model is wrong, the methods agree most first": explained[wrong],
        "No order is better than random, the methods agree most first": explained[open_],
        "One method alone is supported": explained[supported == 1],
    }


def binned(points: pd.DataFrame) -> pd.DataFrame:
    """Return the points in cells of a grid: middle of the cell, number of `inputs`, and the share that is `right`."""
    cells = {name: _cells(points[name].to_numpy(dtype=float)) for name in ("agreement", "evidence")}
    right = points["right"].astype("Float64").astype("float64")
    frame = pd.DataFrame({**cells, "right": right})
    return frame.groupby(["agreement", "evidence"], as_index=False).agg(
        inputs=("right", "size"), right=("right", "mean")
    )


def name_of(method: str) -> str:
    """Return how a method or control is called."""
    if method == RANDOM:
        return "Random orders"
    return CONTROLS[method] if method in CONTROLS else method_spec(method).display_name


_weights = lru_cache(maxsize=8)(item_weights)  # for many columns of as many inputs


def _best(methods: pd.DataFrame, operator: str) -> str:
    """Return the method with the most evidence in the mean, of those that may be chosen; empty without one."""
    means = methods.groupby("method", sort=False)[metric_column(EVIDENCE, operator)].mean()
    candidates = {
        str(method): mean for method, mean in means.items() if may_be_chosen(str(method)) and not np.isnan(mean)
    }
    return max(candidates, key=candidates.__getitem__, default="")


def _by_method(methods: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the values of a metric, a column per method and a row per input."""
    return methods.pivot(index="id", columns="method", values=column)[list(dict.fromkeys(methods["method"]))]


def _difference(values: pd.DataFrame, one: str, other: str) -> Interval | None:
    """Return how much more `one` has than `other`, paired by input; None without an input that both explained."""
    if other not in values:
        return None
    return mean_over_inputs((values[one] - values[other]).to_numpy(dtype=float))


def _mean(values: pd.Series) -> float | None:
    mean = values.astype("float64").mean()
    return None if np.isnan(mean) else float(mean)


def _place(row: MethodSummary, column: str) -> tuple[bool, bool, float]:
    evidence = row.metrics.get(column)
    return row.method in CONTROLS, evidence is None, -(evidence.mean if evidence else 0.0)


def _sentence(best: str, level: Sequence[str], others: int, passes: Mapping[str, float], inputs: int) -> str:
    name, over = name_of(best), f"over these {inputs:,} inputs"
    cheapest = min((best, *level), key=lambda method: passes[method])
    if not level:
        return (
            f"{name}: ahead of every other method {over}." if others else f"{name}: better than random orders {over}."
        )
    if len(level) == others:
        return f"Undecided: no method is ahead of all others {over}; {name_of(cheapest)} takes the fewest passes."
    if passes[cheapest] < CHEAPER * passes[best]:
        share = round(100 * passes[cheapest] / passes[best])
        rest = _are_level([method for method in level if method != cheapest])
        also = f" {rest} with it too." if rest else ""
        return f"{name} has the most evidence; {name_of(cheapest)} is level with it at {share} % of its passes.{also}"
    takes = "takes" if len(level) == 1 else "take"
    return f"{name} has the most evidence; {_are_level(level)} with it and {takes} no fewer passes."


def _are_level(methods: Sequence[str]) -> str:
    """Return "LIME and Occlusion are level"; empty without methods."""
    *names, last = [name_of(method) for method in methods] or [""]
    listed = f"{', '.join(names)} and {last}" if names else last
    return f"{listed} {'are' if names else 'is'} level" if last else ""


def _groups(rows: pd.DataFrame, by: By) -> "pd.Series[str]":
    if by == "class":
        return rows["predicted"].fillna("failed")
    if by == "length":
        return rows["length"].map(_length_group, na_action="ignore").astype(object).fillna("failed")
    if by == "right":
        return rows["right"].map({True: "right", False: "wrong"}).astype(object).fillna("no label")
    return pd.Series("all inputs", index=rows.index)


def _length_group(units: int) -> str:
    for least, most in zip((1, *(length + 1 for length in LENGTHS)), LENGTHS, strict=False):
        if units <= most:
            return f"{least} to {most} units"
    return f"more than {LENGTHS[-1]} units"


def _order(group: str, by: By) -> tuple[int, str]:
    orders: dict[By, list[str]] = {
        "length": [_length_group(most) for most in (*LENGTHS, LENGTHS[-1] + 1)],
        "right": ["right", "wrong", "no label"],
    }
    order = orders.get(by, [])
    return order.index(group) if group in order else len(order), group


def _words_by_input(rows: pd.DataFrame, scored: pd.DataFrame) -> pd.DataFrame:
    """Return class, word, mean score and whether it is among the first units, a row per input and word."""
    by_id = rows.dropna(subset=["units"]).set_index("id")
    lines: list[tuple[str, str, str, float, bool]] = []
    for id, scores in zip(scored["id"], scored["scores"], strict=True):
        scores, units = tuple(map(float, scores)), by_id.at[id, "units"]
        first = set(ranking(scores)[: top_count(len(scores), TOP)].tolist())
        words = [
            (_word(unit), score, place in first) for place, (unit, score) in enumerate(zip(units, scores, strict=True))
        ]
        lines += [(id, by_id.at[id, "predicted"], word, score, top) for word, score, top in words if word]
    single = pd.DataFrame(lines, columns=["id", "class", "word", "score", "top"])
    return single.groupby(["id", "class", "word"], sort=False, as_index=False).agg(
        score=("score", "mean"), top=("top", "max")
    )


def _word(unit: str) -> str:
    """Return how the word is counted: whatever its case; empty for punctuation."""
    return unit.casefold() if any(letter.isalnum() for letter in unit) else ""


def _spread(scores: "pd.Series[float]") -> float:
    return float(scores.std(ddof=0))


def _cells(values: Floats) -> Floats:
    """Return the middle of the cell of each value, of `BINS` cells between the least and the greatest."""
    low, high = float(values.min()), float(values.max())
    width = (high - low) / BINS or 1.0
    return low + width * (np.minimum(np.floor((values - low) / width), BINS - 1) + 0.5)
