"""What the annotations of a project show: agreement, how methods compare with people, and what people prefer."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.annotate.payload import PREDICTION_HIDDEN
from app.annotate.prepared import Prepared
from app.annotate.projects import ORDER, Project
from explainers.annotations.agreement import AgreementValue
from explainers.annotations.agreement_overview import of_items, of_pairs, overall
from explainers.annotations.formats.imported import class_number
from explainers.annotations.judged import ORDINAL, JudgedItem, judged_answers, judged_item
from explainers.annotations.preference import (
    Correlation,
    mean_preferences,
    preference_follows,
    preferences,
)
from explainers.annotations.records import (
    Annotation,
    Inspected,
    Item,
    Marked,
    Simulated,
    Task,
    latest,
    single_answers,
)
from explainers.metrics.intervals import Interval

FAITHFULNESS = "aopc_c"  # comprehensiveness
AGREED: tuple[Task, ...] = ("mark", "simulate", "rank", "rate", "inspect")


@dataclass(frozen=True)
class ItemState:
    """An item with what is prepared about it and the newest marks on it, by person."""

    number: int
    item: Item
    prepared: Prepared
    marks: Mapping[str, Marked]

    @property
    def true_class(self) -> int | None:
        """The number of the class that the data state; None where they state none."""
        known = self.item.example.label
        return class_number(self.item.label, self.prepared.labels) if known is None and self.item.label else known


@dataclass(frozen=True)
class TaskAgreement:
    task: Task
    overall: tuple[AgreementValue, ...]
    pairs: Mapping[tuple[str, str], tuple[AgreementValue, ...]]
    items: Mapping[str, tuple[AgreementValue, ...]]


def uninfluenced(annotations: Sequence[Annotation]) -> list[Annotation]:
    """Without marks and guesses that a person confirmed after a later task of that item, which showed them more."""
    first: dict[tuple[str, str, Task], float] = {}
    for each in annotations:
        key = (each.item, each.annotator, each.task)
        first[key] = min(each.confirmed, first.get(key, each.confirmed))

    def influenced(each: Annotation) -> bool:
        later = ORDER[ORDER.index(each.task) + 1 :] if each.task in PREDICTION_HIDDEN else ()
        return any(first.get((each.item, each.annotator, task), math.inf) < each.confirmed for task in later)

    return [each for each in annotations if not influenced(each)]


def item_states(
    items: Mapping[str, tuple[int, Item, Prepared | None]], annotations: Sequence[Annotation]
) -> dict[str, ItemState]:
    """The items that are prepared, by id."""
    marks: dict[str, dict[str, Marked]] = defaultdict(dict)
    for each in latest(tuple(uninfluenced(annotations))):
        if each.task == "mark" and isinstance(each.answer, Marked):
            marks[each.item][each.annotator] = each.answer
    return {
        name: ItemState(number, item, prepared, marks.get(name, {}))
        for name, (number, item, prepared) in items.items()
        if prepared is not None
    }


def agreements(
    project: Project, states: Mapping[str, ItemState], annotations: Sequence[Annotation]
) -> list[TaskAgreement]:
    """Of every task that at least two people answered for the same item."""
    result = []
    for task in project.tasks:
        if task not in AGREED:
            continue
        judged = judged_of(task, states, annotations)
        if any(len(item.codes) > 1 for item in judged):
            ordinal = task in ORDINAL
            result.append(
                TaskAgreement(
                    task, overall(judged, ordinal=ordinal), of_pairs(judged), of_items(judged, ordinal=ordinal)
                )
            )
    return result


def judged_of(task: Task, states: Mapping[str, ItemState], annotations: Sequence[Annotation]) -> tuple[JudgedItem, ...]:
    if task != "mark":
        return judged_answers(uninfluenced(annotations), task)
    return tuple(
        judged_item(state.item, state.marks, state.prepared.encoding) for state in states.values() if state.marks
    )


def preferred(annotations: Sequence[Annotation], states: Mapping[str, ItemState]) -> list[dict[str, object]]:
    """Per method the mean place in rankings, the best first, and the mean faithfulness of its maps."""
    rows: list[dict[str, object]] = []
    for each in preferences(annotations, "rank"):
        known = [own[each.method] for own in faithfulness(states).values() if each.method in own]
        rows.append(
            {
                "method": each.method,
                "rankings": each.judgements,
                "mean place": _with_interval(each.interval),
                "aopc_c": float(np.mean(known)) if known else None,
            }
        )
    return rows


def follows_faithfulness(annotations: Sequence[Annotation], states: Mapping[str, ItemState]) -> Correlation:
    return preference_follows(mean_preferences(annotations, "rank"), faithfulness(states))


def faithfulness(states: Mapping[str, ItemState]) -> dict[str, dict[str, float]]:
    """AOPC-C by item and method."""
    return {
        name: {
            id: each.metrics[FAITHFULNESS] for id, each in state.prepared.maps.items() if FAITHFULNESS in each.metrics
        }
        for name, state in states.items()
    }


def ratings(annotations: Sequence[Annotation]) -> list[dict[str, object]]:
    """Per narrator the mean relatedness and fluency, with intervals over items."""
    rows: dict[str, dict[str, object]] = defaultdict(dict)
    for kind in ("relatedness", "fluency"):
        for each in preferences(annotations, kind):
            rows[each.method] |= {"ratings": each.judgements, kind: _with_interval(each.interval)}
    return [{"method": method, **row} for method, row in rows.items()]


def _with_interval(interval: Interval) -> str:
    return f"{interval.mean:.2f} ({interval.low:.2f} … {interval.high:.2f})"


def simulations(annotations: Sequence[Annotation], states: Mapping[str, ItemState]) -> list[dict[str, object]]:
    """Per method how often people guessed the model's answer from its map."""
    right: dict[str, list[bool]] = defaultdict(list)
    for each in latest(tuple(uninfluenced(annotations))):
        for answer in single_answers(each.answer):
            if isinstance(answer, Simulated) and each.item in states:
                right[answer.method].append(answer.label == states[each.item].prepared.label)
    return [
        {"method": method, "guesses": len(values), "right": float(np.mean(values))} for method, values in right.items()
    ]


def verdicts(annotations: Sequence[Annotation]) -> list[dict[str, object]]:
    """Per method how often its suggestion was accepted, corrected and rejected."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"accept": 0, "correct": 0, "reject": 0})
    for each in latest(tuple(annotations)):
        for answer in single_answers(each.answer):
            if isinstance(answer, Inspected):
                counts[answer.method][answer.verdict] += 1
    return [{"method": method, **count} for method, count in counts.items()]
