"""Every method on a data set by the metrics of the papers as published."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from explainers.comparison.runner import example_of, failure
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.evaluation.measurement import Scores, control_scores, final_attribution, predicted_class
from explainers.methods.registry import applicable
from explainers.methods.spec import MethodSpec
from explainers.metrics.erasure import Answers, erasure_curves
from explainers.metrics.intervals import paired
from explainers.metrics.published import PUBLISHED, PublishedMetric
from explainers.models.answer_pool import AnswerPool
from explainers.models.frozen_model import FrozenModel
from explainers.results.comparison import Question
from explainers.results.settings import Settings

Progress = Callable[[str], None]


def published_rows(
    model: FrozenModel, inputs: Sequence[Example], specs: Sequence[MethodSpec], settings: Settings, progress: Progress
) -> list[dict[str, Any]]:
    """A row per method and control with an interval per metric, or the reason why there is none.

    Only metrics whose operator the model has. Raises `DataUnavailable` if no input has a unit.
    """
    metrics = [metric for metric in PUBLISHED if metric.erasure in model.erasures]
    values, reasons = dict[str, list[dict[str, float]]](), dict[str, str]()
    encodings = [each for each in (model.encode(example, settings.unit) for example in inputs) if each.units]
    if not encodings:
        raise DataUnavailable("None of the inputs has a word.")
    for number, encoding in enumerate(encodings):
        pooled = model.pooled(AnswerPool())
        question = Question(pooled, encoding, predicted_class(pooled, encoding), settings)
        orders = control_scores(question)
        for spec in applicable(specs, example_of(encoding)):
            values.setdefault(spec.id, [])
            try:
                orders[spec.id] = [final_attribution(spec, question).scores]
            except Exception as error:  # one method must not end the others
                reasons[spec.id] = failure(spec.id, error).reason
        for method, several in orders.items():
            values.setdefault(method, []).append(_mean([measured(question, each, metrics) for each in several]))
        if (number + 1) % 25 == 0:
            progress(f"{number + 1} of {len(encodings)} inputs")
    return [_row(method, mine, reasons.get(method, "")) for method, mine in values.items()]


def measured(question: Question, scores: Scores, metrics: Sequence[PublishedMetric]) -> dict[str, float]:
    """The metrics of one explanation, by id."""
    result = {}
    for metric in metrics:
        answers = Answers(question.model, question.encoding, metric.erasure)
        curves = erasure_curves(answers, scores, question.label, metric.points(len(scores)))
        result[metric.id] = metric.score(curves)
    return result


def _mean(several: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {id: float(np.mean([each[id] for each in several])) for id in several[0]}


def _row(method: str, values: Sequence[Mapping[str, float]], reason: str) -> dict[str, Any]:
    row: dict[str, Any] = {"method": method, "inputs": len(values)}
    if not values:
        return row | {"reason": reason}
    return row | {"metrics": {id: asdict(paired(np.array([each[id] for each in values]))) for id in values[0]}}
