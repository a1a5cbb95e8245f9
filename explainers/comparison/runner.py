"""All methods on one decision, the quick ones first; each is measured as soon as it is done.

Within a budget the test against random orders comes before what takes long, each method that samples gets an equal
share of the time, and what does not fit is postponed.

An explanation is made with the erasure operator of the settings. Whether its lead depends on that operator shows only
when its units are erased in another way, so the metrics of all methods are computed under the model's other operators
last.
"""

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from explainers.attribution.controls import RANDOM, control_orders
from explainers.comparison.budget import UNLIMITED, Budget, curve_passes, first_passes
from explainers.comparison.consensus import FEWEST_METHODS, consensus_scores, takes_part
from explainers.comparison.decision import ablated_inputs
from explainers.comparison.price import measuring
from explainers.comparison.windows import attributions
from explainers.datasets.example import Example
from explainers.errors import Cancelled, ExplanationError
from explainers.methods.registry import applicable, method_spec
from explainers.methods.spec import IMMEDIATE, KINDS, SLOW, MethodSpec
from explainers.metrics.chance import EXACT_UP_TO, exact_null
from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.metrics.faithfulness import (
    DRAWS,
    SEARCHED_ORDERS,
    curves_and_metrics,
    measured,
    metrics_at_percents,
    postponed_metrics,
    prefetch,
    random_control,
    sampling_noise,
)
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure, needs_one_window
from explainers.models.meter import Meter
from explainers.models.prediction_cache import PredictionCache
from explainers.models.target import Target
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import Attribution, curve_counts, metric_counts
from explainers.results.decision import Decision
from explainers.results.events import (
    Event,
    Failure,
    MethodResult,
    MethodStarted,
    OperatorCheck,
    Postponed,
    RandomControl,
)
from explainers.results.narrative import Narrative, NarrativeCheck
from explainers.results.settings import RANDOM_ORDERS
from explainers.training.artifacts import runnable_narrators

log = logging.getLogger(__name__)

WORDS_ONLY = "Its sentence points to words. Choose words as the unit."
ORDERS_AT_ONCE = 5  # random orders between two looks at the time
Scores = tuple[float, ...]
Values = dict[str, float]  # by metric id


def run(
    model: FrozenModel,
    decision: Decision,
    specs: Iterable[MethodSpec],
    meter: Meter,
    *,
    control_known: bool = False,
    narrators: Sequence[str] | None = None,
    known: Sequence[Attribution] = (),
    known_checks: Sequence[OperatorCheck] = (),
    budget: Budget = UNLIMITED,
) -> Iterator[Event]:
    """Yield the predictions for ablated inputs, estimates and results as they come, the narratives, and the random
    control unless it is known already.

    `narrators` are ids, None for all that are fitted to the model; their sentences are checked before the slow methods.
    The other erasure operators are asked last, about the new results and those `known`, except for `known_checks`.

    No mask is computed twice: all of them ask the model's pool, or one that is made for this run.

    `meter.cancel` stops it within one batch by raising `Cancelled`. A method that fails yields `Failure`, and the
    others go on. With a `budget` what does not fit into it yields `Postponed`.
    """
    model, encoding, target = with_pool(model).metered(meter), decision.encoding, decision.target
    whole = MaskedPredictor(model, encoding, decision.settings.erasure)  # of all classes
    answers = replace(whole, model=model.aimed(target), answers={}) if target.is_contrast else whole
    specs = sorted(applicable(specs, example_of(encoding)), key=lambda spec: KINDS.index(spec.kind))
    units, explained = len(encoding.units), list(known)
    unable = [spec for spec in specs if not spec.can_read(encoding)]
    yield from (Failure(spec.id, needs_one_window(spec.name, encoding)) for spec in unable)
    specs = [spec for spec in specs if spec not in unable]
    if unable and not specs and not known:
        yield from run_narrators(model, decision, narrators, budget)
        return
    slow = [spec for spec in specs if spec.kind in SLOW]

    def methods(chosen: Iterable[MethodSpec], seconds: float = math.inf) -> Iterator[Event]:
        for spec in chosen:
            if spec.is_random or budget.allows(first_passes(spec, decision.settings, units, answers.unasked)):
                part = run_method(spec, model, decision, meter, answers, budget.until(seconds))
                yield from noting(explained, part)
            else:
                yield Postponed(spec.id)

    yield from filter(None, [ablated_inputs(model, decision, meter)])
    yield from methods(spec for spec in specs if spec.kind in IMMEDIATE)
    sentences: list[Narrative] = []
    for event in run_narrators(model, decision, narrators, budget):
        yield event
        sentences += [event] if isinstance(event, Narrative) else []
    quick = [spec for spec in specs if spec.kind not in (*IMMEDIATE, *SLOW)]
    control = None if control_known else run_random_control(answers, target.label, decision.settings.seed, budget)
    if not control_known:
        yield Postponed(RANDOM.id) if control is None else control
        yield from map(Postponed, () if control is None else postponed_metrics(control))
    yield from methods(spec for spec in quick if control_known or control is not None or not spec.is_random)
    yield from run_consensus(answers, explained, target)
    for sentence in sentences:
        yield check(sentence, whole, decision.settings.seed)
    for number, spec in enumerate(slow):
        yield from methods([spec], time_of_slow(budget, decision, len(specs), len(slow) - number, answers.unasked))
    yield from noting(explained, run_consensus(answers, explained, target))
    yield from run_operator_checks(model, decision, explained, meter, known_checks, budget)


def time_of_slow(budget: Budget, decision: Decision, methods: int, slow: int, unasked: int) -> float:
    """Return the seconds for one of so many slow methods that are left: an equal share of what the other operators do
    not need, or of everything where they need more than half of it."""
    units = len(decision.encoding.units)
    per_operator = measuring(methods + RANDOM_ORDERS + 1, units)
    reserved = budget.takes(per_operator * len(other_operators(decision)))
    left = budget.left - (reserved if 2 * reserved <= budget.left else 0)
    return left / slow - budget.takes(min(curve_passes(units, unasked) + measuring(DRAWS, units), unasked))


def with_pool(model: FrozenModel) -> FrozenModel:
    """Return the model with a pool of answers: its own, or a new one."""
    return model if model.pool is not None else model.pooled(PredictionCache())


def noting(explained: list[Attribution], events: Iterator[Event]) -> Iterator[Event]:
    """The events; the attributions that were measured are added to `explained`."""
    for event in events:
        if isinstance(event, MethodResult):
            explained.append(event.attribution)
        yield event


def other_operators(decision: Decision) -> tuple[Erasure, ...]:
    """The model's erasure operators without the one of the settings."""
    return tuple(erasure for erasure in decision.card.erasures if erasure != decision.settings.erasure)


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
    prefetch(answers, [*missing.values(), *new_orders])
    metrics = {
        method: measured(answers, scores, decision.label, metrics_at_percents()) for method, scores in missing.items()
    }
    by_order = [measured(answers, order, decision.label, metrics_at_percents()) for order in new_orders]
    random = {metric: tuple(values[metric] for values in by_order) for metric in (by_order[0] if by_order else ())}
    either = {**known.metrics, **metrics}
    return OperatorCheck(
        erasure,
        {attribution.method: either[attribution.method] for attribution in attributions},
        known.random or random,
    )


def run_operator_checks(
    model: FrozenModel,
    decision: Decision,
    explained: Sequence[Attribution],
    meter: Meter,
    known: Sequence[OperatorCheck] = (),
    budget: Budget = UNLIMITED,
) -> Iterator[OperatorCheck | Postponed]:
    """The explanations that may lead, and random orders, under the model's other operators; none without one."""
    explained = [attribution for attribution in explained if is_checked(method_spec(attribution.method))]
    orders = random_orders(decision.encoding, decision.settings.seed) if explained else []
    for erasure in other_operators(decision) if explained else ():
        before = next((check for check in known if check.erasure == erasure), None)
        missing = [one for one in explained if before is None or one.method not in before.metrics]
        new_orders = 0 if before is not None and before.random else len(orders)
        passes = measuring(len(missing) + new_orders, len(decision.encoding.units))
        if passes and not budget.allows(passes):
            yield Postponed(erasure)
            continue
        try:
            yield check_operator(model, decision, erasure, explained, orders, meter, before)
        except Cancelled:
            raise
        except Exception as error:  # the answer under the chosen operator stands
            yield OperatorCheck(erasure, failure=failure(erasure, error).reason)


def is_checked(spec: MethodSpec) -> bool:
    """Return whether an answer reads what other operators say about the method."""
    return (spec.comparable or spec.is_joint) and not spec.is_random


def example_of(encoding: Encoding) -> Example:
    """The input as it was given."""
    pair = encoding.texts[1] if len(encoding.texts) == 2 else None
    return Example(encoding.texts[0], pair, image=encoding.image)


def run_method(
    spec: MethodSpec,
    model: FrozenModel,
    decision: Decision,
    meter: Meter,
    answers: MaskedPredictor,
    is_late: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """One method from its start to its metrics, or to the reason why it failed. Once it `is_late` an estimate is its
    result."""
    yield MethodStarted(spec.id)
    attribution = None
    try:
        for attribution in estimates(spec, model, decision, meter):
            late = attribution.stage == "estimate" and is_late()
            attribution = attribution.ended() if late else attribution
            yield attribution
            if late:
                break
        meter.check()  # the answers may all be known, so that nothing else looks
        if attribution is not None:
            yield measure(answers, attribution)
    except Cancelled:
        raise
    except Exception as error:  # one method must not end the others
        yield failure(spec.id, error)


def run_narrators(
    model: FrozenModel, decision: Decision, narrators: Sequence[str] | None = None, budget: Budget = UNLIMITED
) -> Iterator[Narrative | Failure | Postponed]:
    """The sentence of each of the narrators, by default of every one that was fitted to the model and can run here.
    They point to words, so that they have none where the units are sentences."""
    if narrators is None:
        narrators = runnable_narrators(model.name, model.version)
    if not narrators:
        return
    from explainers.narrative.narrate import narrate

    for name in narrators:
        if decision.settings.unit == "sentence":
            yield Failure(name, WORDS_ONLY)
            continue
        if not budget.allows(0):
            yield Postponed(name)
            continue
        try:
            yield narrate(model, decision.encoding, name)
        except Cancelled:
            raise
        except Exception as error:  # as above
            yield failure(name, error)


def check(narrative: Narrative, answers: MaskedPredictor, seed: int) -> NarrativeCheck:
    """What can be checked about the narrative, or why that failed."""
    from explainers.narrative.checks import check_narrative

    try:
        checked = check_narrative(narrative, answers, example_of(answers.encoding), seed=seed)
        return replace(checked, chance=chance(narrative, checked, answers))
    except Cancelled:
        raise
    except Exception as error:  # the sentence itself is there
        reason = failure(narrative.method, error).reason
        return NarrativeCheck(narrative.method, true_note=reason, use_note=reason)


def chance(narrative: Narrative, checked: NarrativeCheck, answers: MaskedPredictor) -> float | None:
    """How likely the reason holds; None where that is not known, or cannot be measured."""
    from explainers.narrative.reliability import chance_of

    try:
        return chance_of(answers.model, answers.encoding, narrative, checked.used)
    except Cancelled:
        raise
    except Exception as error:  # what was checked is there
        log.error("the chance of %s failed", narrative.method, exc_info=error)
        return None


def failure(method: str, error: Exception) -> Failure:
    """A sentence for a person; of a programming error only its type, and the traceback in the log."""
    if isinstance(error, ExplanationError):
        return Failure(method, str(error))
    log.error("%s failed", method, exc_info=error)
    return Failure(method, internal_error(error))


def internal_error(error: BaseException) -> str:
    return f"Internal error in Crosslight ({type(error).__name__})."


def estimates(spec: MethodSpec, model: FrozenModel, decision: Decision, meter: Meter) -> Iterator[Attribution]:
    """One attribution, or several that improve, each with its cost so far; answers that are known cost nothing."""
    settings = decision.settings
    method = spec.made_with(settings)
    model = model.metered(meter).aimed(decision.target)
    used, new, seconds, started, waited = meter.answers, meter.calls, 0.0, time.perf_counter(), meter.waited
    for estimate in attributions(spec, method, model, decision.encoding, decision.label):
        seconds += time.perf_counter() - started - (meter.waited - waited)
        yield estimate.costing(seconds, meter.answers - used, meter.calls - new)
        started, waited = time.perf_counter(), meter.waited  # the consumer's time is not the method's


def measure(answers: MaskedPredictor, attribution: Attribution) -> MethodResult:
    (curves,), (metrics,) = curves_and_metrics(answers, [attribution.scores], attribution.label)
    noise = sampling_noise(answers, attribution.draws, attribution.label)
    return MethodResult(attribution, curves, metrics, noise)


def run_random_control(
    answers: MaskedPredictor, label: int, seed: int, budget: Budget = UNLIMITED
) -> RandomControl | None:
    """Return the random orders at the counts that the metrics read; for a short input also every order's evidence. None
    where they do not fit into the budget.

    Metrics that need every count are measured for the first `SEARCHED_ORDERS` only: no answer depends on them, and they
    would take more passes than all the others.
    """
    orders, counts = random_orders(answers.encoding, seed), metric_counts(len(answers.encoding.units))
    for begin in range(0, len(orders), ORDERS_AT_ONCE):
        if not budget.allows_control(len(orders) - begin, len(answers.encoding.units)):
            return None
        prefetch(answers, orders[begin : begin + ORDERS_AT_ONCE])
    curves = tuple(erasure_curves(answers, order, label, counts) for order in orders)
    longest = SEARCHED_ORDERS * len(curve_counts(len(answers.encoding.units)))
    searched = SEARCHED_ORDERS if budget.allows(longest) else 0
    metrics = [
        measured(answers, order, label, None if number < searched else metrics_at_percents(), curves=known)
        for number, (order, known) in enumerate(zip(orders, curves, strict=True))
    ]
    control = random_control(curves, metrics)
    exact = len(answers.encoding.units) <= EXACT_UP_TO
    return replace(control, exact=exact_null(answers, label)) if exact else control


def run_consensus(
    answers: MaskedPredictor, explained: Sequence[Attribution], target: Target
) -> Iterator[MethodResult | Failure]:
    """Yield the measured joint order of the attributions, or why it failed; nothing with fewer than two that take
    part."""
    if len(explained) < FEWEST_METHODS:
        return
    try:
        whole = answers.probabilities(np.ones((1, len(answers.encoding.units)), dtype=bool))
        rows = [
            attribution.scores
            for attribution in explained
            if takes_part(attribution, target, predicted=int(whole.argmax()))
        ]
        if len(rows) >= FEWEST_METHODS:
            joint = Attribution(CONSENSUS, answers.encoding, target.label, consensus_scores(rows), signed=False)
            yield measure(answers, joint)
    except Cancelled:
        raise
    except Exception as error:  # the methods stand
        yield failure(CONSENSUS, error)


def random_orders(encoding: Encoding, seed: int) -> list[tuple[float, ...]]:
    """The scores of the random control's orders."""
    return control_orders(len(encoding.units), seed)
