"""What is computed for a run that is over: duels, pairwise interactions, curves over one kind of units.

Curves and interactions are computed on demand. Duels are stored with the project, searched for, or computed on demand.
All ask for masks of the explained input; the model's answers are kept, so that what was computed before costs nothing
when the page comes back to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from app.compare.engine import Engine
from app.compare.runs import FollowUp, Run, answer_of
from explainers.comparison.duel import Pair, can_duel, duel_candidates
from explainers.errors import ExplanationError
from explainers.methods.registry import method_spec
from explainers.metrics import erasure, faithfulness
from explainers.models.calls import Meter
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import ErasureCurves
from explainers.results.comparison import Comparison
from explainers.results.events import Duel, RandomControl

if TYPE_CHECKING:
    from explainers.attribution.interactions import PairInteractions

OPENING = ("duel",)  # the key of the duel for which the page searches
INTERACTIONS = ("interactions",)  # their key among the follow-ups of a run
MOST_UNITS = 30  # 435 pairs
FEATURED_UNITS = 20  # of an input with more: 190 pairs
FEWEST_SAMPLES, PER_COEFFICIENT = 500, 4


def pending(run: Run | None) -> bool:
    """Return whether any follow-up of the run is on its way."""
    return run is not None and any(follow_up.active for follow_up in list(run.follow_ups.values()))


def answers_about(engine: Engine, run: Run, meter: Meter) -> erasure.MaskedPredictor:
    """The model's answers about the explained input and target, shared by all sessions. Where the run was stored, the
    model is loaded and reads the input."""
    from explainers.comparison.decision import checked_encoding  # brings torch

    request, decision = run.request, run.comparison().decision
    model = engine.pool.model(request.model, device=request.device).in_precision(decision.card.precision)
    if model.version != decision.card.version:
        raise ExplanationError(f"{model.name} has changed since the comparison. Compute it again.")
    stored = run.stored is not None  # without what the model needs to be asked about an image
    encoding = checked_encoding(model, request.example, request.settings) if stored else decision.encoding
    aimed = model.metered(meter).pooled(engine.memory.pool).aimed(decision.target)
    return erasure.MaskedPredictor(aimed, encoding, request.settings.erasure)


@dataclass(frozen=True)
class ModalityCurves:
    """Curves over the patches alone, or over the words alone, by method; units of the other kind are never erased."""

    kind: erasure.Kind
    curves: Mapping[str, ErasureCurves] = field(default_factory=dict)
    random_control: RandomControl | None = None

    @property
    def settled(self) -> tuple[object, ...]:
        """Return a value that stays equal as long as the same curves are known."""
        return self.kind, len(self.curves), self.random_control is not None

    def progress(self, comparison: Comparison) -> str:
        """Return how many methods are done, as "3 of 8"."""
        applicable = [result for result in comparison.results if _applicable(result.method)]
        return f"{len(self.curves)} of {len(applicable)}"

    def applied_to(self, comparison: Comparison) -> Comparison:
        """Return the comparison with these curves in place of its own, as far as they are known."""
        results = tuple(
            replace(result, curves=self.curves[result.method])
            for result in comparison.results
            if result.method in self.curves
        )
        return replace(comparison, results=results, random_control=self.random_control)


def modality_curves(engine: Engine, run: Run, kind: erasure.Kind) -> FollowUp[ModalityCurves]:
    """Return those of a run that is over. The first call starts the computation."""
    work = partial(_modality_curves, engine, run, kind)
    return engine.submit_follow_up(run, ("curves", kind), work, ModalityCurves(kind))


def _applicable(method: str) -> bool:
    """Controls that score one modality as a whole rank nothing inside it."""
    return not method_spec(method).is_single_part


def _modality_curves(engine: Engine, run: Run, kind: erasure.Kind, follow_up: FollowUp[ModalityCurves]) -> None:
    from explainers.comparison.measuring import random_orders

    label, seed = run.comparison().decision.label, run.request.settings.seed
    answers = answers_about(engine, run, follow_up.meter)
    orders = random_orders(answers.encoding, seed)
    control = faithfulness.random_control(
        tuple(erasure.single_modality_curves(answers, order, label, kind) for order in orders)
    )
    curves: dict[str, ErasureCurves] = {}
    follow_up.result = ModalityCurves(kind, curves, control)
    for result in run.comparison().results:
        if _applicable(result.method):
            own = erasure.single_modality_curves(answers, result.attribution.scores, label, kind)
            curves = {**curves, result.method: own}
            follow_up.result = ModalityCurves(kind, curves, control)


def duel_of(engine: Engine, run: Run, methods: Pair) -> FollowUp[Duel]:
    """Return the duel of a run that is over; its result stays None where the methods do not disagree.

    It is stored with the project, or the first call starts the computation.
    """
    stored = stored_duel(run, methods)
    if stored is not None:
        _take(run, stored)
    return engine.submit_follow_up(run, ("duel", *methods), partial(_duel, engine, run, methods))


def opening_duel(engine: Engine, run: Run) -> FollowUp[Duel]:
    """Return the duel on which the page opens, of a run that is over: the first that separates two methods, no result
    where there is none. The first call starts the search."""
    if OPENING not in run.follow_ups:
        from_files = run.stored is not None and not run.request.removed
        stored = next(iter(run.stored.comparison.duels), None) if run.stored is not None and from_files else None
        if stored is not None:
            _take(run, stored)
        if from_files or not any(True for _ in duel_candidates(run.comparison())):
            run.follow_ups[OPENING] = FollowUp(result=stored, active=False)
    return engine.submit_follow_up(run, OPENING, partial(_search, engine, run))


def pair_of(duel: Duel) -> Pair:
    """Return the ids of the two methods."""
    first, second = duel.sides
    return first.method, second.method


def _search(engine: Engine, run: Run, follow_up: FollowUp[Duel]) -> None:
    from explainers.comparison.duel import separable_duel  # brings torch

    result = separable_duel(run.comparison(), answers_about(engine, run, follow_up.meter))
    if result is not None:
        _take(run, result)
    follow_up.result = result


def _take(run: Run, duel: Duel) -> None:
    """Puts the duel into the comparison, and keeps it for its pair."""
    key = ("duel", *pair_of(duel))
    if key not in run.follow_ups:
        run.follow_ups[key] = FollowUp(result=duel, active=False)
        run.take(duel)


def stored_duel(run: Run, methods: Pair) -> Duel | None:
    """Return the duel that comes with the project, its sides in the order of `methods`."""
    for duel in run.stored.comparison.duels if run.stored is not None else ():
        sides = {side.method: side for side in duel.sides}
        if set(sides) == set(methods):
            return replace(duel, sides=(sides[methods[0]], sides[methods[1]]))
    return None


def _duel(engine: Engine, run: Run, methods: Pair, follow_up: FollowUp[Duel]) -> None:
    from explainers.comparison.duel import duel  # brings torch

    result = duel(run.comparison(), methods, answers_about(engine, run, follow_up.meter))
    if result is not None:
        run.take(result)
    follow_up.result = result


def interactions_of(engine: Engine, run: Run) -> "FollowUp[PairInteractions]":
    """Return those of a run that is over. The first call starts the computation."""
    return engine.submit_follow_up(run, INTERACTIONS, partial(_interactions, engine, run, units_among(run)[0]))


def known_interactions(run: Run) -> "FollowUp[PairInteractions] | None":
    """Return the interactions as soon as somebody has asked for them."""
    return run.follow_ups.get(INTERACTIONS)


def units_among(run: Run) -> tuple[tuple[int, ...] | None, str]:
    """The units whose interactions are computed, None for all of them, and the method that has chosen them, by id: of
    an input with many units those with the largest scores, of either sign."""
    if len(run.comparison().decision.encoding.units) <= MOST_UNITS:
        return None, ""
    comparison, answer = run.comparison(), answer_of(run)
    ranking = {result.method: result.attribution.scores for result in comparison.results}
    if CONSENSUS in ranking:
        able = [CONSENSUS]
    else:
        able = [name for name in (*answer.supported, *ranking) if name in ranking and can_duel(comparison, name)]
    if not able:
        return (), ""
    scores = ranking[able[0]]
    order = sorted(range(len(scores)), key=lambda unit: -abs(scores[unit]))  # ties in the order of the input
    return tuple(sorted(order[:FEATURED_UNITS])), able[0]


def samples_for(units: int) -> int:
    """At most; no more than there are masks."""
    coefficients = 1 + units + units * (units - 1) // 2
    return min(1 << units, max(FEWEST_SAMPLES, PER_COEFFICIENT * coefficients))


def _interactions(
    engine: Engine, run: Run, among: tuple[int, ...] | None, follow_up: "FollowUp[PairInteractions]"
) -> None:
    from explainers.attribution.interactions import pair_interactions  # brings torch

    answers, settings = answers_about(engine, run, follow_up.meter), run.request.settings
    follow_up.result = pair_interactions(
        answers.model,
        answers.encoding,
        run.comparison().decision.label,
        samples=samples_for(len(answers.encoding.units if among is None else among)),
        among=among,
        erasure=settings.erasure,
        seed=settings.seed,
    )
