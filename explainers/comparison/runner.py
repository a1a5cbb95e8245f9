"""All methods on one decision, the quick ones first; each is measured as soon as it is done.

Within a budget a first answer comes before everything else: the consensus of two methods that take little, and as many
random orders as fit; without two such methods the orders come last. What takes long comes late, each method that
samples gets an equal share of the time, and what does not fit is postponed.

An explanation is made with the erasure operator of the settings. Whether its lead depends on that operator shows only
when its units are erased in another way, so the metrics of all methods are computed under the model's other operators
last.
"""

import logging
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from explainers.attribution.controls import RANDOM
from explainers.comparison import consensus, measuring
from explainers.comparison.budget import UNLIMITED, Budget, curve_passes, first_passes, measuring_passes
from explainers.comparison.decision import ablated_inputs
from explainers.datasets.example import Example
from explainers.errors import Cancelled, ExplanationError
from explainers.methods.registry import IMMEDIATE, KINDS, SLOW, MethodSpec, applicable, method_spec
from explainers.metrics.erasure import MaskedPredictor
from explainers.metrics.faithfulness import postponed_metrics
from explainers.models.calls import Meter, PredictionCache, TimeOver
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, needs_one_window
from explainers.models.target import Target
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision
from explainers.results.events import (
    Event,
    Failure,
    MethodResult,
    MethodStarted,
    Narrative,
    NarrativeCheck,
    OperatorCheck,
    Postponed,
    RandomControl,
)
from explainers.training.artifacts import runnable_narrators

log = logging.getLogger(__name__)

WORDS_ONLY = "Its sentence points to words. Choose words as the unit."


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
        return (yield from run_narrators(model, decision, narrators, budget))
    begun: dict[str, Attribution] = {}

    def methods(chosen: Iterable[MethodSpec], seconds: float = math.inf) -> Iterator[Event]:
        for spec in chosen:
            if spec.id in begun:
                yield from noting(explained, measured_again(spec, model, decision, meter, answers, begun, budget))
            elif spec.is_random or budget.allows(first_passes(spec, decision.settings, units, answers.unasked)):
                way = (
                    measuring.measure
                    if budget.allows(curve_passes(units, answers.unasked))
                    else measuring.first_measure
                )
                late = budget.until(seconds)
                part = run_method(spec, model, decision, meter, answers, late, measured_by=way, over=budget.overrun)
                yield from noting(explained, part)
            else:
                yield Postponed(spec.id)

    yield from filter(None, [ablated_inputs(model, decision, meter)])
    hurried = not control_known and budget.seconds < math.inf
    late = hurried and not (yield from first_results(specs, model, decision, meter, answers, explained, begun, budget))
    control_known = (yield from control_events(answers, decision, budget)) if hurried and not late else control_known
    slow = [spec for spec in specs if spec.kind in SLOW]
    yield from methods(spec for spec in specs if spec.kind in IMMEDIATE)
    sentences: list[Narrative] = []
    yield from keeping(sentences, run_narrators(model, decision, narrators, budget))
    if not control_known and not hurried:
        control_known = yield from control_events(answers, decision, budget)
    quick = [spec for spec in specs if spec.kind not in (*IMMEDIATE, *SLOW)]
    yield from methods(spec for spec in quick if control_known or not spec.is_random)
    yield from run_consensus(answers, explained, target, budget)
    for sentence in sentences:
        yield check(sentence, whole, decision.settings.seed)
    for number, spec in enumerate(slow):
        operators = len(decision.other_erasures) + late
        yield from methods([spec], budget.for_slow(len(slow) - number, len(specs), units, operators, answers.unasked))
    yield from noting(explained, run_consensus(answers, explained, target, budget))
    if late and (yield from control_events(answers, decision, budget)):
        yield from methods(spec for spec in quick if spec.is_random)
    yield from run_operator_checks(model, decision, explained, meter, known_checks, budget)


def with_pool(model: FrozenModel) -> FrozenModel:
    """Return the model with a pool of answers: its own, or a new one."""
    return model if model.pool is not None else model.pooled(PredictionCache())


def noting(explained: list[Attribution], events: Iterator[Event]) -> Iterator[Event]:
    """The events; the attributions that were measured are added to `explained`, in place of earlier ones."""
    for event in events:
        if isinstance(event, MethodResult):
            explained[:] = [*(one for one in explained if one.method != event.method), event.attribution]
        yield event


def keeping(
    sentences: list[Narrative], events: Iterator[Narrative | Failure | Postponed]
) -> Iterator[Narrative | Failure | Postponed]:
    """The events; the narratives among them are added to `sentences`."""
    for event in events:
        if isinstance(event, Narrative):
            sentences.append(event)
        yield event


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
    orders = measuring.random_orders(decision.encoding, decision.settings.seed) if explained else []
    for erasure in decision.other_erasures if explained else ():
        before = next((check for check in known if check.erasure == erasure), None)
        missing = [one for one in explained if before is None or one.method not in before.metrics]
        new_orders = 0 if before is not None and before.random else len(orders)
        passes = measuring_passes(len(missing) + new_orders, len(decision.encoding.units))
        if passes and not budget.allows(passes):
            yield Postponed(erasure)
            continue
        try:
            yield measuring.check_operator(model, decision, erasure, explained, orders, meter, before)
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
    begun: Attribution | None = None,
    measured_by: Callable[[MaskedPredictor, Attribution], MethodResult] = measuring.measure,
    over: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """One method from its start to its metrics, or to the reason why it failed. Once it `is_late` an estimate is its
    result; gradients are postponed once their time is `over`. What it has `begun` is only measured."""
    yield MethodStarted(spec.id)
    attribution = begun
    try:
        for attribution in () if begun is not None else estimates(spec, model, decision, meter, over):
            late = attribution.stage == "estimate" and is_late()
            attribution = attribution.ended() if late else attribution
            yield attribution
            if late:
                break
        meter.check()  # the answers may all be known, so that nothing else looks
        if attribution is not None:
            yield measured_by(answers, attribution)
    except Cancelled:
        raise
    except TimeOver:
        yield Postponed(spec.id)
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
        if not decision.settings.by_word:
            yield Failure(name, WORDS_ONLY)
            continue
        if budget.left < 0:
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
    from explainers.narrative.checks import chance_of

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


def estimates(
    spec: MethodSpec, model: FrozenModel, decision: Decision, meter: Meter, over: Callable[[], bool] = lambda: False
) -> Iterator[Attribution]:
    """One attribution, or several that improve, each with its cost so far; answers that are known cost nothing.
    Raises `TimeOver` for gradients whose time is `over`."""
    settings = decision.settings
    method = spec.made_with(settings)
    model = model.metered(meter).aimed(decision.target)
    used, new, seconds, started, waited = meter.answers, meter.calls, 0.0, time.perf_counter(), meter.waited
    found = measuring.attributions(spec, method, model, decision.encoding, decision.label)
    if spec.kind == "gradients":
        with meter.ending(over):
            found = iter(list(found))
    for estimate in found:
        seconds += time.perf_counter() - started - (meter.waited - waited)
        yield estimate.costing(seconds, meter.answers - used, meter.calls - new)
        started, waited = time.perf_counter(), meter.waited  # the consumer's time is not the method's


def first_results(
    specs: list[MethodSpec],
    model: FrozenModel,
    decision: Decision,
    meter: Meter,
    answers: MaskedPredictor,
    explained: list[Attribution],
    begun: dict[str, Attribution],
    budget: Budget,
) -> Generator[Event, None, bool]:
    """Yield the scores of two methods for a first consensus, beside those `explained`, and the measured consensus. They
    are a method of one pass and, where there is time, one that erases unit by unit. Returns whether there is one.

    Their attributions are kept as `begun`, by method; those that fail are taken out of `specs`."""
    units, settings = len(answers.encoding.units), decision.settings
    quick = [spec for spec in specs if spec.comparable and not spec.is_random and spec.kind in IMMEDIATE]
    single = [spec for spec in specs if spec.comparable and spec.kind == "one by one"]
    for spec in [*quick[:1], *single, *quick[1:]] if len(quick) + len(single) >= consensus.FEWEST_METHODS else ():
        passes = spec.passes(units, settings.samples, settings.steps) / meter.passes_per_answer  # each of one window
        enough = len(consensus.members(answers, explained, decision.target)) >= consensus.FEWEST_METHODS
        if enough or (spec in single and not budget.allows_answer(passes, fewest=1)):
            continue
        for event in noting(
            explained, run_method(spec, model, decision, meter, answers, measured_by=measuring.unmeasured)
        ):
            yield event
            if isinstance(event, Attribution):
                begun[spec.id] = event
            elif isinstance(event, Failure):
                specs.remove(spec)
    yield from run_consensus(answers, explained, decision.target, first=True)
    return len(consensus.members(answers, explained, decision.target)) >= consensus.FEWEST_METHODS


def measured_again(
    spec: MethodSpec,
    model: FrozenModel,
    decision: Decision,
    meter: Meter,
    answers: MaskedPredictor,
    begun: Mapping[str, Attribution],
    budget: Budget,
) -> Iterator[Event]:
    """The result of a method of the first consensus, with as much measured about it as the budget allows."""
    units, before = len(answers.encoding.units), begun[spec.id]
    if budget.allows(curve_passes(units, answers.unasked)):
        yield from run_method(spec, model, decision, meter, answers, begun=before)
    elif budget.allows(measuring_passes(1, units)):
        yield from run_method(spec, model, decision, meter, answers, begun=before, measured_by=measuring.first_measure)


def control_events(
    answers: MaskedPredictor, decision: Decision, budget: Budget
) -> Generator[RandomControl | Failure | Postponed, None, bool]:
    """Yield the random orders, and what of them did not fit into the budget, or why they failed. Returns whether there
    are any."""
    try:
        control = measuring.run_random_control(answers, decision.label, decision.settings.seed, budget)
    except Cancelled:
        raise
    except Exception as error:  # the methods stand
        yield failure(RANDOM.id, error)
        return False
    if control is not None:
        yield control
    whole = control is not None and measuring.is_whole(control, len(answers.encoding.units))
    yield from map(Postponed, postponed_metrics(control) if control is not None and whole else (RANDOM.id,))
    return control is not None


def run_consensus(
    answers: MaskedPredictor,
    explained: Sequence[Attribution],
    target: Target,
    budget: Budget = UNLIMITED,
    *,
    first: bool = False,
) -> Iterator[MethodResult | Failure]:
    """Yield the measured joint order of the attributions, or why it failed; nothing with fewer than two that take part.
    Only what the answer reads is measured of the `first` one, and where the budget allows no more."""
    if len(explained) < consensus.FEWEST_METHODS:
        return
    try:
        rows = consensus.members(answers, explained, target)
        if len(rows) >= consensus.FEWEST_METHODS:
            joint = Attribution(
                CONSENSUS, answers.encoding, target.label, consensus.consensus_scores(rows), signed=False
            )
            first = first or not budget.allows(curve_passes(len(answers.encoding.units), answers.unasked))
            yield measuring.first_measure(answers, joint) if first else measuring.measure(answers, joint)
    except Cancelled:
        raise
    except Exception as error:  # the methods stand
        yield failure(CONSENSUS, error)
