"""Curves over the patches alone, or over the words alone: computed in the background, and only on demand.

Units of the other kind are never erased. The model's answers are kept, so that the same curves cost nothing when the
page comes back to them.
"""

from dataclasses import dataclass, field, replace
from functools import partial

from app.compare.background import carry_out
from app.compare.engine import Engine
from app.compare.runs import Run
from app.compare.stored_results import asked_question
from explainers.methods.registry import method_spec
from explainers.metrics.erasure import Answers
from explainers.metrics.faithfulness import random_control
from explainers.metrics.modalities import Kind, single_modality_curves
from explainers.models.meter import Meter
from explainers.results.comparison import Comparison, RandomControl
from explainers.results.erasure_curves import ErasureCurves


@dataclass(eq=False)
class ModalityCurves:
    """The curves of one run; written by one worker, read by one page."""

    kind: Kind
    meter: Meter = field(default_factory=Meter)
    curves: dict[str, ErasureCurves] = field(default_factory=dict)
    random_control: RandomControl | None = None
    active: bool = True
    error: str = ""

    @property
    def settled(self) -> tuple[object, ...]:
        """Equal as long as the same curves are known."""
        return self.kind, len(self.curves), self.random_control is not None

    def progress(self, comparison: Comparison) -> str:
        """How many methods are done, as "3 of 8"."""
        applicable = [result for result in comparison.results if _applicable(result.attribution.method)]
        return f"{len(self.curves)} of {len(applicable)}"

    def applied_to(self, comparison: Comparison) -> Comparison:
        """The comparison with these curves in place of its own, as far as they are known."""
        results = tuple(
            replace(result, curves=self.curves[result.attribution.method])
            for result in comparison.results
            if result.attribution.method in self.curves
        )
        return replace(comparison, results=results, random_control=self.random_control)


def modality_curves(engine: Engine, run: Run, kind: Kind) -> ModalityCurves:
    """Of a finished run. The first call starts the computation."""
    result = run.modality_curves.get(kind)
    if result is None:
        result = run.modality_curves[kind] = ModalityCurves(kind)
        work = partial(_compute, engine, run, result)
        forget = partial(run.modality_curves.pop, kind, None)
        engine.later(run, result.meter, partial(carry_out, run, result, work, forget))
    return result


def _applicable(method: str) -> bool:
    """Controls that score one modality as a whole rank nothing inside it."""
    return not method_spec(method).is_single_part


def _compute(engine: Engine, run: Run, result: ModalityCurves) -> None:
    from explainers.comparison.runner import random_orders

    if run.question is None:
        return
    label, seed = run.question.label, run.request.settings.seed
    answers = answers_about(engine, run, result.meter)
    orders = random_orders(answers.model, answers.encoding, seed)
    result.random_control = random_control(
        tuple(single_modality_curves(answers, order, label, result.kind) for order in orders)
    )
    for column in run.columns.values():
        if column.result is not None and _applicable(column.spec.id):
            scores = column.result.attribution.scores
            result.curves[column.spec.id] = single_modality_curves(answers, scores, label, result.kind)


def answers_about(engine: Engine, run: Run, meter: Meter) -> Answers:
    """The model's answers about this input, shared by all sessions."""
    question = asked_question(engine.pool, run)
    model = question.model.metered(meter).pooled(engine.memory.pool)
    return Answers(model, question.encoding, run.request.settings.erasure)
