"""What one run computes: the decision, and the results of its methods as far as they are not remembered.

Results are remembered for all sessions, within bounds, and so are the models' answers about the last inputs. The
metrics under the other erasure operators are remembered by method, so that another choice of methods asks little.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from app.compare.runs import Column, Run
from app.compare.stored_results import StoredAnswer
from explainers.comparison.budget import Budget, expected_passes
from explainers.errors import ExplanationError
from explainers.methods.registry import IMMEDIATE, MethodSpec, method_spec
from explainers.metrics.faithfulness import postponed_metrics
from explainers.models.calls import PredictionCache
from explainers.models.inputs.encoding import MULTIMODAL_ERASURES, Erasure
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison
from explainers.results.events import Event, MethodResult, MethodStarted, OperatorCheck, RandomControl
from explainers.training.artifacts import find_artifact

if TYPE_CHECKING:
    from explainers.comparison.decision import Prediction
    from explainers.models.frozen_model import FrozenModel


RESULTS_KEPT = 1000
IMAGES_KEPT = 200 * 2**20  # bytes of the images of remembered results


@dataclass(eq=False)
class ResultMemory:
    """The keys of results begin with (model version, model name, request, precision)."""

    results: OrderedDict[Hashable, object] = field(default_factory=OrderedDict)
    pool: PredictionCache = field(default_factory=PredictionCache)
    changing: Lock = field(default_factory=Lock)

    def recall(self, key: Hashable) -> object | None:
        with self.changing:
            if key in self.results:
                self.results.move_to_end(key)
            return self.results.get(key)

    def remember(self, key: Hashable, value: object) -> None:
        with self.changing:
            self.results[key] = value
            while len(self.results) > RESULTS_KEPT or self._image_bytes() > IMAGES_KEPT:
                self.results.popitem(last=False)

    def _image_bytes(self) -> int:
        """The size of the images about which something is remembered."""
        images = (key[0][2].example.image for key in self.results)  # type: ignore[index]
        return sum({id(image): len(image.content) for image in images if image is not None}.values())


Values = Mapping[str, float]  # by metric
Known = tuple[Mapping[str, tuple[float, ...]], Mapping[Hashable, Values]]  # of the random orders, and by key

NOTING = Lock()  # two runs about one input may end at once


@dataclass(frozen=True)
class OperatorMemory:
    """`question` is the key of an input, `keys` are those of its methods with their weights."""

    memory: ResultMemory
    question: Hashable
    keys: Mapping[str, Hashable]

    def recall(self, stored: Sequence[OperatorCheck] = ()) -> tuple[OperatorCheck, ...]:
        """A check per operator that was tried, of the methods in `keys` that are known; first those that are stored."""
        remembered = [self._recall(erasure, stored) for erasure in MULTIMODAL_ERASURES]
        return tuple(check for check in remembered if check.random)

    def note(self, event: object, unfinished: Collection[str] = ()) -> None:
        """Remembers a check, together with what is known of methods that it does not contain. What is given, and the
        consensus of the chosen methods, is left out: there would be a new key for each. So are the `unfinished`, whose
        scores will be others."""
        if isinstance(event, OperatorCheck) and not event.failure:
            specs = {method: method_spec(method) for method in event.metrics}
            named = {
                method: metrics
                for method, metrics in event.metrics.items()
                if not specs[method].is_supplied and not specs[method].is_joint and method not in unfinished
            }
            new = {self.keys[method]: metrics for method, metrics in named.items()}
            with NOTING:
                known = self._known(event.erasure)[1]
                self.memory.remember(self._key(event.erasure), (event.random, {**known, **new}))

    def _recall(self, erasure: Erasure, stored: Sequence[OperatorCheck]) -> OperatorCheck:
        random, by_key = self._known(erasure)
        metrics = {method: by_key[key] for method, key in self.keys.items() if key in by_key}
        for check in (stored_check for stored_check in stored if stored_check.erasure == erasure):
            metrics = {**metrics, **check.metrics}
            random = random or check.random
        return OperatorCheck(erasure, metrics, random)

    def _known(self, erasure: Erasure) -> Known:
        remembered = self.memory.recall(self._key(erasure))
        return remembered if isinstance(remembered, tuple) else ({}, {})

    def _key(self, erasure: Erasure) -> Hashable:
        return self.question, "other operators", erasure


def compute(
    run: Run, model: "FrozenModel", memory: ResultMemory, stored: StoredAnswer | None = None, *, fresh: bool
) -> None:
    """Fills the run, as far as possible with what is `stored`. `fresh` computes also what is remembered."""
    from explainers.comparison.runner import run as compare

    model = model.pooled(PredictionCache() if fresh else memory.pool)
    decision, probabilities = _decide(run, model)
    model = model.in_precision(decision.card.precision)
    run.current = Comparison(
        decision, probabilities, removed=run.request.removed, order=tuple(run.columns), budget=run.request.budget
    )
    run.advance("running")
    label = model.labels[decision.label]
    question = (
        model.version,
        model.name,
        replace(run.request.about_input, label=label, versus=run.request.versus),
        decision.card.precision,
    )
    keys: dict[str, Hashable] = {
        name: (question, name, _weights(column.spec, model)) for name, column in run.columns.items()
    }
    results = _Results(run, memory, keys, (question, "random control"), stored)
    missing = [column.spec for column in run.columns.values() if fresh or not results.recall(column)]
    control_known = not fresh and results.recall_control()
    run.turn.quick = is_quick(run)
    units, erasures = len(decision.encoding.units), len(decision.card.erasures)
    known = len(run.columns) - len(missing)
    able = [spec for spec in missing if spec.can_read(decision.encoding)]
    expected = expected_passes(able, run.request.settings, units, erasures, known=known)
    run.expected = run.meter.answers + expected
    spent = run.meter.seconds + run.meter.waited  # by the prediction
    seconds = math.inf if run.request.budget is None else run.request.budget
    run.budget = Budget(seconds, run.meter, time.perf_counter() - spent)
    operators = OperatorMemory(memory, question, keys)
    events = compare(
        model,
        decision,
        missing,
        run.meter,
        control_known=control_known,
        narrators=run.request.narrators,
        known=[result.attribution for result in run.comparison().results],
        known_checks=() if fresh else operators.recall(stored.operator_checks if stored else ()),
        budget=run.budget,
    )
    for event in events:
        results.take(event)
        operators.note(event, run.comparison().ended_early)
        run.turn.quick = is_quick(run)


def is_quick(run: Run) -> bool:
    """Return whether methods of one pass are still to come; they run first."""
    return any(column.spec.kind in IMMEDIATE and not run.is_settled(name) for name, column in run.columns.items())


def _decide(run: Run, model: "FrozenModel") -> "Prediction":
    """The decision to explain. That about the whole input goes into the run first: it stays on the page where nothing
    is left, so that what was removed can be restored."""
    from explainers.comparison.decision import decide

    request = run.request
    predict = partial(
        decide,
        model,
        request.example,
        versus=request.versus,
        settings=request.settings,
        meter=run.meter,
        budget=request.budget,
    )
    prediction = predict(label=request.label)
    run.whole_probabilities, run.whole = prediction.probabilities, prediction.decision
    if request.removed:
        return predict(label=model.labels[prediction.decision.label], removed=request.removed)
    return prediction


@dataclass(frozen=True)
class _Results:
    """The events of a run as they come, in its comparison, in its columns and in the memory.

    The keys of methods are those of the beginning: what weights that came later have computed is remembered as a result
    of the earlier ones, and never the other way round.
    """

    run: Run
    memory: ResultMemory
    keys: dict[str, Hashable]  # by method
    control_key: Hashable
    stored: StoredAnswer | None = None

    def recall(self, column: Column) -> bool:
        """Return whether the method's outcome is stored or remembered; then the run has it."""
        stored = self.stored.outcome(column.spec.id) if self.stored is not None else None
        remembered = self.memory.recall(self.keys[column.spec.id])
        if stored is not None:
            column.stored = True
            column.attribution = stored.attribution if isinstance(stored, MethodResult) else None
            self.run.take(stored)
        elif isinstance(remembered, tuple):
            result, column.finished = remembered
            column.attribution, column.remembered = result.attribution, True
            self.run.take(result)
        return self.run.is_settled(column.spec.id)

    def recall_control(self) -> bool:
        """Return whether the random control is stored or remembered; then the run has it."""
        stored = self.stored.random_control if self.stored is not None else None
        control = stored or self.memory.recall(self.control_key)
        if isinstance(control, RandomControl):
            self.run.take(control)
        return isinstance(control, RandomControl)

    def take(self, event: Event) -> None:
        run = self.run
        if isinstance(event, MethodStarted):
            run.columns[event.method].base = run.meter.answers
        elif isinstance(event, Attribution):
            run.columns[event.method].attribution = event
        elif isinstance(event, MethodResult) and event.method in run.columns:  # not the consensus of this choice
            column = run.columns[event.method]
            column.attribution, column.finished = event.attribution, time.time()
            if not event.attribution.ended_early:  # with more time it becomes better
                self.memory.remember(self.keys[event.method], (event, column.finished))
        elif isinstance(event, RandomControl) and not postponed_metrics(event):
            self.memory.remember(self.control_key, event)
        run.take(event)


def _weights(spec: MethodSpec, model: "FrozenModel") -> Hashable:
    """Which weights a learned method uses, so that fitting it again invalidates what is remembered; what is given."""
    if spec.is_supplied:
        return spec.fixed
    if not spec.learns:
        return None
    try:
        path = find_artifact(model.name, model.version, spec.weights_of, spec.id.partition(":")[2]).path
        return str(path), path.stat().st_mtime_ns
    except (ExplanationError, OSError):
        return None
