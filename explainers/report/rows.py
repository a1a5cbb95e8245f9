"""A comparison's figures, a row per method: what the page, the document and the CSV file show alike."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from explainers.methods import chosen
from explainers.metrics.faithfulness import METRICS, Metric, tied_at

if TYPE_CHECKING:
    from explainers.api import Comparison
    from explainers.comparison import Measured

RANDOM = "random"


@dataclass(frozen=True)
class MetricRow:
    """One method's figures by metric id, `noise` being their standard deviation by chance.

    `best` are the metrics in which it really leads, `beyond_chance` those in which it beats the random orders' 95 %
    band, `ties` the percents at which equal scores were cut by position.
    """

    method: str
    name: str
    metrics: dict[str, float]
    noise: dict[str, float]
    control: bool = False
    seconds: float | None = None
    calls: int | None = None
    gap: float | None = None
    best: frozenset[str] = frozenset()
    beyond_chance: frozenset[str] = frozenset()
    ties: tuple[int, ...] = ()
    apart: bool = False  # chosen by these very figures, so it is never compared in them
    one_text: bool = False  # a control that says how far one text of a pair goes, and leads nowhere

    @property
    def compared(self) -> bool:
        """Whether it may lead."""
        return not (self.apart or self.one_text)

    @property
    def ties_note(self) -> str:
        cuts = ", ".join(map(str, self.ties))
        return f"Equal scores at the top {cuts} %: there the position in the text decided." if self.ties else ""


def metric_rows(comparison: "Comparison") -> list[MetricRow]:
    """A row per method in the order of display, then the random control: the mean of its orders, not a single one."""
    rows = [_row(result) for result in shown(comparison)]
    candidates = [row for row in rows if not row.apart]
    leaders = {metric.id: _leading(comparison, candidates, metric) for metric in METRICS}
    marked = [
        replace(
            row,
            best=frozenset(metric for metric, (best, _) in leaders.items() if row.method in best),
            beyond_chance=frozenset(metric for metric, (_, beyond) in leaders.items() if row.method in beyond),
        )
        for row in rows
    ]
    return [*marked, *_random_row(comparison)]


def shown(comparison: "Comparison") -> "list[Measured]":
    """The results that count as methods: where the random control is known, it says more than one random order."""
    return [result for result in comparison.results if result.attribution.method != RANDOM or not comparison.chance]


def _row(result: "Measured") -> MetricRow:
    found = result.attribution
    (entry,) = chosen([found.method])
    return MetricRow(
        found.method,
        f"{entry.name} †" if entry.optimised else entry.name,
        result.metrics,
        result.noise,
        control=entry.group == "Controls",
        seconds=found.seconds,
        calls=found.model_calls,
        gap=found.gap,
        ties=tied_at(found.scores),
        apart=entry.optimised,
        one_text=entry.pairs_only or entry.pictures_only,
    )


def _leading(
    comparison: "Comparison", rows: Sequence[MetricRow], metric: Metric
) -> tuple[frozenset[str], frozenset[str]]:
    """The methods that really lead in this metric, and those that beat chance: nobody while chance is not known."""
    from explainers.comparison import leading  # brings torch, which a page must not wait for

    if comparison.chance is None:
        return frozenset(), frozenset()
    floor, higher = comparison.chance.scores(metric.id), metric.higher_is_better
    scores = {row.method: row.metrics[metric.id] for row in rows}
    noises = {row.method: row.noise[metric.id] for row in rows}
    alone = (leading({method: scores[method]}, noises, floor, higher=higher) for method in scores)
    compared = {row.method: scores[row.method] for row in rows if row.compared}
    return leading(compared, noises, floor, higher=higher), frozenset[str]().union(*alone)


def _random_row(comparison: "Comparison") -> list[MetricRow]:
    if comparison.chance is None:
        return []
    orders = {metric.id: comparison.chance.scores(metric.id) for metric in METRICS}
    return [
        MetricRow(
            RANDOM,
            f"Random, mean of {len(comparison.chance.paths)} orders",
            {metric: float(np.mean(scores)) for metric, scores in orders.items()},
            {metric: float(np.std(scores)) for metric, scores in orders.items()},
            control=True,
        )
    ]
