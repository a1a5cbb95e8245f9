"""All methods on one decision, the quick ones first; each is measured as soon as it is done."""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from explainers.attribution.random_order import control_orders
from explainers.comparison.operator_check import check_operator, other_operators
from explainers.datasets.example import Example
from explainers.errors import Cancelled, ExplanationError
from explainers.methods.registry import applicable, method_spec
from explainers.methods.spec import IMMEDIATE, KINDS, SLOW, MethodSpec
from explainers.metrics.erasure import Answers
from explainers.metrics.faithfulness import curves_and_metrics, random_control, sampling_noise
from explainers.models.answer_pool import AnswerPool
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.models.meter import Meter
from explainers.results.attribution import Attribution
from explainers.results.comparison import Failure, MethodResult, Question, RandomControl
from explainers.results.narrative import Narrative, NarrativeCheck
from explainers.results.operator_check import OperatorCheck
from explainers.training.artifacts import available_artifacts

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MethodStarted:
    method: str


Event = (
    MethodStarted | Attribution | MethodResult | RandomControl | Failure | Narrative | NarrativeCheck | OperatorCheck
)


def run(
    question: Question,
    specs: Iterable[MethodSpec],
    meter: Meter,
    *,
    control_known: bool = False,
    narrators: Sequence[str] | None = None,
    known: Sequence[Attribution] = (),
    known_checks: Sequence[OperatorCheck] = (),
) -> Iterator[Event]:
    """Estimates and results as they come, the narratives, and the random control unless it is known already.

    `narrators` are ids, None for all that are fitted to the model; their sentences are checked before the slow methods.
    The other erasure operators are asked last, about the new results and those `known`, except for `known_checks`.

    No mask is computed twice: all of them ask the model's pool, or one that is made for this run.

    `meter.cancel` stops it within one batch by raising `Cancelled`. A method that fails yields `Failure`, and the
    others go on.
    """
    question = with_pool(question)
    model, encoding, label = question.model.metered(meter), question.encoding, question.label
    answers = Answers(model, encoding, question.settings.erasure)
    specs = sorted(applicable(specs, example_of(encoding)), key=lambda spec: KINDS.index(spec.kind))
    explained = list(known)
    for spec in specs:
        if spec.kind in IMMEDIATE:
            yield from noting(explained, run_method(spec, question, meter, answers))
    narratives: list[Narrative] = []
    for event in run_narrators(model, encoding, narrators):
        yield event
        narratives += [event] if isinstance(event, Narrative) else []
    for spec in specs:
        if spec.kind not in (*IMMEDIATE, *SLOW):
            yield from noting(explained, run_method(spec, question, meter, answers))
    if not control_known:
        yield run_random_control(answers, label, question.settings.seed)
    for narrative in narratives:
        yield check(narrative, answers, question.settings.seed)
    for spec in specs:
        if spec.kind in SLOW:
            yield from noting(explained, run_method(spec, question, meter, answers))
    yield from run_operator_checks(question, explained, meter, known_checks)


def with_pool(question: Question) -> Question:
    """The question with a model that has a pool of answers: its own, or a new one."""
    if question.model.pool is not None:
        return question
    return replace(question, model=question.model.pooled(AnswerPool()))


def noting(explained: list[Attribution], events: Iterator[Event]) -> Iterator[Event]:
    """The events; the attributions that were measured are added to `explained`."""
    for event in events:
        if isinstance(event, MethodResult):
            explained.append(event.attribution)
        yield event


def run_operator_checks(
    question: Question, explained: Sequence[Attribution], meter: Meter, known: Sequence[OperatorCheck] = ()
) -> Iterator[OperatorCheck]:
    """The explanations that may lead, and random orders, under the model's other operators; none without one."""
    explained = [each for each in explained if may_lead(method_spec(each.method))]
    orders = random_orders(question.model, question.encoding, question.settings.seed) if explained else []
    for erasure in other_operators(question) if explained else ():
        before = next((check for check in known if check.erasure == erasure), None)
        try:
            yield check_operator(question, erasure, explained, orders, meter, before)
        except Cancelled:
            raise
        except Exception as error:  # the verdict under the chosen operator stands
            yield OperatorCheck(erasure, failure=failure(erasure, error).reason)


def may_lead(spec: MethodSpec) -> bool:
    """Whether a verdict reads what other operators say about the method."""
    return spec.comparable and not spec.is_random


def example_of(encoding: Encoding) -> Example:
    """The input as it was given."""
    pair = encoding.texts[1] if len(encoding.texts) == 2 else None
    return Example(encoding.texts[0], pair, image=encoding.image)


def run_method(spec: MethodSpec, question: Question, meter: Meter, answers: Answers) -> Iterator[Event]:
    """One method from its start to its metrics, or to the reason why it failed."""
    yield MethodStarted(spec.id)
    attribution = None
    try:
        for attribution in estimates(spec, question, meter):
            yield attribution
        if attribution is not None:
            yield measure(answers, attribution)
    except Cancelled:
        raise
    except Exception as error:  # one method must not end the others
        yield failure(spec.id, error)


def run_narrators(
    model: FrozenModel, encoding: Encoding, narrators: Sequence[str] | None = None
) -> Iterator[Narrative | Failure]:
    """The sentence of each of the narrators, by default of every one that was fitted to the model."""
    if narrators is None:
        artifacts = available_artifacts(model.name, model.version, "narrative")
        narrators = tuple(artifact.method for artifact in artifacts)
    if not narrators:
        return
    from explainers.narrative.narrate import narrate

    for name in narrators:
        try:
            yield narrate(model, encoding, name)
        except Cancelled:
            raise
        except Exception as error:  # as above
            yield failure(name, error)


def check(narrative: Narrative, answers: Answers, seed: int) -> NarrativeCheck:
    """What can be checked about the narrative, or why that failed."""
    from explainers.narrative.checks import check_narrative

    try:
        return check_narrative(narrative, answers, example_of(answers.encoding), seed=seed)
    except Cancelled:
        raise
    except Exception as error:  # the sentence itself is there
        reason = failure(narrative.method, error).reason
        return NarrativeCheck(narrative.method, true_note=reason, use_note=reason)


def failure(method: str, error: Exception) -> Failure:
    """A sentence for a person; of a programming error only its type, and the traceback in the log."""
    if isinstance(error, ExplanationError):
        return Failure(method, str(error))
    log.error("%s failed", method, exc_info=error)
    return Failure(method, internal_error(error))


def internal_error(error: BaseException) -> str:
    return f"Internal error in Crosslight ({type(error).__name__})."


def estimates(spec: MethodSpec, question: Question, meter: Meter) -> Iterator[Attribution]:
    """One attribution, or several that improve, each with its cost so far; answers that are known cost nothing."""
    settings = question.settings
    method = spec.made_with(settings)
    model = question.model.metered(meter)
    used, new, seconds, started, waited = meter.used, meter.calls, 0.0, time.perf_counter(), meter.waited
    refine = getattr(method, "refine", None)
    steps = refine(model, question.encoding, question.label) if refine else iter(
        [method.attribute(model, question.encoding, question.label)]
    )  # fmt: skip
    for estimate in steps:
        seconds += time.perf_counter() - started - (meter.waited - waited)
        yield estimate.costing(seconds, meter.used - used, meter.calls - new)
        started, waited = time.perf_counter(), meter.waited  # the consumer's time is not the method's


def measure(answers: Answers, attribution: Attribution) -> MethodResult:
    (curves,), (metrics,) = curves_and_metrics(answers, [attribution.scores], attribution.label)
    noise = sampling_noise(answers, attribution.draws, attribution.label)
    return MethodResult(attribution, curves, metrics, noise)


def run_random_control(answers: Answers, label: int, seed: int) -> RandomControl:
    orders = random_orders(answers.model, answers.encoding, seed)
    return random_control(*curves_and_metrics(answers, orders, label))


def random_orders(model: FrozenModel, encoding: Encoding, seed: int) -> list[tuple[float, ...]]:
    """The scores of the random control's orders."""
    return control_orders(len(encoding.units), seed)
