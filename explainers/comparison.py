"""All methods on one decision: run one after the other, the quick ones first, each measured as soon as it is done."""

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from explainers.attribution.random_floor import RandomFloor
from explainers.errors import Cancelled, ExplanationError
from explainers.evaluation_names import ORDERS
from explainers.explanation import Attribution
from explainers.methods import Entry, fitting
from explainers.metrics.faithfulness import METRICS, noise
from explainers.metrics.masking import Asked, MaskingPath, masking_path
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Encoding
from explainers.models.meter import Meter
from explainers.narrative.narrative import Narrative
from explainers.narrative.weights import available
from explainers.settings import Settings

log = logging.getLogger(__name__)

AT_ONCE, SLOW = ("one pass", "one text"), ("fine-tuned", "sampled")
QUICK_FIRST = ("one pass", "one text", "chance", "gradients", "one by one", "fine-tuned", "sampled")


@dataclass(frozen=True)
class Measured:
    """A finished attribution, its masking path and its figures by metric id; `noise` is their standard deviation."""

    attribution: Attribution
    path: MaskingPath
    metrics: dict[str, float]
    noise: dict[str, float]


@dataclass(frozen=True)
class Chance:
    """The random control: the paths of `ORDERS` random orders; figures are their mean."""

    paths: tuple[MaskingPath, ...]

    @property
    def metrics(self) -> dict[str, float]:
        return {metric.id: float(np.mean(self.scores(metric.id))) for metric in METRICS}

    def scores(self, metric_id: str) -> list[float]:
        (metric,) = (metric for metric in METRICS if metric.id == metric_id)
        return [metric.score(path) for path in self.paths]


@dataclass(frozen=True)
class Failed:
    """A method that could not explain this decision, and the sentence that says why."""

    method: str
    reason: str


@dataclass(frozen=True)
class Begun:
    """A method starts now."""

    method: str


Event = Begun | Attribution | Measured | Chance | Failed | Narrative


@dataclass(frozen=True)
class Question:
    """One decision to explain. `encoding` must have units; `label` is the class whose probability is explained."""

    model: FrozenModel
    encoding: Encoding
    label: int
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        if not self.encoding.units:
            raise ExplanationError("There is nothing left to explain: bring a word back.")


def run(
    question: Question, entries: Iterable[Entry], meter: Meter, *, chance_known: bool = False, in_words: bool = True
) -> Iterator[Event]:
    """Estimates and results as they come, the sentences, and the random control unless it is known already.

    `meter.cancel` stops it within one batch by raising `Cancelled`. A method that fails yields `Failed`, others go on.
    """
    model, encoding, label = question.model.metered(meter), question.encoding, question.label
    asked = Asked(model, encoding, question.settings.erasure)
    own = fitting(entries, encoding.texts, pictured=encoding.pictured)
    waiting = sorted(own, key=lambda entry: QUICK_FIRST.index(entry.kind))
    for entry in waiting:
        if entry.kind in AT_ONCE:
            yield from explained(entry, question, meter, asked)
    if in_words:
        yield from told(model, encoding)
    for entry in waiting:
        if entry.kind not in (*AT_ONCE, *SLOW):
            yield from explained(entry, question, meter, asked)
    if not chance_known:
        yield chance(asked, label, question.settings.seed)
    for entry in waiting:
        if entry.kind in SLOW:
            yield from explained(entry, question, meter, asked)


def explained(entry: Entry, question: Question, meter: Meter, asked: Asked) -> Iterator[Event]:
    """One method from its beginning to its figures, or to the sentence that says why it failed."""
    yield Begun(entry.id)
    final = None
    try:
        for final in estimates(entry, question, meter):
            yield final
        if final is not None:
            yield measured(asked, final)
    except Cancelled:
        raise
    except ExplanationError as error:
        yield Failed(entry.id, str(error))
    except Exception as error:  # a mistake of ours must not take the other methods with it
        log.exception("%s failed", entry.id)
        yield Failed(entry.id, f"Something went wrong inside Crosslight ({type(error).__name__}).")


def told(model: FrozenModel, encoding: Encoding) -> Iterator[Narrative | Failed]:
    """The sentence of every narrator that was fitted to the model."""
    if not available(model.name, model.version):
        return
    from explainers.narrative.narrate import narrate

    for name in available(model.name, model.version):
        try:
            yield narrate(model, encoding, name)
        except Cancelled:
            raise
        except ExplanationError as error:
            yield Failed(name, str(error))
        except Exception as error:  # as above
            log.exception("%s failed", name)
            yield Failed(name, f"Something went wrong inside Crosslight ({type(error).__name__}).")


def estimates(entry: Entry, question: Question, meter: Meter) -> Iterator[Attribution]:
    """One attribution, or several that grow better, with what they have cost so far."""
    settings = question.settings
    method = entry.make(erasure=settings.erasure, seed=settings.seed, samples=settings.samples, steps=settings.steps)
    model = question.model.metered(meter)
    calls, spent, started = meter.calls, 0.0, time.perf_counter()
    refine = getattr(method, "refine", None)
    steps = refine(model, question.encoding, question.label) if refine else iter(
        [method.attribute(model, question.encoding, question.label)]
    )  # fmt: skip
    for estimate in steps:
        spent += time.perf_counter() - started
        yield estimate.costing(spent, meter.calls - calls)
        started = time.perf_counter()  # what the reader of the estimate does is not the method's time


def measured(asked: Asked, attribution: Attribution) -> Measured:
    path = masking_path(asked, attribution.scores, attribution.label)
    return Measured(
        attribution,
        path,
        {metric.id: metric.score(path) for metric in METRICS},
        noise(asked, attribution.draws, attribution.label),
    )


def chance(asked: Asked, label: int, seed: int) -> Chance:
    orders = (
        RandomFloor(seed=1000 * (seed + 1) + draw).attribute(asked.model, asked.encoding, label)
        for draw in range(ORDERS)
    )
    return Chance(tuple(masking_path(asked, order.scores, label) for order in orders))


def leading(scores: dict[str, float], noises: dict[str, float], floor: list[float], *, higher: bool) -> frozenset[str]:
    """The methods whose figure is best, where that is a real difference; else nobody.

    Real means: outside the 95 % band of the random orders, and ahead of every method that is not itself among the
    best by more than 1.96 standard deviations of their chance and by more than what two decimals show. Whoever has a
    better figure than one of the best is among them too.
    """
    sign = 1 if higher else -1
    if not scores:
        return frozenset()
    best = max(scores, key=lambda method: sign * scores[method])
    tied = {
        method
        for method in scores
        if abs(scores[best] - scores[method]) <= max(0.005, 1.96 * float(np.hypot(noises[best], noises[method])))
    }
    worst = min(sign * scores[method] for method in tied)
    tied = {method for method in scores if sign * scores[method] >= worst}  # nobody better is left out
    edge = float(np.quantile(floor, 0.975 if higher else 0.025)) if floor else -np.inf * sign
    beats_chance = sign * scores[best] > sign * edge
    return frozenset(tied) if beats_chance and len(tied) < max(len(scores), 2) else frozenset()
