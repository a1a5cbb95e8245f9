"""Duels between the methods of a finished run: stored with the project, or computed in the background on demand."""

from dataclasses import dataclass, field, replace
from functools import partial

from app.compare.background import carry_out
from app.compare.engine import Engine
from app.compare.modality_curves import answers_about
from app.compare.runs import Run
from explainers.models.meter import Meter
from explainers.results.comparison import Comparison
from explainers.results.duel import Duel

Pair = tuple[str, str]  # ids of two methods


@dataclass(eq=False)
class DuelState:
    """One duel; written by one worker, read by one page. `duel` stays None where the methods do not disagree."""

    methods: Pair
    meter: Meter = field(default_factory=Meter)
    duel: Duel | None = None
    active: bool = True
    error: str = ""


def duel_state(engine: Engine, run: Run, methods: Pair) -> DuelState:
    """Of a run that is over. The first call starts the computation."""
    state = run.duels.get(methods)
    if state is None:
        state = run.duels[methods] = DuelState(methods)
        stored = stored_duel(run, methods)
        if stored is not None:
            state.duel, state.active = stored, False
            return state
        work = partial(_compute, engine, run, run.comparison(), state)
        forget = partial(run.duels.pop, methods, None)
        engine.later(run, state.meter, partial(carry_out, run, state, work, forget))
    return state


def pending(run: Run | None) -> bool:
    """Whether a duel is on its way."""
    return run is not None and any(state.active for state in list(run.duels.values()))


def stored_duel(run: Run, methods: Pair) -> Duel | None:
    """The sides are in the order of `methods`."""
    for duel in run.stored_duels:
        sides = {side.method: side for side in duel.sides}
        if set(sides) == set(methods):
            return replace(duel, sides=(sides[methods[0]], sides[methods[1]]))
    return None


def _compute(engine: Engine, run: Run, comparison: Comparison, state: DuelState) -> None:
    from explainers.comparison.duel import duel  # brings torch

    state.duel = duel(comparison, state.methods, answers_about(engine, run, state.meter))
