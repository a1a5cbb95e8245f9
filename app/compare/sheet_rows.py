"""The rows of the score sheet: their order, metrics against the random orders, the curve, agreement with the others.

The erasure curves of all methods as plain data, and the component that draws them (assets/curves.js).

titles, axes  of the two plots
percent       where the vertical line stands; 0 for none
reverse       whether the curves of the reverse order are drawn too
random        shares, and per experiment mean, low and high of the random orders; None before they are there
lines         id, name, colour, dash, featured, shares, removed, kept, and reverse with shares and values

The consensus comes first, and then the groups of the answer as soon as the run is done. From then on order and groups
stay the same, so that nothing jumps: they belong to a question (model, input, class, methods), and words that are
removed do not change them until somebody sorts again; till then the titles of the groups say that they are of the
earlier answer. What had no time for all methods is ordered once more when the rest of the whole input is done.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from app.compare.drawing_options import EVIDENCE
from app.compare.runs import Run, answer_of
from app.compare.state import RowOrder, compare_state
from app.components import component, newest
from explainers.methods.registry import MethodSpec, method_spec
from explainers.metrics import agreement, faithfulness
from explainers.metrics.spec import MetricSpec
from explainers.report import colours, wording
from explainers.report.answer import OPTIMISED as OPTIMISED_TITLE
from explainers.report.answer import REPORTED as REPORTED_TITLE
from explainers.report.answer import group_meaning, group_title
from explainers.results.answer import CONSENSUS

if TYPE_CHECKING:
    from explainers.report.metric_rows import MetricRow
    from explainers.results.attribution import ErasureCurves
    from explainers.results.comparison import Comparison
    from explainers.results.events import MethodResult, RandomControl

EXPERIMENTS = ("removed", "kept")
BAND = (0.025, 0.975)  # quantiles over the random orders
NOTHING: dict[str, Any] = {"metrics": {}, "curve": None, "agreement": ""}

FEATURED = 3  # rows in full besides those of a person and of the random order
OPTIMISED = {
    "group": "",
    "title": OPTIMISED_TITLE,
    "meaning": "What was sought for the numbers that judge the methods takes no part in the answer.",
}
REPORTED = {
    "group": "",
    "title": REPORTED_TITLE,
    "meaning": "What a model says of its reasons is no evidence of how it decides, so it takes no part in the answer.",
}


@dataclass(frozen=True)
class RowNumbers:
    """What the head of the sheet needs, and the numbers by method."""

    metrics: list[dict[str, Any]]
    random: dict[str, Any] | None
    by_method: dict[str, dict[str, Any]]

    def of(self, method: str) -> dict[str, Any]:
        return self.by_method.get(method, NOTHING)


def columns() -> tuple[MetricSpec, ...]:
    """The metrics that stand in closed rows: those that decide the answer, and then the others."""
    first = faithfulness.decisive_metrics()
    return (*first, *(metric for metric in faithfulness.METRICS if metric not in first))


def row_numbers(run: Run) -> RowNumbers:
    """The numbers of the run, and of the one before where this one has no result yet."""
    own = _of_run(run)
    if run.previous is None or not run.active:
        return own
    before = _of_run(run.previous)
    heads, random = (own.metrics, own.random) if own.random is not None else (before.metrics, before.random)
    return RowNumbers(heads, random, before.by_method | own.by_method)


def _of_run(run: Run) -> RowNumbers:
    if run.decision is None:
        return RowNumbers([_head(metric, [], ()) for metric in columns()], None, {})
    return run.view("row numbers", run.settled, lambda: _row_numbers(run.comparison()))


def _row_numbers(comparison: "Comparison") -> RowNumbers:
    from explainers.report.metric_rows import metric_rows

    control = comparison.random_control
    rows = {row.method: row for row in metric_rows(comparison)}
    heads = [
        _head(metric, [row.metrics[metric.id] for row in rows.values()], _scores(control, metric))
        for metric in columns()
    ]
    by_method = {
        result.attribution.method: {
            "metrics": _metrics(rows.get(result.method)),
            "curve": None if result.curves.only_ends else curve_values(result.curves),
            "agreement": _agreement(comparison, result.attribution.method),
        }
        for result in comparison.results
    }
    random = random_values(control) if control is not None else None
    if control is not None and random is not None and control.method in by_method:
        mean = {"shares": random["shares"], **{experiment: random[experiment]["mean"] for experiment in EXPERIMENTS}}
        by_method[control.method]["curve"] = mean
    return RowNumbers(heads, random, by_method)


def _scores(control: "RandomControl | None", metric: MetricSpec) -> tuple[float, ...]:
    return tuple(control.scores.get(metric.id, ())) if control is not None else ()


def _head(metric: MetricSpec, values: list[float], random: tuple[float, ...]) -> dict[str, Any]:
    """The column of a metric; its bars reach from the lowest to the highest value of any row."""
    defined = [value for value in (*values, *random, 0.0) if not math.isnan(value)]
    band = (
        [_number(float(np.quantile(random, share))) for share in BAND]
        if random and not any(map(math.isnan, random))
        else []
    )
    return {
        "id": metric.id,
        "name": metric.name,
        "arrow": metric.arrow,
        "meaning": f"{metric.meaning} {'Higher' if metric.higher_is_better else 'Lower'} is better.",
        "low": _number(min(defined)),
        "high": _number(max(defined)),
        "band": band,
    }


def _metrics(row: "MetricRow | None") -> dict[str, dict[str, Any]]:
    """Return by metric the text, the exact one, and the value."""
    if row is None:
        return {}
    return {
        metric.id: {
            "text": wording.decimals(row.metrics[metric.id], 2),
            "exact": _exact(row, metric),
            "value": None if math.isnan(row.metrics[metric.id]) else _number(row.metrics[metric.id]),
        }
        for metric in columns()
    }


def _exact(row: "MetricRow", metric: MetricSpec) -> str:
    noise = row.noise[metric.id]
    spread = f" ± {wording.decimals(noise, metric.places)}" if metric.sampling_noise and noise > 0 else ""
    return f"{wording.decimals(row.metrics[metric.id], metric.places)}{spread}"


def curve_values(curves: "ErasureCurves") -> dict[str, list[float]]:
    lines = {experiment: rounded(getattr(curves, experiment)[:, curves.label]) for experiment in EXPERIMENTS}
    return {"shares": rounded(curves.shares), **lines}


def random_values(control: "RandomControl") -> dict[str, Any]:
    result: dict[str, Any] = {"shares": rounded(control.curves[0].shares)}
    for experiment in EXPERIMENTS:
        lines = np.stack([getattr(order, experiment)[:, order.label] for order in control.curves])
        low, high = np.quantile(lines, BAND, axis=0)
        result[experiment] = {"mean": rounded(lines.mean(axis=0)), "low": rounded(low), "high": rounded(high)}
    return result


def _agreement(comparison: "Comparison", method: str) -> str:
    """Mean ρ with the other methods that explain."""
    specs = {result.attribution.method: method_spec(result.attribution.method) for result in comparison.results}
    own = next(result.attribution.scores for result in comparison.results if result.attribution.method == method)
    values = [
        agreement.spearman(own, result.attribution.scores)
        for result in comparison.results
        if result.method != method and specs[result.method].explains and not specs[result.method].is_joint
    ]
    defined = [value for value in values if not math.isnan(value)]
    return wording.decimals(float(np.mean(defined))) if defined else ""


def rounded(values: Any) -> list[float]:
    return [_number(float(value)) for value in values]


def _number(value: float) -> float:
    return round(value, 4) + 0.0


LONGEST_LABEL = 30  # characters of the class


def show_curves(data: dict[str, Any]) -> None:
    component("curves")(key="curves", data=newest("curves", data))


def curve_payload(
    comparison: "Comparison", *, featured: Collection[str], percent: int, reverse: bool, units: str
) -> dict[str, Any]:
    """The sheet of what is finished; the random order is drawn as the mean of several."""
    erasure, control = comparison.decision.settings.erasure, comparison.random_control
    label = wording.target_name(comparison.decision, LONGEST_LABEL)
    return {
        "titles": [f"p({label}) without the most important", f"p({label}) with only the most important"],
        "axes": [f"% of the {units} removed ({erasure})", f"% of the {units} kept (others: {erasure})"],
        "percent": percent,
        "reverse": reverse,
        "random": random_values(control) if control is not None else None,
        "lines": [
            _line(result, result.attribution.method in featured)
            for result in comparison.displayed_results
            if not result.curves.only_ends
        ],
    }


def _line(result: "MethodResult", featured: bool) -> dict[str, Any]:
    spec, line = method_spec(result.attribution.method), colours.line_of(result.attribution.method)
    shares, values = result.curves.reverse
    return {
        "id": spec.id,
        "name": spec.name,
        "colour": line.colour,
        "dash": line.dash,
        "featured": featured,
        **curve_values(result.curves),
        "reverse": {"shares": rounded(shares), "values": rounded(values)},
    }


def row_order(run: Run, sort: str) -> RowOrder:
    """The order that was fixed for this question; before the run is done, the usual one."""
    key = question_key(run, sort)
    fixed = compare_state().row_order
    whole = run.status == "done" and not run.comparison().lacks_methods
    settled = [(key, True)] if whole and not run.request.removed else [(key, True), (key, False)]
    if fixed is not None and fixed[0] in settled:
        same = fixed[1].removed == run.request.removed or fixed[1].groups == groups(run)
        return fixed[1] if same else _of_earlier(fixed[1])
    order = current_order(run, sort)
    if run.status == "done":
        compare_state().row_order = ((key, whole), order)
    return order


def _of_earlier(order: RowOrder) -> RowOrder:
    """The order with titles that say that its groups are those of the answer before units were removed or came back."""
    groups = {
        method: {**group, "title": f"{group['title']}, in the earlier answer"}
        if group["group"] and group["title"]
        else group
        for method, group in order.groups.items()
    }
    return order._replace(groups=groups)


def question_key(run: Run, sort: str) -> tuple[object, ...]:
    request = run.request
    return (
        request.model,
        request.example,
        request.label,
        request.versus,
        request.settings.units,
        tuple(run.columns),
        sort,
    )


def current_order(run: Run, sort: str) -> RowOrder:
    """Return the order by the results so far."""
    answer, methods = answer_of(run), tuple(run.columns)
    if sort in faithfulness.METRICS.ids and not run.active:
        methods = tuple(sorted(methods, key=lambda name: _by_metric(run, name, sort)))
    elif sort == EVIDENCE and run.status == "done":
        methods = tuple(sorted(methods, key=lambda name: _position(run, name, answer.order)))
    first = [*answer.supported[:1], *(method for method, _ in answer.differs[:1])] if run.status == "done" else []
    shown = featured(run, first, methods) | {CONSENSUS}
    return RowOrder((CONSENSUS, *methods), shown, groups(run), run.request.removed)


def groups(run: Run) -> Mapping[str, Mapping[str, str]]:
    """Return by method its group in the answer with title and meaning; none before the run is done."""
    answer = answer_of(run)
    if run.status != "done" or answer.status == "pending":
        return {}
    comparison = run.comparison()
    tested = {
        method: {
            "group": answer.group(method),
            "title": group_title(answer, comparison, method),
            "meaning": group_meaning(answer, comparison, method),
        }
        for method in answer.order
    }
    apart = {method: OPTIMISED for method, column in run.columns.items() if column.spec.optimised}
    reported = {method: REPORTED for method, column in run.columns.items() if column.spec.is_report}
    return tested | reported | apart


def featured(run: Run, first: list[str], methods: tuple[str, ...]) -> frozenset[str]:
    """Return the first supported and the first differing method, a learned one, and then whatever comes first."""
    specs = [run.columns[name].spec for name in methods]
    explaining = [spec for spec in specs if spec.explains and not spec.is_control and not spec.is_given]
    chosen = [name for name in first if name in methods]
    chosen += [spec.id for spec in explaining if _picked_weights(spec)]  # a person has asked for them
    learned = [spec.id for spec in explaining if spec.learns and not spec.optimised]
    if not set(chosen) & set(learned):
        chosen += learned[:1]
    chosen += [spec.id for spec in (*explaining, *specs) if spec.id not in chosen and not spec.is_random]
    always = [spec.id for spec in specs if spec.is_random or spec.is_supplied]
    return frozenset([*dict.fromkeys(chosen)][:FEATURED] + always)


def _picked_weights(spec: MethodSpec) -> bool:
    """Return whether it has other weights than the method's own."""
    return any(name == "variant" for name, _ in spec.fixed)


def sort_again() -> None:
    """Forgets the order, so that it follows the present results."""
    compare_state().row_order = None


def is_sorted(run: Run, sort: str) -> bool:
    """Return whether the rows stand as the present results would have them."""
    if run.status != "done":
        return True
    fixed, current = row_order(run, sort), current_order(run, sort)
    return (fixed.methods, fixed.groups) == (current.methods, current.groups)


def _position(run: Run, name: str, order: tuple[str, ...]) -> tuple[int, int]:
    return (0, order.index(name)) if name in order else (1 + run.columns[name].spec.optimised, 0)


def _by_metric(run: Run, method: str, metric: str) -> tuple[bool, float]:
    result = run.result(method)
    if result is None or run.columns[method].spec.optimised or metric not in result.metrics:
        return True, 0.0  # what was optimised on the metrics is not ranked by them
    return False, -faithfulness.METRICS.get(metric).sign * result.metrics[metric]
