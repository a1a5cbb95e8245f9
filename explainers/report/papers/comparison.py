"""The papers' numbers beside ours, and which of their comparisons hold here; readable without torch.

A comparison is one of the paper's own methods against one other method by one metric. It *holds* if the method that is
better in the paper is better here, by the 95 % interval of the paired difference over the inputs; it is *open* if the
interval contains 0, and *reversed* if the other one is better.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from explainers.installation import ASSETS
from explainers.metrics.agreement import kendall
from explainers.report.papers.definitions import PUBLISHED, PublishedMetric

STORED = ASSETS / "papers"
FIGURES = Path(__file__).with_name("figures.toml")
CONTROLS = ("random",)  # that stand below the methods
METRICS: Mapping[str, PublishedMetric] = {metric.id: metric for metric in PUBLISHED}

Outcome = Literal["holds", "open", "reversed"]
Verdict = Literal["replicated", "partly replicated", "open", "not replicated"]


@dataclass(frozen=True)
class PublishedTable:
    """`sets` has by data set and method the paper's numbers, one for each of `metrics`."""

    paper: str
    table: str
    own: tuple[str, ...]
    metrics: tuple[str, ...]
    note: str
    sets: Mapping[str, Mapping[str, Sequence[float]]]

    def published(self, data_set: str, method: str, metric: str) -> float | None:
        numbers = self.sets[data_set].get(method)
        return None if numbers is None else numbers[self.metrics.index(metric)]


@dataclass(frozen=True)
class Compared:
    """One comparison of a paper: `method` is better than `other` by `metric`, or worse; and what was found here."""

    method: str
    other: str
    metric: str
    better: bool  # in the paper
    gain: Mapping[str, float]  # here, of `method` over `other`, positive where it is better

    @property
    def outcome(self) -> Outcome:
        low, high = self.gain["low"], self.gain["high"]
        if low <= 0 <= high:
            return "open"
        return "holds" if (low > 0) == self.better else "reversed"


@dataclass(frozen=True)
class TableResult:
    """A table of a paper on one of its data sets, with the stored measurement."""

    table: PublishedTable
    data_set: str
    measured: Mapping[str, Any]

    @property
    def methods(self) -> tuple[str, ...]:
        """Those of the paper in its order, then the paper's own that it does not list, and the controls."""
        ours = [row["method"] for row in self.measured["rows"]]
        listed = [method for method in self.table.sets[self.data_set] if method in ours]
        return (*listed, *(id for id in ours if id not in listed and (id in self.table.own or id in CONTROLS)))

    @property
    def left_out(self) -> dict[str, str]:
        """Return the methods of the paper that are not compared on all inputs, each with the reason."""
        rows = {row["method"]: row for row in self.measured["rows"]}
        methods = (*self.table.sets[self.data_set], *self.table.own)
        return {
            method: rows[method]["reason"] if method in rows else "not measured"
            for method in dict.fromkeys(methods)
            if method not in rows or "reason" in rows[method]
        }

    def ours(self, method: str, metric: str) -> Mapping[str, float] | None:
        row = next(row for row in self.measured["rows"] if row["method"] == method)
        interval: Mapping[str, float] | None = row.get("metrics", {}).get(metric)
        return interval

    def compared(self, own: str) -> tuple[Compared, ...]:
        """Every comparison of this own method with a method of the paper that is not its own."""
        gains = self.measured["gains"].get(own, {})
        result = []
        for other in self.table.sets[self.data_set]:
            if other in self.table.own or other not in gains:
                continue
            for metric in self.table.metrics:
                mine, theirs = (self.table.published(self.data_set, id, metric) for id in (own, other))
                if mine is None or theirs is None or mine == theirs or metric not in gains[other]:
                    continue
                better = (mine > theirs) == METRICS[metric].higher_is_better
                result.append(Compared(own, other, metric, better, gains[other][metric]))
        return tuple(result)

    def order(self, metric: str) -> float:
        """Kendall's τ between the paper's values and ours, over the methods that both have."""
        both = [
            (published, ours["mean"])
            for method in self.table.sets[self.data_set]
            if (published := self.table.published(self.data_set, method, metric)) is not None
            and method in self.methods
            and (ours := self.ours(method, metric)) is not None
        ]
        return kendall(tuple(one for one, _ in both), tuple(other for _, other in both))


def verdict(compared: Sequence[Compared]) -> Verdict:
    """Return "replicated" if all of them hold, "partly replicated" if more than half do; of the others "not replicated"
    if one is reversed, else "open"."""
    held, wrong = (sum(one.outcome == outcome for one in compared) for outcome in ("holds", "reversed"))
    if held and held == len(compared):
        return "replicated"
    if 2 * held > len(compared):
        return "partly replicated"
    return "not replicated" if wrong else "open"


def read_tables() -> tuple[PublishedTable, ...]:
    content = tomllib.loads(FIGURES.read_text(encoding="utf-8"))
    return tuple(
        PublishedTable(**{**table, "own": tuple(table["own"]), "metrics": tuple(table["metrics"])})
        for table in content["tables"]
    )


def stored_measurements() -> dict[str, dict[str, Any]]:
    """What `papers-measure` has written, by data set."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(STORED.glob("*.json"))}


def table_results() -> tuple[TableResult, ...]:
    """Every table on every data set that was measured, in the order of the papers."""
    measured = stored_measurements()
    return tuple(
        TableResult(table, data_set, measured[data_set])
        for table in read_tables()
        for data_set in table.sets
        if data_set in measured
    )
