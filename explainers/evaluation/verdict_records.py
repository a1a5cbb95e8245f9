"""What the verdict of one input rests on as a record of a few kilobytes, and the comparison made of it again.

A rule of the verdict may then change without anything being computed anew.

{"text": number, "seed": seed, "probabilities": […], "methods": {id: {"scores", "noise", "removed", "kept"}},
"random": [[removed, kept], …], "operators": {operator: {"metrics": …, "random": …}}, "failures": {id: reason}}

Curves are read at `metric_counts`, so metrics that need every count are not those of the page.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from explainers.comparison.operator_check import check_operator, other_operators
from explainers.comparison.question import ask
from explainers.comparison.runner import estimates, failure, random_orders
from explainers.datasets.example import Example
from explainers.methods.spec import MethodSpec
from explainers.metrics.erasure import Answers, erasure_curves
from explainers.metrics.faithfulness import all_metrics, random_control, sampling_noise
from explainers.models.answer_pool import AnswerPool
from explainers.models.frozen_model import FrozenModel
from explainers.models.meter import Meter
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison, Failure, MethodResult, Question
from explainers.results.erasure_curves import ErasureCurves, metric_counts
from explainers.results.operator_check import OperatorCheck
from explainers.results.settings import Settings

DIGITS = 6
Record = dict[str, Any]


def verdict_record(
    model: FrozenModel,
    example: Example,
    number: int,
    specs: Sequence[MethodSpec],
    settings: Settings,
    *,
    operators: bool,
) -> Record:
    """The predicted class of input `number` explained by every method; with `operators` also the other operators."""
    model = model.pooled(AnswerPool())
    question, probabilities = ask(model, example, settings=settings)
    attributions, failures = _explained(question, specs)
    answers = Answers(model, question.encoding, settings.erasure)
    orders = random_orders(model, question.encoding, settings.seed)
    others = other_operators(question) if operators else ()
    checks = [check_operator(question, each, attributions, orders, Meter()) for each in others]
    return {
        "text": number,
        "seed": settings.seed,
        "probabilities": probabilities,
        "methods": {each.method: _method_record(answers, each) for each in attributions},
        "random": [_curves_record(answers, order, question.label) for order in orders],
        "operators": {each.erasure: {"metrics": each.metrics, "random": each.random} for each in checks},
        "failures": failures,
    }


def comparison_of(record: Record, model: FrozenModel, example: Example, settings: Settings) -> Comparison:
    """The comparison as far as a verdict reads it; the model encodes the input and is asked nothing."""
    probabilities = tuple(record["probabilities"])
    label = int(np.argmax(probabilities))
    question = Question(model, model.encode(example, settings.unit), label, settings)
    return Comparison(
        question,
        probabilities,
        tuple(_result(question, method, each) for method, each in record["methods"].items()),
        random_control(tuple(_curves(question, *each) for each in record["random"])),
        tuple(Failure(method, reason) for method, reason in record["failures"].items()),
        operator_checks=tuple(_operator_check(erasure, each) for erasure, each in record["operators"].items()),
    )


def _explained(question: Question, specs: Sequence[MethodSpec]) -> tuple[list[Attribution], dict[str, str]]:
    """The attributions, and by method the reasons why there is none."""
    attributions, failures = [], {}
    for spec in specs:
        try:
            *_, last = estimates(spec, question, Meter())
            attributions.append(last)
        except Exception as error:  # one method must not end hours of the others
            failures[spec.id] = failure(spec.id, error).reason
    return attributions, failures


def _method_record(answers: Answers, attribution: Attribution) -> Record:
    removed, kept = _curves_record(answers, attribution.scores, attribution.label)
    noise = sampling_noise(answers, attribution.draws, attribution.label)
    return {"scores": attribution.scores, "noise": noise, "removed": removed, "kept": kept}


def _curves_record(answers: Answers, scores: tuple[float, ...], label: int) -> list[list[list[float]]]:
    """The probabilities when the top units are removed, and when they are kept."""
    curves = erasure_curves(answers, scores, label, metric_counts(len(scores)))
    return [np.round(line, DIGITS).tolist() for line in (curves.removed, curves.kept)]


def _result(question: Question, method: str, record: Record) -> MethodResult:
    attribution = Attribution(method, question.encoding, question.label, tuple(record["scores"]), signed=True)
    curves = _curves(question, record["removed"], record["kept"])
    return MethodResult(attribution, curves, all_metrics(curves), record["noise"])


def _curves(question: Question, removed: list[list[float]], kept: list[list[float]]) -> ErasureCurves:
    counts = metric_counts(len(question.encoding.units))
    return ErasureCurves(counts, np.asarray(removed), np.asarray(kept), question.label)


def _operator_check(erasure: Any, record: Record) -> OperatorCheck:
    random = {metric: tuple(values) for metric, values in record["random"].items()}
    return OperatorCheck(erasure, record["metrics"], random)
