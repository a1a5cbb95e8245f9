"""Every method on a data set by the metrics of the papers as published."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from explainers.comparison.decision import card_of
from explainers.comparison.runner import example_of
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.evaluation import record_file
from explainers.evaluation.measurement import (
    Explain,
    Scores,
    control_scores,
    explained_by,
    final_attribution,
    predicted_class,
)
from explainers.methods.registry import MethodSpec, applicable
from explainers.metrics import bootstrap, erasure
from explainers.models.calls import PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.report import evaluation_tables, paper_definitions, paper_tables, tables
from explainers.results.decision import Decision, Settings
from explainers.results.events import Failure

PUBLISHED_METRICS = "published_metrics.json"  # in a bundle's folder and in that of a run
Progress = Callable[[str], None]


@dataclass(frozen=True)
class PublishedValues:
    """A value per metric and input for every method and control, the inputs in the same order; or why one failed."""

    values: dict[str, list[dict[str, float]]]
    reasons: dict[str, str]

    def rows(self) -> list[dict[str, Any]]:
        """A row per method and control with an interval per metric, or the reason why there is none."""
        return [_row(method, mine, self.reasons.get(method, "")) for method, mine in self.values.items()]

    def gains(self, method: str) -> dict[str, dict[str, bootstrap.Interval]]:
        """Return by other method and metric the paired difference of `method` to it, positive where `method` is better;
        without those that failed on an input."""
        mine = self.values[method]
        better = {metric.id: 1 if metric.higher_is_better else -1 for metric in paper_definitions.PUBLISHED}
        return {
            other: {
                id: bootstrap.mean_interval(
                    np.array([better[id] * (a[id] - b[id]) for a, b in zip(mine, theirs, strict=True)])
                )
                for id in mine[0]
            }
            for other, theirs in self.values.items()
            if other != method and len(theirs) == len(mine)
        }


def published_rows(
    model: FrozenModel,
    inputs: Sequence[Example],
    specs: Sequence[MethodSpec],
    settings: Settings,
    progress: Progress,
    explain: Explain = final_attribution,
) -> list[dict[str, Any]]:
    """A row per method and control with an interval per metric, or the reason why there is none.

    Only metrics whose operator the model has. Raises `DataUnavailable` if no input has a unit.
    """
    return measure_published(model, inputs, specs, settings, progress, explain=explain).rows()


@dataclass(frozen=True)
class KeptInputs:
    """A file with what was measured on every input, by which an interrupted measurement goes on; `signature` says of
    what."""

    path: Path
    signature: Mapping[str, Any]


def measure_published(
    model: FrozenModel,
    inputs: Sequence[Example],
    specs: Sequence[MethodSpec],
    settings: Settings,
    progress: Progress,
    metrics: Sequence[paper_definitions.PublishedMetric] = paper_definitions.PUBLISHED,
    kept: KeptInputs | None = None,
    explain: Explain = final_attribution,
) -> PublishedValues:
    """Every one of the `metrics` of every method and control on every input that has a unit.

    Only metrics whose operator the model has. Raises `DataUnavailable` if no input has a unit, and `ExplanationError`
    if the file of `kept` has another signature.
    """
    metrics = [metric for metric in metrics if metric.erasure in model.erasures]
    values, reasons = dict[str, list[dict[str, float]]](), dict[str, str]()
    encodings = [
        encoding for encoding in (model.encode(example, settings.unit) for example in inputs) if encoding.units
    ]
    if not encodings:
        raise DataUnavailable("None of the inputs has a word.")
    records = [] if kept is None else record_file.resume_records(kept.path, kept.signature)
    with nullcontext() if kept is None else record_file.appending(kept.path) as append:
        for number, encoding in enumerate(encodings):
            if number >= len(records):
                records.append(_measured(model, encoding, specs, settings, metrics, explain))
                if append is not None:
                    append(records[-1])
            if (number + 1) % 25 == 0:
                progress(f"{number + 1} of {len(encodings)} inputs")
    for record in records:
        for method in record["methods"]:
            values.setdefault(method, [])
        for method, mine in record["values"].items():
            values[method].append(mine)
        reasons |= record["reasons"]
    return PublishedValues(values, reasons)


def _measured(
    model: FrozenModel,
    encoding: Encoding,
    specs: Sequence[MethodSpec],
    settings: Settings,
    metrics: Sequence[paper_definitions.PublishedMetric],
    explain: Explain,
) -> dict[str, Any]:
    """The metrics of one input by method: of those that answered `values`, of the others `reasons`."""
    pooled, reasons = model.pooled(PredictionCache()), dict[str, str]()
    decision = Decision(card_of(model), encoding, predicted_class(pooled, encoding), settings)
    controls, orders = control_scores(decision), dict[str, list[Scores]]()
    tried = applicable(specs, example_of(encoding))
    for spec, result in explained_by(specs, pooled, decision, explain):
        if isinstance(result, Failure):
            reasons[spec.id] = result.reason
        else:
            orders[spec.id] = [result.scores]
    values = {
        method: _mean([published_values(pooled, decision, scores, metrics) for scores in several])
        for method, several in {**orders, **controls}.items()
    }
    return {"methods": [*(spec.id for spec in tried), *controls], "values": values, "reasons": reasons}


def published_values(
    model: FrozenModel, decision: Decision, scores: Scores, metrics: Sequence[paper_definitions.PublishedMetric]
) -> dict[str, float]:
    """The metrics of one explanation, by id."""
    result = {}
    for metric in metrics:
        answers = erasure.MaskedPredictor(model, decision.encoding, metric.erasure)
        curves = erasure.erasure_curves(answers, scores, decision.label, metric.points(len(scores)))
        result[metric.id] = metric.score(curves)
    return result


def _mean(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {id: float(np.mean([values[id] for values in several])) for id in several[0]}


def _row(method: str, values: Sequence[Mapping[str, float]], reason: str) -> dict[str, Any]:
    row: dict[str, Any] = {"method": method, "inputs": len(values), **({"reason": reason} if reason else {})}
    if not values:
        return row
    return row | {
        "metrics": {id: asdict(bootstrap.mean_interval(np.array([value[id] for value in values]))) for id in values[0]}
    }


def published_markdown(table: Mapping[str, Any]) -> str:
    """The means by method, what each metric is, and its source."""
    known = [
        metric
        for metric in paper_definitions.PUBLISHED
        if any(metric.id in row.get("metrics", {}) for row in table["rows"])
    ]
    means = tables.Table((evaluation_tables.METHOD, *map(_mean_column, known), tables.TableColumn("inputs", _inputs)))
    return "\n\n".join([means.markdown(table["rows"]), paper_tables.DEFINITIONS.markdown(known)])


def _mean_column(metric: paper_definitions.PublishedMetric) -> tables.TableColumn[Mapping[str, Any]]:
    arrow = "↑" if metric.higher_is_better else "↓"
    return tables.TableColumn(
        f"{metric.name} {arrow}", lambda row: row.get("metrics", {}).get(metric.id), tables.plus_minus()
    )


def _inputs(row: Mapping[str, Any]) -> str:
    return f"{row['inputs']:,}" if "metrics" in row else f"failed: {row['reason']}"
