"""The gold marks of every item for the model's class, which all methods explain.

They are what an owner decided, else the units that at least half of the people marked who gave the model's class. Where
nobody's class is recorded, as in earlier projects, everybody's marks count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.annotate.decisions import Decided, OwnerDecision
from app.annotate.results import ItemState, faithfulness
from explainers.annotations.preference import DifferentUnits, right_for_other_reasons
from explainers.annotations.records import Marked
from explainers.annotations.units import marked_units
from explainers.metrics.intervals import paired
from explainers.metrics.plausibility import PLAUSIBILITY, Truth, is_defined

SHOWN = ("auc", "f1", "iou")  # metrics of plausibility
Decisions = Mapping[Decided, Sequence[OwnerDecision]]


@dataclass(frozen=True)
class GoldMarks:
    """`truth` is true for every unit that is marked, (units,). `people` are those whose marks it rests on; 0 where it
    is a decision."""

    truth: Truth
    people: int = 0


@dataclass(frozen=True)
class Support:
    """How many of the `answers` with a class were the model's class, how many items have gold marks for it, and how
    many of the marked items have none."""

    answers: int
    same: int
    items: int
    without: int


Gold = Mapping[str, GoldMarks]


def gold_marks(states: Mapping[str, ItemState], decided: Decisions) -> dict[str, GoldMarks]:
    """By item id; without items that nobody marked for the model's class."""
    all_marks = {name: _gold(state, decided.get((state.number, "mark"), ())) for name, state in states.items()}
    return {name: marks for name, marks in all_marks.items() if marks is not None}


def _gold(state: ItemState, history: Sequence[OwnerDecision]) -> GoldMarks | None:
    if history:
        marked = history[-1].answer if isinstance(history[-1].answer, Marked) else Marked()
        own_class = state.own_class(history[-1].own_class)
        return GoldMarks(_counts(state, [marked]) > 0) if own_class in ("", state.model_class) else None
    counted = marks_for_model(state)
    return GoldMarks(_counts(state, counted) * 2 >= len(counted), len(counted)) if counted else None


def marks_for_model(state: ItemState) -> list[Marked]:
    """Of the people who gave the model's class; everybody's where nobody's class is recorded."""
    if not any(state.classes.values()):
        return list(state.marks.values())
    return [marked for person, marked in state.marks.items() if state.classes.get(person) == state.model_class]


def support(states: Mapping[str, ItemState], gold: Gold) -> Support:
    """What the gold marks rest on."""
    given = [(state, own) for state in states.values() for own in state.classes.values() if own]
    marked = [name for name, state in states.items() if state.marks]
    same = sum(own == state.model_class for state, own in given)
    return Support(len(given), same, len(gold), sum(name not in gold for name in marked))


def _counts(state: ItemState, marks: Sequence[Marked]) -> NDArray[np.float64]:
    """How many people marked each unit, (units,)."""
    counts = np.zeros(len(state.prepared.units))
    for marked in marks:
        counts[list(marked_units(marked, state.prepared.encoding))] += 1
    return counts


def against_people(states: Mapping[str, ItemState], gold: Gold, methods: Sequence[str]) -> list[dict[str, object]]:
    """Per method the mean of each metric over the items with gold marks, with its interval, what a random order reaches
    on them, and how many people's marks they rest on."""
    shown = [metric for metric in PLAUSIBILITY if metric.id in SHOWN]
    truths = {name: marks.truth for name, marks in gold.items() if is_defined(marks.truth)}
    chance = {name: [metric.chance(truth) for metric in shown] for name, truth in truths.items()}
    rows: list[dict[str, object]] = []
    for method in methods:
        maps = {name: states[name].prepared.maps for name in truths}
        counted = {name: own[method].scores for name, own in maps.items() if method in own}
        if counted:
            row: dict[str, object] = {
                "method": method,
                "items": len(counted),
                "people's answers": sum(gold[name].people for name in counted),
            }
            for place, metric in enumerate(shown):
                row[metric.id] = paired(np.array([metric.score(truths[name], counted[name]) for name in counted]))
                row[f"{metric.id} random order"] = float(np.mean([chance[name][place] for name in counted]))
            rows.append(row)
    return rows


def other_reasons(states: Mapping[str, ItemState], gold: Gold) -> list[tuple[ItemState, str, DifferentUnits]]:
    """Right answers for reasons other than people's: the item, and the method whose map is the most faithful one."""
    faithful = {name: max(own, key=lambda id: own[id]) for name, own in faithfulness(states).items() if own}
    listed = right_for_other_reasons(
        {name: set(np.flatnonzero(marks.truth).tolist()) for name, marks in gold.items()},
        {name: states[name].prepared.maps[method].scores for name, method in faithful.items()},
        {name: state.prepared.label for name, state in states.items()},
        {name: state.true_class for name, state in states.items() if state.true_class is not None},
    )
    return [(states[each.item], faithful[each.item], each) for each in listed]
