"""The metrics of a comparison, a row per method, as in the tables of page, document, terminal and CSV file."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from explainers.comparison.candidates import abstains
from explainers.comparison.leaders import leaders
from explainers.methods.registry import method_spec
from explainers.metrics.faithfulness import METRICS, tied_at
from explainers.metrics.spec import MetricSpec

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison, MethodResult, RandomControl

Values = dict[str, float]  # by metric id


@dataclass(frozen=True)
class MetricRow:
    """One method's metrics by id, NaN where undefined; `noise` is the standard deviation of each.

    `best` are the metrics in which the method leads, `beats_random` those in which it is beyond the 95 % band of the
    random orders, `ties` the percents at which the cut falls between equal scores.
    """

    method: str
    name: str
    metrics: Values
    noise: Values
    control: bool = False
    comparable: bool = True
    optimised: bool = False
    seconds: float | None = None
    calls: int | None = None
    best: frozenset[str] = frozenset()
    beats_random: frozenset[str] = frozenset()
    ties: tuple[int, ...] = ()

    @property
    def ties_note(self) -> str:
        cuts = ", ".join(map(str, self.ties))
        return f"Equal scores at the top {cuts} %, where the position in the input decides." if self.ties else ""


def metric_rows(comparison: "Comparison") -> list[MetricRow]:
    """A row per method in the order of display, then the random control with the aggregate over its orders."""
    rows, control = [_row(result, comparison) for result in comparison.displayed_results], comparison.random_control
    if control is None:
        return rows
    best = {metric.id: _leading(rows, control, metric) for metric in METRICS}
    beyond = {metric.id: _beating_random(rows, control, metric) for metric in METRICS}
    marked = [
        replace(
            row,
            best=frozenset(metric for metric, methods in best.items() if row.method in methods),
            beats_random=frozenset(metric for metric, methods in beyond.items() if row.method in methods),
        )
        for row in rows
    ]
    return [*marked, _random_row(control)]


def _row(result: "MethodResult", comparison: "Comparison") -> MetricRow:
    attribution, spec = result.attribution, method_spec(result.attribution.method)
    return MetricRow(
        spec.id,
        spec.display_name,
        _registered(result.metrics),
        _registered(result.noise),
        control=spec.is_control,
        comparable=spec.comparable and not abstains(result, comparison),
        optimised=spec.optimised,
        seconds=attribution.seconds,
        calls=attribution.model_calls,
        ties=tied_at(attribution.scores),
    )


def _random_row(control: "RandomControl") -> MetricRow:
    name = f"Random, mean of {len(control.curves)} orders"
    metrics, deviations = _registered(dict(control.metrics)), _registered(control.deviations)
    return MetricRow(control.method, name, metrics, deviations, control=True)


def _registered(values: Values) -> Values:
    """Every registered metric, NaN for those that were registered after the comparison."""
    return {metric.id: values.get(metric.id, math.nan) for metric in METRICS}


def _leading(rows: Sequence[MetricRow], control: "RandomControl", metric: MetricSpec) -> frozenset[str]:
    return _leaders([row for row in rows if row.comparable], control, metric)


def _beating_random(rows: Sequence[MetricRow], control: "RandomControl", metric: MetricSpec) -> frozenset[str]:
    alone = (_leaders([row], control, metric) for row in rows if not row.optimised)
    return frozenset[str]().union(*alone)


def _leaders(rows: Sequence[MetricRow], control: "RandomControl", metric: MetricSpec) -> frozenset[str]:
    """The methods that lead among `rows`; none where the metric of the random orders is not available."""
    scores = {row.method: row.metrics[metric.id] for row in rows}
    noise = {row.method: row.noise[metric.id] for row in rows}
    random_scores = list(control.scores.get(metric.id, (math.nan,)))
    return leaders(scores, noise, random_scores, higher=metric.higher_is_better)
