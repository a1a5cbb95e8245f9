"""What one run computes: the decision, and the results of its methods as far as they are not remembered."""

import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from app.compare.operator_memory import OperatorMemory
from app.compare.result_memory import ResultMemory
from app.compare.runs import Column, Run
from app.compare.stored_results import StoredAnswer
from explainers.errors import ExplanationError
from explainers.methods.spec import IMMEDIATE, MethodSpec
from explainers.models.answer_pool import AnswerPool
from explainers.results.attribution import Attribution
from explainers.results.comparison import Failure, MethodResult, RandomControl
from explainers.results.narrative import Narrative, NarrativeCheck
from explainers.results.operator_check import OperatorCheck
from explainers.training.artifacts import find_artifact

if TYPE_CHECKING:
    from explainers.comparison.decision import Decision
    from explainers.models.frozen_model import FrozenModel


def compute(
    run: Run, model: "FrozenModel", memory: ResultMemory, stored: StoredAnswer | None = None, *, fresh: bool
) -> None:
    """Fills the run, as far as possible with what is `stored`. `fresh` computes also what is remembered."""
    from explainers.comparison.runner import run as compare

    decision = _decide(run, model.pooled(AnswerPool() if fresh else memory.pool))
    run.whole_probabilities, run.probabilities = decision.whole_probabilities, decision.probabilities
    run.ablated_inputs = decision.ablated_inputs
    run.whole, run.question = decision.whole, decision.question  # last: whoever has the question reads the others
    run.status = "running"
    label = model.labels[decision.whole.label]
    question = (model.version, model.name, replace(run.request.about_input, label=label))
    keys: dict[str, Hashable] = {
        name: (question, name, _weights(column.spec, model)) for name, column in run.columns.items()
    }
    results = _Results(run, memory, keys, (question, "random control"), stored)
    missing = [column.spec for column in run.columns.values() if fresh or not results.recall(column)]
    control_known = not fresh and results.recall_control()
    run.turn.quick = is_quick(run)
    operators = OperatorMemory(memory, question, keys)
    events = compare(
        decision.question,
        missing,
        run.meter,
        control_known=control_known,
        narrators=run.request.narrators,
        known=[column.result.attribution for column in run.columns.values() if column.result],
        known_checks=() if fresh else operators.recall(stored.operator_checks if stored else ()),
    )
    for event in events:
        results.take(event)
        operators.note(event)
        run.turn.quick = is_quick(run)


def is_quick(run: Run) -> bool:
    """Whether methods of one pass are still to come; they run first."""
    return any(column.spec.kind in IMMEDIATE and not column.settled for column in run.columns.values())


def _decide(run: Run, model: "FrozenModel") -> "Decision":
    from explainers.comparison.decision import decide

    request = run.request
    predict = partial(decide, model, request.example, label=request.label, settings=request.settings, meter=run.meter)
    try:
        return predict(removed=request.removed)
    except ExplanationError:
        if request.removed:
            run.whole = predict().whole  # stays on the page, so that what was removed can be restored
        raise


@dataclass(frozen=True)
class _Results:
    """The results of a run as they come, in its columns and in the memory.

    The keys of methods are those of the beginning: what weights that came later have computed is remembered as a result
    of the earlier ones, and never the other way round.
    """

    run: Run
    memory: ResultMemory
    keys: dict[str, Hashable]  # by method
    control_key: Hashable
    stored: StoredAnswer | None = None

    def recall(self, column: Column) -> bool:
        if self.stored is not None and self.stored.fill_column(column):
            return True
        remembered = self.memory.recall(self.keys[column.spec.id])
        if not isinstance(remembered, tuple):
            return False
        column.result, column.finished = remembered
        column.attribution, column.remembered = column.result.attribution, True
        return True

    def recall_control(self) -> bool:
        stored = self.stored.random_control if self.stored is not None else None
        control = stored or self.memory.recall(self.control_key)
        self.run.random_control = control if isinstance(control, RandomControl) else None
        return self.run.random_control is not None

    def take(self, event: object) -> None:
        from explainers.comparison.runner import MethodStarted

        run = self.run
        if isinstance(event, Narrative):
            run.narratives += (event,)
        elif isinstance(event, NarrativeCheck):
            run.narrative_checks += (event,)
        elif isinstance(event, OperatorCheck):
            run.operator_checks += (event,)
        elif isinstance(event, Failure) and event.method not in run.columns:
            run.narrator_failures += (event,)
        elif isinstance(event, MethodStarted):
            run.columns[event.method].base = run.meter.used
        elif isinstance(event, Attribution):
            run.columns[event.method].attribution = event
        elif isinstance(event, Failure):
            run.columns[event.method].failure = event.reason
        elif isinstance(event, MethodResult):
            self._take_result(event)
        elif isinstance(event, RandomControl):
            run.random_control = event
            self.memory.remember(self.control_key, event)

    def _take_result(self, result: MethodResult) -> None:
        column = self.run.columns[result.attribution.method]
        column.attribution, column.finished = result.attribution, time.time()
        column.result = result
        self.memory.remember(self.keys[column.spec.id], (result, column.finished))


def _weights(spec: MethodSpec, model: "FrozenModel") -> Hashable:
    """Which weights a learned method uses, so that fitting it again invalidates what is remembered; what is given."""
    if spec.group == "Given":
        return spec.fixed
    if not spec.learns:
        return None
    try:
        path = find_artifact(model.name, model.version, spec.weights_of, spec.id.partition(":")[2]).path
        return str(path), path.stat().st_mtime_ns
    except (ExplanationError, OSError):
        return None
