"""The gold marks of every item: what an owner decided, else the units that at least half of the people marked."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from app.annotate.decisions import Decided, OwnerDecision
from app.annotate.results import ItemState, faithfulness
from explainers.annotations.preference import DifferentUnits, right_for_other_reasons
from explainers.annotations.records import Marked
from explainers.annotations.units import marked_units
from explainers.metrics.plausibility import PLAUSIBILITY, Truth, is_defined

SHOWN = ("auc", "f1", "iou")  # metrics of plausibility
Gold = Mapping[str, Truth]


def gold_marks(states: Mapping[str, ItemState], decided: Mapping[Decided, Sequence[OwnerDecision]]) -> dict[str, Truth]:
    """By item id true for every unit of the gold marks, (units,); without items that nobody marked."""
    newest = {name: decided.get((state.number, "mark"), ())[-1:] for name, state in states.items()}
    return {
        name: _decided(state, newest[name][0]) if newest[name] else _majority(state)
        for name, state in states.items()
        if state.marks or newest[name]
    }


def _decided(state: ItemState, decision: OwnerDecision) -> Truth:
    marked = decision.answer if isinstance(decision.answer, Marked) else Marked()
    return _counts(state, [marked]) > 0


def _majority(state: ItemState) -> Truth:
    majority: Truth = _counts(state, list(state.marks.values())) * 2 >= len(state.marks)
    return majority


def _counts(state: ItemState, marks: Sequence[Marked]) -> NDArray[np.float64]:
    """How many people marked each unit, (units,)."""
    counts = np.zeros(len(state.prepared.units))
    for marked in marks:
        counts[list(marked_units(marked, state.prepared.encoding))] += 1
    return counts


def against_people(states: Mapping[str, ItemState], gold: Gold, methods: Sequence[str]) -> list[dict[str, object]]:
    """Per method the mean of each metric over the items with gold marks, and what a random order reaches on them."""
    shown = [metric for metric in PLAUSIBILITY if metric.id in SHOWN]
    truths = {name: truth for name, truth in gold.items() if is_defined(truth)}
    chance = {name: [metric.chance(truth) for metric in shown] for name, truth in truths.items()}
    rows: list[dict[str, object]] = []
    for method in methods:
        maps = {name: states[name].prepared.maps for name in truths}
        counted = {name: own[method].scores for name, own in maps.items() if method in own}
        if counted:
            row: dict[str, object] = {"method": method, "items": len(counted)}
            for place, metric in enumerate(shown):
                row[metric.id] = float(np.mean([metric.score(truths[name], counted[name]) for name in counted]))
                row[f"{metric.id} random order"] = float(np.mean([chance[name][place] for name in counted]))
            rows.append(row)
    return rows


def other_reasons(states: Mapping[str, ItemState], gold: Gold) -> list[tuple[ItemState, str, DifferentUnits]]:
    """Right answers for reasons other than people's: the item, and the method whose map is the most faithful one."""
    faithful = {name: max(own, key=lambda id: own[id]) for name, own in faithfulness(states).items() if own}
    listed = right_for_other_reasons(
        {name: set(np.flatnonzero(truth).tolist()) for name, truth in gold.items()},
        {name: states[name].prepared.maps[method].scores for name, method in faithful.items()},
        {name: state.prepared.label for name, state in states.items()},
        {name: state.true_class for name, state in states.items() if state.true_class is not None},
    )
    return [(states[each.item], faithful[each.item], each) for each in listed]
