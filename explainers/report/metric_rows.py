"""The metrics of a comparison, a row per method, as in the tables of page, document, terminal and CSV file."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explainers.comparison.answer import answer
from explainers.methods.registry import method_spec
from explainers.metrics.faithfulness import METRICS, tied_at
from explainers.report.answer import OPTIMISED, REPORTED, group_title
from explainers.results.answer import Answer, Group

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison
    from explainers.results.events import MethodResult, RandomControl

CONTROLS = "controls"
Values = dict[str, float]  # by metric id


@dataclass(frozen=True)
class MetricRow:
    """One method's metrics by id, NaN where undefined; `noise` is the standard deviation of each.

    `group` is the method's in the answer, `title` says so in words; `ties` are the percents at which the cut falls
    between equal scores.
    """

    method: str
    name: str
    metrics: Values
    noise: Values
    optimised: bool = False
    seconds: float | None = None
    calls: int | None = None
    group: Group = ""
    title: str = ""
    ties: tuple[int, ...] = ()

    @property
    def ties_note(self) -> str:
        cuts = ", ".join(map(str, self.ties))
        return f"Equal scores at the top {cuts} %, where the position in the input decides." if self.ties else ""


def metric_rows(comparison: "Comparison") -> list[MetricRow]:
    """Return a row per method, group by group and then in the order of display; last the random control with the
    aggregate over its orders."""
    given = comparison.answer or answer(comparison, finished=True)
    places = {method: place for place, method in enumerate(given.order)}
    results = sorted(comparison.displayed_results, key=lambda result: places.get(result.method, len(places)))
    rows = [_row(result, given.group(result.method), _title(given, comparison, result.method)) for result in results]
    control = comparison.random_control
    return rows if control is None else [*rows, _random_row(control)]


def _title(given: Answer, comparison: "Comparison", method: str) -> str:
    """Return the title of the method's group, also of one that takes no part in the answer."""
    if method_spec(method).optimised:
        return OPTIMISED
    if method_spec(method).is_report:
        return REPORTED
    return group_title(given, comparison, method) or (CONTROLS if method_spec(method).is_control else "")


def _row(result: "MethodResult", group: Group, title: str) -> MetricRow:
    attribution, spec = result.attribution, method_spec(result.method)
    return MetricRow(
        spec.id,
        spec.display_name,
        _registered(result.metrics),
        _registered(result.noise),
        optimised=spec.optimised,
        seconds=None if spec.is_joint else attribution.seconds,
        calls=None if spec.is_joint else attribution.model_calls,
        group=group,
        title=title,
        ties=tied_at(attribution.scores),
    )


def _random_row(control: "RandomControl") -> MetricRow:
    name = f"Random, mean of {len(control.curves)} orders"
    values, deviations = _registered(dict(control.metrics)), _registered(control.deviations)
    return MetricRow(control.method, name, values, deviations, title=CONTROLS)


def _registered(values: Values) -> Values:
    """Every registered metric, NaN for those that were registered after the comparison."""
    return {metric.id: values.get(metric.id, math.nan) for metric in METRICS}
