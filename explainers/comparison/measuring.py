"""How a comparison explains a text in windows and measures an explanation, and the random orders beside it.

Within a budget of time there may be fewer measurements at first, and fewer random orders.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from explainers.attribution.controls import control_orders
from explainers.comparison.budget import UNLIMITED, Budget
from explainers.methods.registry import Method, MethodSpec
from explainers.metrics import chance, faithfulness
from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.results.attribution import Attribution, curve_counts, floats, metric_counts
from explainers.results.decision import RANDOM_ORDERS, Decision
from explainers.results.events import MethodResult, OperatorCheck, RandomControl

Scores = tuple[float, ...]


def attributions(
    spec: MethodSpec, method: Method, model: FrozenModel, encoding: Encoding, label: int
) -> Iterator[Attribution]:
    """Yield one attribution, or several that improve.

    A learned method whose network is told the class explains every window as an input of its own; each unit's score
    is then weighted by the window's share of the answer. Other methods explain the whole input.
    """
    if not (encoding.windows and spec.reads_class):
        yield from _steps(method, model, encoding, label)
        return
    parts, meter, used = [part for part in encoding.window_inputs if part.units], model.meter, model.meter.used
    for estimates in zip(*(_steps(method, model, part.encoding, label) for part in parts), strict=True):
        meter.asked += (meter.used - used) // len(parts)  # as if they were answers to the whole text
        used, scores = meter.used, np.zeros(len(encoding.units))
        for part, estimate in zip(parts, estimates, strict=True):
            scores[list(part.units)] += part.share * np.asarray(estimate.scores)
        yield replace(estimates[0], encoding=encoding, scores=floats(scores))


def _steps(method: Method, model: FrozenModel, encoding: Encoding, label: int) -> Iterator[Attribution]:
    refine = getattr(method, "refine", None)
    if refine is None:
        yield method.attribute(model, encoding, label)
    else:
        yield from refine(model, encoding, label)


def measure(answers: MaskedPredictor, attribution: Attribution) -> MethodResult:
    """Return the attribution with its curves, every metric and their noise."""
    (curves,), (metrics,) = faithfulness.curves_and_metrics(answers, [attribution.scores], attribution.label)
    noise = faithfulness.sampling_noise(answers, attribution.draws, attribution.label)
    return MethodResult(attribution, curves, metrics, noise)


def first_measure(answers: MaskedPredictor, attribution: Attribution) -> MethodResult:
    """Return what the answer reads: the metrics at `PERCENTS`, with a curve through these. The result has ended
    early."""
    return measure_at(answers, attribution.ended(), metric_counts(len(attribution.scores)))


def measure_at(answers: MaskedPredictor, attribution: Attribution, counts: tuple[int, ...]) -> MethodResult:
    """Return the metrics at `PERCENTS`, with a curve at `counts`, which hold `metric_counts`; no other metric, and of
    those that sample no noise."""
    scores, label = attribution.scores, attribution.label
    curves = erasure_curves(answers, scores, label, counts)
    metrics = faithfulness.measured(answers, scores, label, faithfulness.metrics_at_percents(), curves=curves)
    return MethodResult(attribution, curves, _undefined() | metrics, faithfulness.sampling_noise(answers, (), label))


def unmeasured(answers: MaskedPredictor, attribution: Attribution) -> MethodResult:
    """Return the attribution with the two ends of its curve, which all orders share. The result has ended early."""
    scores, label = attribution.scores, attribution.label
    curves = erasure_curves(answers, scores, label, (0, len(scores)))
    return MethodResult(attribution.ended(), curves, _undefined(), faithfulness.sampling_noise(answers, (), label))


def _undefined() -> dict[str, float]:
    return {metric.id: math.nan for metric in faithfulness.METRICS}


def run_random_control(
    answers: MaskedPredictor,
    label: int,
    seed: int,
    budget: Budget = UNLIMITED,
    *,
    searched: int = faithfulness.SEARCHED_ORDERS,
) -> RandomControl | None:
    """Return the random orders at the counts that the metrics read; for a short input also every order's evidence. Of a
    budget that does not allow all of them as many as it allows; None where that is none.

    Metrics that need every count are measured for the first `searched` only: no answer depends on them, and they
    would take more passes than all the others. Of fewer orders than all they are not measured.
    """
    orders, units = random_orders(answers.encoding, seed), len(answers.encoding.units)
    done = 0
    while count := budget.next_orders(done, len(orders), units):
        faithfulness.prefetch(answers, orders[done : done + count])
        done += count
    if not done:
        return None
    curves = tuple(erasure_curves(answers, order, label, metric_counts(units)) for order in orders[:done])
    longest = searched * len(curve_counts(units))
    searched = searched if done == len(orders) and budget.allows(longest) else 0
    faithfulness.prefetch_decision_flips(answers, orders[:searched], label)
    metrics = [
        faithfulness.measured(
            answers, order, label, None if number < searched else faithfulness.metrics_at_percents(), curves=known
        )
        for number, (order, known) in enumerate(zip(orders, curves, strict=False))
    ]
    control = faithfulness.random_control(curves, metrics)
    exact = units <= chance.EXACT_UP_TO and done == len(orders) and budget.allows_answer(answers.unasked)
    return replace(control, exact=chance.exact_null(answers, label)) if exact else control


def is_whole(control: RandomControl, units: int) -> bool:
    """Return whether more time would add neither a random order nor, of a short input, all of them."""
    return len(control.curves) == RANDOM_ORDERS and (units > chance.EXACT_UP_TO or control.exact is not None)


def random_orders(encoding: Encoding, seed: int) -> Sequence[Scores]:
    """Return the scores of the random control's orders."""
    return control_orders(len(encoding.units), seed)


def check_operator(
    model: FrozenModel,
    decision: Decision,
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
    answers = MaskedPredictor(model.metered(meter).aimed(decision.target), decision.encoding, erasure)
    missing = {
        attribution.method: attribution.scores
        for attribution in attributions
        if attribution.method not in known.metrics
    }
    new_orders = () if known.random else orders
    faithfulness.prefetch(answers, [*missing.values(), *new_orders])
    metrics = {
        method: faithfulness.measured(answers, scores, decision.label, faithfulness.metrics_at_percents())
        for method, scores in missing.items()
    }
    by_order = [
        faithfulness.measured(answers, order, decision.label, faithfulness.metrics_at_percents())
        for order in new_orders
    ]
    random = {metric: tuple(values[metric] for values in by_order) for metric in (by_order[0] if by_order else ())}
    either = {**known.metrics, **metrics}
    return OperatorCheck(
        erasure,
        {attribution.method: either[attribution.method] for attribution in attributions},
        known.random or random,
    )
