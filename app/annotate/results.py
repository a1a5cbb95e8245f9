"""What the annotations of a project show: agreement, how methods compare with people, and what people prefer."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau

from app.annotate.prepared import Prepared
from app.annotate.projects import Project
from explainers.annotations.agreement import AgreementValue
from explainers.annotations.agreement_overview import of_items, of_pairs, overall
from explainers.annotations.formats.imported import class_number
from explainers.annotations.judged import ORDINAL, JudgedItem, judged_answers, judged_item
from explainers.annotations.records import (
    Annotation,
    Inspected,
    Item,
    Marked,
    Ranked,
    Rated,
    Simulated,
    Task,
    latest,
)
from explainers.annotations.units import marked_units
from explainers.metrics.intervals import Interval, paired
from explainers.metrics.plausibility import Truth, iou, is_defined, plausibility, plausibility_by_chance

FAITHFULNESS = "aopc_c"  # comprehensiveness
SHOWN = ("auc", "f1", "iou")  # metrics of plausibility
AGREED: tuple[Task, ...] = ("mark", "simulate", "rank", "rate", "inspect")


@dataclass(frozen=True)
class ItemState:
    """An item with what is prepared about it and the newest marks on it, by person."""

    number: int
    item: Item
    prepared: Prepared
    marks: Mapping[str, Marked]

    @property
    def truth(self) -> Truth:
        """True for every unit that at least half of the people marked, (units,)."""
        counts = np.zeros(len(self.prepared.units))
        for marked in self.marks.values():
            counts[list(marked_units(marked, self.prepared.encoding))] += 1
        result: Truth = counts * 2 >= max(1, len(self.marks))
        return result

    @property
    def right(self) -> bool | None:
        """Whether the model answers as the data say; None where they do not say it."""
        known = self.item.example.label
        known = class_number(self.item.label, self.prepared.labels) if known is None and self.item.label else known
        return None if known is None else known == self.prepared.label


@dataclass(frozen=True)
class TaskAgreement:
    task: Task
    overall: tuple[AgreementValue, ...]
    pairs: Mapping[tuple[str, str], tuple[AgreementValue, ...]]
    items: Mapping[str, tuple[AgreementValue, ...]]


@dataclass(frozen=True)
class OtherReasons:
    """An item that the model answers correctly, while its most faithful map differs from people's marks."""

    state: ItemState
    method: str
    overlap: float  # IOU of as many units of the map as people marked
    chance: float


def item_states(
    items: Mapping[str, tuple[int, Item, Prepared | None]], annotations: Sequence[Annotation]
) -> dict[str, ItemState]:
    """The items that are prepared, by id."""
    marks: dict[str, dict[str, Marked]] = defaultdict(dict)
    for each in latest(tuple(annotations)):
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
        return judged_answers(annotations, task)
    return tuple(
        judged_item(state.item, state.marks, state.prepared.encoding) for state in states.values() if state.marks
    )


def against_people(states: Mapping[str, ItemState], methods: Sequence[str]) -> list[dict[str, object]]:
    """Per method the mean of each metric over the items with marks, and below it what a random order reaches."""
    rows: list[dict[str, object]] = []
    for method in methods:
        counted = [each for each in states.values() if each.marks and method in each.prepared.maps]
        counted = [each for each in counted if is_defined(each.truth)]
        if counted:
            values = [plausibility(each.truth, each.prepared.maps[method].scores) for each in counted]
            chance = [plausibility_by_chance(each.truth) for each in counted]
            row: dict[str, object] = {"method": method, "items": len(counted)}
            for metric in SHOWN:
                row[metric] = float(np.mean([value[metric] for value in values]))
                row[f"{metric} chance"] = float(np.mean([value[metric] for value in chance]))
            rows.append(row)
    return rows


def preferences(annotations: Sequence[Annotation], states: Mapping[str, ItemState]) -> list[dict[str, object]]:
    """Per method the share of the comparisons with another map that it won, and its mean faithfulness."""
    won: dict[str, list[float]] = defaultdict(list)
    faithful: dict[str, list[float]] = defaultdict(list)
    for each in latest(tuple(annotations)):
        if isinstance(each.answer, Ranked):
            order = each.answer.methods
            for place, method in enumerate(order):
                won[method] += [0.0] * place + [1.0] * (len(order) - 1 - place)
            for method, value in _faithfulness(states.get(each.item), order).items():
                faithful[method].append(value)
    return [
        {
            "method": method,
            "comparisons": len(values),
            "preferred": float(np.mean(values)),
            FAITHFULNESS: float(np.mean(faithful[method])) if faithful[method] else None,
        }
        for method, values in sorted(won.items(), key=lambda pair: -float(np.mean(pair[1])))
    ]


def follows_faithfulness(annotations: Sequence[Annotation], states: Mapping[str, ItemState]) -> Interval | None:
    """Kendall's τ of each ranking with the faithfulness of its maps, as mean over rankings; None without any."""
    values = []
    for each in latest(tuple(annotations)):
        if isinstance(each.answer, Ranked):
            known = _faithfulness(states.get(each.item), each.answer.methods)
            if len(known) == len(each.answer.methods) and len(set(known.values())) > 1:
                places = range(len(known), 0, -1)
                values.append(float(kendalltau(list(places), [known[id] for id in each.answer.methods]).statistic))
    return paired(np.array(values)) if values else None


def _faithfulness(state: ItemState | None, methods: Sequence[str]) -> dict[str, float]:
    maps = state.prepared.maps if state is not None else {}
    return {id: maps[id].metrics[FAITHFULNESS] for id in methods if id in maps and FAITHFULNESS in maps[id].metrics}


def ratings(annotations: Sequence[Annotation]) -> list[dict[str, object]]:
    """Per narrator the mean relatedness and fluency."""
    scores: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for each in latest(tuple(annotations)):
        if isinstance(each.answer, Rated):
            for score in each.answer.scores:
                scores[score.method].append((score.relatedness, score.fluency))
    return [
        {
            "method": method,
            "ratings": len(values),
            "relatedness": float(np.mean([value[0] for value in values])),
            "fluency": float(np.mean([value[1] for value in values])),
        }
        for method, values in scores.items()
    ]


def simulations(annotations: Sequence[Annotation], states: Mapping[str, ItemState]) -> list[dict[str, object]]:
    """Per method how often people guessed the model's answer from its map."""
    right: dict[str, list[bool]] = defaultdict(list)
    for each in latest(tuple(annotations)):
        if isinstance(each.answer, Simulated) and each.item in states:
            right[each.answer.method].append(each.answer.label == states[each.item].prepared.label)
    return [
        {"method": method, "guesses": len(values), "right": float(np.mean(values))} for method, values in right.items()
    ]


def verdicts(annotations: Sequence[Annotation]) -> list[dict[str, object]]:
    """Per method how often its suggestion was accepted, corrected and rejected."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"accept": 0, "correct": 0, "reject": 0})
    for each in latest(tuple(annotations)):
        if isinstance(each.answer, Inspected):
            counts[each.answer.method][each.answer.verdict] += 1
    return [{"method": method, **count} for method, count in counts.items()]


def other_reasons(states: Mapping[str, ItemState]) -> list[OtherReasons]:
    """Right answers for reasons other than people's: the least overlap first, where it is below that of chance."""
    result = []
    for state in states.values():
        faithful = _faithfulness(state, list(state.prepared.maps))
        if state.marks and state.right and faithful and is_defined(state.truth):
            method = max(faithful, key=lambda id: faithful[id])
            overlap = iou(state.truth, state.prepared.maps[method].scores)
            chance = plausibility_by_chance(state.truth)["iou"]
            if overlap < chance:
                result.append(OtherReasons(state, method, overlap, chance))
    return sorted(result, key=lambda each: each.overlap)
