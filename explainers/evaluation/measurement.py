"""One input: the scores of every method and control, and what the metrics say about them under every operator."""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress

import numpy as np

from explainers.comparison.runner import estimates, example_of, failure, random_orders
from explainers.datasets.example import Example
from explainers.evaluation.names import AVGSEN, CONTROLS, POSITION, RANDOM
from explainers.evaluation.plan import Plan
from explainers.evaluation.records import Record, RecordKey, weights_checksum
from explainers.methods.registry import applicable
from explainers.methods.spec import MethodSpec
from explainers.metrics import evidence
from explainers.metrics.erasure import Answers, erasure_curves, erasure_masks
from explainers.metrics.faithfulness import METRICS
from explainers.metrics.sensitivity import sensitivity
from explainers.models.answer_pool import AnswerPool
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.models.meter import Meter
from explainers.results.attribution import Attribution
from explainers.results.comparison import Question
from explainers.results.erasure_curves import ErasureCurves, metric_counts

Scores = tuple[float, ...]


def measure_input(
    model: FrozenModel, example: Example, other: Example, number: int, plan: Plan, done: AbstractSet[RecordKey]
) -> Iterator[Record]:
    """The records of input `number` that are not `done`; none for an input without units.

    AvgSen takes replacement words from the input `other`. No mask is computed twice, so that a method's `seconds` are
    those in the company of the methods before it.
    """
    model = model.pooled(AnswerPool())
    encoding = model.encode(example, plan.settings.unit)
    specs = applicable(plan.specs, example_of(encoding))
    weights = {id: weights_checksum(model, id) for id in (*(spec.id for spec in specs), *CONTROLS)}
    missing = [id for id, checksum in weights.items() if (number, id, checksum) not in done]
    if not encoding.units or not missing:
        return
    question = Question(model, encoding, predicted_class(model, encoding), plan.settings)
    records: dict[str, Record] = {}
    orders: dict[str, list[Scores]] = {}
    for spec in (spec for spec in specs if spec.id in missing):
        record = records[spec.id] = {"text": number, "method": spec.id, "weights": weights[spec.id]}
        attribution = _explained(spec, question, record)
        if attribution is not None:
            orders[spec.id] = [attribution.scores]
            if number < plan.sensitive and spec.repeatable:
                with suppress(Exception):  # AvgSen is then missing for this input
                    record[AVGSEN] = _sensitivity(spec, question, other, plan.settings.seed + number)
    for control, control_orders in control_scores(question).items():
        if control in missing:
            records[control] = {"text": number, "method": control, "weights": ""}
            orders[control] = control_orders
    _add_metrics(records, orders, question, plan)
    for method, record in records.items():
        if method in orders:
            record["evidence"] = _evidence_metrics(question, example, method, orders[method])
        yield record


def predicted_class(model: FrozenModel, encoding: Encoding) -> int:
    return int(model.probabilities(encoding, np.ones((1, len(encoding.units)), dtype=bool)).argmax())


def final_attribution(spec: MethodSpec, question: Question) -> Attribution:
    """The last of a method's estimates."""
    *_, last = estimates(spec, question, Meter())
    return last


def control_scores(question: Question) -> dict[str, list[Scores]]:
    """Scores that do not depend on the model: random orders, and the order of the units."""
    model, encoding = question.model, question.encoding
    first_units_first = tuple(float(-position) for position in range(len(encoding.units)))
    return {RANDOM: random_orders(model, encoding, question.settings.seed), POSITION: [first_units_first]}


def metrics_of_scores(answers: Answers, scores: Scores, label: int) -> dict[str, float]:
    """Every metric by id. The model is asked only at the counts that a metric reads or searches."""
    units = len(scores)

    def curves_at(counts: tuple[int, ...]) -> ErasureCurves:
        return erasure_curves(answers, scores, label, counts, kept=False)

    curves = erasure_curves(answers, scores, label, metric_counts(units))
    values: dict[str, float] = {}
    for metric in METRICS:
        if metric.search is not None:
            values[metric.id] = metric.search(curves_at, tuple(range(units + 1)))
        else:
            values[metric.id] = metric.score(erasure_curves(answers, scores, label) if metric.every_count else curves)
    return values


def _explained(spec: MethodSpec, question: Question, record: Record) -> Attribution | None:
    """The attribution; its cost, or the reason why there is none, goes into the record."""
    try:
        attribution = final_attribution(spec, question)
    except Exception as error:  # one method must not end hours of the others
        record["failed"] = failure(spec.id, error).reason
        return None
    record |= {"seconds": attribution.seconds, "calls": attribution.model_calls}
    return attribution


def _sensitivity(spec: MethodSpec, question: Question, other: Example, seed: int) -> float:
    lender = question.model.encode(other, question.settings.unit)
    return sensitivity(_scorer(spec, question), question.encoding, lender, seed=seed)


def _scorer(spec: MethodSpec, question: Question) -> Callable[[Encoding], Scores]:
    """The method's scores of another encoding for the class predicted there."""
    model, settings = question.model, question.settings

    def scores(encoding: Encoding) -> Scores:
        return final_attribution(spec, Question(model, encoding, predicted_class(model, encoding), settings)).scores

    return scores


def _add_metrics(records: dict[str, Record], orders: dict[str, list[Scores]], question: Question, plan: Plan) -> None:
    """Writes the metrics under every operator into the records of the methods that have scores."""
    answers = [Answers(question.model, question.encoding, erasure) for erasure in plan.erasures]
    for each in answers:
        _prefetch(each, [scores for several in orders.values() for scores in several])
    for method, several in orders.items():
        records[method]["figures"] = {
            each.erasure: _aggregated([metrics_of_scores(each, scores, question.label) for scores in several])
            for each in answers
        }


def _prefetch(answers: Answers, orders: Sequence[Scores]) -> None:
    """Fills `answers` in large batches with what all methods need; only late flips are computed one by one."""
    units = len(answers.encoding.units)
    first_counts = tuple(range(units * 2 // 5 + 1))
    masks = [
        erasure_masks(order, counts, kept=kept)
        for order in orders
        for counts, kept in ((metric_counts(units), True), (first_counts, False))
    ]
    if masks:
        answers.probabilities(np.vstack(masks))


def _aggregated(values: Sequence[dict[str, float]]) -> dict[str, float]:
    """Of several orders each metric's aggregate."""
    return {metric.id: metric.aggregate([each[metric.id] for each in values]) for metric in METRICS}


def _evidence_metrics(question: Question, example: Example, method: str, orders: Sequence[Scores]) -> dict[str, float]:
    """How well the scores find the evidence; empty if it is not known or the model predicts another class."""
    if example.evidence is None or question.label != example.label:
        return {}
    if method == RANDOM:
        return evidence.expected_at_random(question.encoding, example.evidence)
    return evidence.evidence_scores(question.encoding, example.evidence, orders[0])
