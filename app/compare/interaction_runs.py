"""Pairwise interactions of a finished run: computed in the background, on demand, from the pool's answers."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from app.compare.background import carry_out
from app.compare.engine import Engine
from app.compare.modality_curves import answers_about
from app.compare.runs import Run
from app.compare.verdicts import verdict_of
from explainers.comparison.claims import can_duel
from explainers.models.meter import Meter

if TYPE_CHECKING:
    from explainers.attribution.interactions import PairInteractions

MOST_UNITS = 30  # 435 pairs
FEATURED_UNITS = 20  # of an input with more: 190 pairs
FEWEST_SAMPLES, PER_COEFFICIENT = 500, 4


@dataclass(eq=False)
class InteractionState:
    """Written by one worker, read by one page."""

    meter: Meter = field(default_factory=Meter)
    result: "PairInteractions | None" = None
    active: bool = True
    error: str = ""


def start(engine: Engine, run: Run) -> None:
    """Of a run that is over; nothing happens where they were asked for already."""
    if run.interactions is None:
        state = run.interactions = InteractionState()
        work = partial(_compute, engine, run, state, units_among(run)[0])
        engine.later(run, state.meter, partial(carry_out, run, state, work, partial(_forget, run)))


def pending(run: Run) -> bool:
    """Whether interactions are on their way."""
    return run.interactions is not None and run.interactions.active


def units_among(run: Run) -> tuple[tuple[int, ...] | None, str]:
    """The units whose interactions are computed, None for all of them, and the method that has chosen them, by id: of
    an input with many units those with the largest scores, of either sign."""
    if run.question is None or len(run.question.encoding.units) <= MOST_UNITS:
        return None, ""
    comparison, verdict = run.comparison(), verdict_of(run)
    ranking = {each.attribution.method: each.attribution.scores for each in comparison.results}
    able = [name for name in (*verdict.best, *ranking) if name in ranking and can_duel(comparison, name)]
    if not able:
        return (), ""
    scores = ranking[able[0]]
    order = sorted(range(len(scores)), key=lambda unit: -abs(scores[unit]))  # ties in the order of the input
    return tuple(sorted(order[:FEATURED_UNITS])), able[0]


def samples_for(units: int) -> int:
    """At most; no more than there are masks."""
    coefficients = 1 + units + units * (units - 1) // 2
    return min(1 << units, max(FEWEST_SAMPLES, PER_COEFFICIENT * coefficients))


def _forget(run: Run) -> None:
    run.interactions = None


def _compute(engine: Engine, run: Run, state: InteractionState, among: tuple[int, ...] | None) -> None:
    from explainers.attribution.interactions import pair_interactions  # brings torch

    if run.question is None:
        return
    answers, settings = answers_about(engine, run, state.meter), run.request.settings
    state.result = pair_interactions(
        answers.model,
        answers.encoding,
        run.question.label,
        samples=samples_for(len(answers.encoding.units if among is None else among)),
        among=among,
        erasure=settings.erasure,
        seed=settings.seed,
    )
