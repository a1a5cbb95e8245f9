"""The metrics' points of finished explanations under the model's other erasure operators.

An explanation is made with the operator of the settings. Whether its lead depends on that operator shows only when its
units are erased in another way.
"""

from collections.abc import Sequence

import numpy as np

from explainers.metrics.erasure import Answers, erasure_curves, erasure_masks
from explainers.metrics.faithfulness import METRICS
from explainers.models.inputs.encoding import Erasure
from explainers.models.meter import Meter
from explainers.results.attribution import Attribution
from explainers.results.comparison import Question
from explainers.results.erasure_curves import metric_counts
from explainers.results.operator_check import OperatorCheck

Scores = tuple[float, ...]
Values = dict[str, float]  # by metric id


def other_operators(question: Question) -> tuple[Erasure, ...]:
    """The model's erasure operators without the one of the settings."""
    return tuple(each for each in question.model.erasures if each != question.settings.erasure)


def check_operator(
    question: Question,
    erasure: Erasure,
    attributions: Sequence[Attribution],
    orders: Sequence[Scores],
    meter: Meter,
    known: OperatorCheck | None = None,
) -> OperatorCheck:
    """The metrics of `attributions` and of the random `orders` under `erasure`; what is `known` is not asked again.

    `meter.cancel` stops it within one batch by raising `Cancelled`.
    """
    known = known or OperatorCheck(erasure)
    answers = Answers(question.model.metered(meter), question.encoding, erasure)
    missing = {each.method: each.scores for each in attributions if each.method not in known.metrics}
    new_orders = () if known.random else orders
    _prefetch(answers, [*missing.values(), *new_orders])
    metrics = {method: _metrics(answers, scores, question.label) for method, scores in missing.items()}
    by_order = [_metrics(answers, order, question.label) for order in new_orders]
    random = {metric: tuple(values[metric] for values in by_order) for metric in (by_order[0] if by_order else ())}
    either = {**known.metrics, **metrics}
    return OperatorCheck(erasure, {each.method: either[each.method] for each in attributions}, known.random or random)


def _prefetch(answers: Answers, orders: Sequence[Scores]) -> None:
    """Asks for all masks at once, so that batches are large and no mask is computed twice."""
    counts = metric_counts(len(answers.encoding.units))
    if orders:
        answers.probabilities(np.vstack([erasure_masks(order, counts, kept=True) for order in orders]))


def _metrics(answers: Answers, scores: Scores, label: int) -> Values:
    curves = erasure_curves(answers, scores, label, metric_counts(len(scores)))
    return {metric.id: metric.score(curves) for metric in METRICS if not metric.every_count}
