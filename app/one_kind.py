"""Curves over the patches alone, or over the words alone: computed in the background, and only when somebody asks.

Units of the other kind are never erased. What the model has answered is kept for the questions asked last, so that the
same curves cost nothing when the page comes back to them.
"""

import logging
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from app.engine import Engine, Run
from explainers.errors import Cancelled, ExplanationError
from explainers.evaluation_names import ORDERS
from explainers.methods import METHODS
from explainers.models.meter import Meter

if TYPE_CHECKING:
    from explainers.api import Comparison
    from explainers.comparison import Chance
    from explainers.metrics.masking import Asked, MaskingPath

log = logging.getLogger(__name__)

Kind = Literal["word", "patch"]
KEPT = 8  # questions whose answers are kept
ONE_PART = frozenset(entry.id for entry in METHODS if entry.pictures_only)  # they say nothing inside one part


@dataclass(eq=False)
class OneKind:
    """The curves of one run; written by one worker, read by one page."""

    kind: Kind
    meter: Meter = field(default_factory=Meter)
    paths: "dict[str, MaskingPath]" = field(default_factory=dict)
    chance: "Chance | None" = None
    active: bool = True
    error: str = ""

    def known_of(self, comparison: "Comparison") -> str:
        """How many methods are done, as "3 of 8"."""
        wanted = [result for result in comparison.results if result.attribution.method not in ONE_PART]
        return f"{len(self.paths)} of {len(wanted)}"

    def of(self, comparison: "Comparison") -> "Comparison":
        """The comparison with these curves in place of its own, as far as they are known."""
        results = tuple(
            replace(result, path=self.paths[result.attribution.method])
            for result in comparison.results
            if result.attribution.method in self.paths
        )
        return replace(comparison, results=results, chance=self.chance)


def curves(engine: Engine, run: Run, kind: Kind) -> OneKind:
    """Of a run that is over. Begins to compute them when they are asked for first."""
    found = run.one_kind.get(kind)
    if found is None:
        found = run.one_kind[kind] = OneKind(kind)
        engine.workers.submit(_work, engine, run, found)
    return found


def _work(engine: Engine, run: Run, found: OneKind) -> None:
    try:
        _compute(engine, run, found)
    except Cancelled:
        found.error = "Stopped."
    except ExplanationError as error:
        found.error = str(error)
    except Exception as error:  # a mistake of ours: the reader gets a sentence, the log the trace
        log.exception("curves over one kind of units failed")
        found.error = f"Something went wrong inside Crosslight ({type(error).__name__})."
    finally:
        found.active = False


def _compute(engine: Engine, run: Run, found: OneKind) -> None:
    from explainers.attribution.random_floor import RandomFloor
    from explainers.comparison import Chance
    from explainers.metrics.modalities import alone

    if run.question is None:
        return
    label, seed = run.question.label, run.request.settings.seed
    asked = replace(_asked(engine, run), model=run.question.model.metered(found.meter))  # the answers are shared
    orders = (
        RandomFloor(seed=1000 * (seed + 1) + draw).attribute(asked.model, asked.encoding, label)
        for draw in range(ORDERS)
    )
    found.chance = Chance(tuple(alone(asked, order.scores, label, found.kind) for order in orders))
    for column in run.columns.values():
        if column.result is not None and column.entry.id not in ONE_PART:
            found.paths[column.entry.id] = alone(asked, column.result.attribution.scores, label, found.kind)


def _asked(engine: Engine, run: Run) -> "Asked":
    """What the model has answered to this question."""
    from explainers.metrics.masking import Asked

    if run.question is None:
        raise ValueError("the run has no prediction yet")
    model, request = run.question.model, replace(run.request, methods=(), label=None)
    key: Hashable = ("asked", model.version, model.name, request)
    with engine.remembering:
        kept = [each for each in engine.asked if each != key]
        for old in kept[: max(0, len(kept) + 1 - KEPT)]:
            del engine.asked[old]
        return engine.asked.setdefault(key, Asked(model, run.question.encoding, request.settings.erasure))
