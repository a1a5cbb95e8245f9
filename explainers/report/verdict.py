"""Which explanation the evidence favours on one input, and by which metric; none without a real difference."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from explainers.metrics.faithfulness import verdict_metric
from explainers.metrics.spec import MetricSpec
from explainers.report.metric_rows import MetricRow, metric_rows
from explainers.report.text import decimals, join_names
from explainers.report.unit_names import name_of_units, plural

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

FEW = 5  # units; with so few, a random order begins with the right one at least every fifth time
WORDING = {"removing": ("removing", "most", "more"), "keeping": ("keeping only", "least", "less")}


def verdict(comparison: "Comparison") -> list[str]:
    """One sentence; none before the random control and the first method are finished."""
    if comparison.random_control is None:
        return []
    *methods, random = metric_rows(comparison)
    rows = [row for row in methods if row.comparable]
    if all(row.control for row in rows):
        return []
    by_removing, by_keeping = verdict_metric("removing"), verdict_metric("keeping")
    removing, keeping = ([row for row in rows if metric.id in row.best] for metric in (by_removing, by_keeping))
    units = plural(name_of_units(comparison.question))
    reason = partial(_reason, random=random, single=len(rows) == 1, units=units)
    both = [row for row in removing if row in keeping]
    if both:
        first, second = reason(both, removing, by_removing), reason(both, keeping, by_keeping)
        return [f"{_favours(both)}: {first}, and {second}."]
    if removing and keeping:
        first, second = reason(removing, removing, by_removing), reason(keeping, keeping, by_keeping)
        divided = f"for {_names(removing)}, {first}; for {_names(keeping)}, {second}"
        return [f"On this input the evidence is divided: {divided}."]
    for leading, metric, other in ((removing, by_removing, by_keeping), (keeping, by_keeping, by_removing)):
        if leading:
            because = reason(leading, leading, metric)
            return [f"{_favours(leading)} by one metric: {because}; in {other.name} no method leads."]
    return [_nobody(comparison, rows, {by_removing.id, by_keeping.id})]


def _reason(
    favoured: Sequence[MetricRow],
    best: Sequence[MetricRow],
    metric: MetricSpec,
    *,
    random: MetricRow,
    single: bool,
    units: str,
) -> str:
    """Why the `favoured` are: they are among the `best`, whose values may differ within sampling noise."""
    values = [decimals(row.metrics[metric.id]) for row in favoured]
    value = values[0] if len(set(values)) == 1 else join_names(values)
    verb, most, more = WORDING[metric.verdict]
    tied = len({decimals(row.metrics[metric.id]) for row in best}) > 1
    costs = f"{more} than {verb} random ones" if single else f"{most} within sampling noise" if tied else most
    whose = "its" if len(favoured) == 1 else "their"
    floor = decimals(random.metrics[metric.id])
    return f"{verb} {whose} top {units} costs {costs} ({metric.name} {value}, random {floor})"


def _nobody(comparison: "Comparison", rows: Sequence[MetricRow], verdict_metrics: set[str]) -> str:
    better = [row for row in rows if not row.control and row.beats_random & verdict_metrics]
    if better:
        verb = "beats" if len(better) == 1 else "beat"
        return f"On this input {_names(better)} {verb} random orders, but no method is clearly ahead of the others."
    units, names = len(comparison.question.encoding.units), plural(name_of_units(comparison.question))
    few = f"; with only {units} {names}, a random order is often right" if units <= FEW else ""
    return f"No method beats random orders on this input, so there is no reason to trust any of these rankings{few}."


def _favours(rows: Sequence[MetricRow]) -> str:
    return f"On this input the evidence favours {_names(rows)}"


def _names(rows: Sequence[MetricRow]) -> str:
    return join_names([f"{row.name} (a control)" if row.control else row.name for row in rows])
