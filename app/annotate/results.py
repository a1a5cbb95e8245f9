"""What the annotations of a project show: agreement, how methods compare with people, and what people prefer."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from app.annotate.payload import PREDICTION_HIDDEN
from app.annotate.projects import ORDER, TITLES, Prepared, Project
from explainers.annotations import judged, opinions, records
from explainers.annotations.agreement import AgreementValue, of_items, of_pairs, overall
from explainers.annotations.formats.own_records import class_number
from explainers.metrics.bootstrap import Interval, mean_interval

FAITHFULNESS = "aopc_c"  # comprehensiveness
AGREED: tuple[records.Task, ...] = ("mark", "simulate", "read", "rank", "rate", "inspect")
OWN_CLASS = "People's own answer"
SAME_CLASS = "Marks are compared where two people gave the same answer to an item: {same:,} of {pairs:,} pairs."
NOT_YET = "none yet: it failed or had no time, and is tried again when somebody opens the item"
ONE_PERSON = "needs two people"
NO_COMMON_ITEM = "needs an item that two people answered"
ByMethod = defaultdict[str, dict[str, list[bool]]]  # method → item → one value per answer


@dataclass(frozen=True)
class ItemState:
    """An item with what is prepared about it, and by person the newest marks on it and their class.

    The class is the one for which the marks are evidence, as the model names it; "" where none was recorded.
    """

    number: int
    item: records.Item
    prepared: Prepared
    marks: Mapping[str, records.Marked]
    classes: Mapping[str, str] = field(default_factory=dict)

    @property
    def model_class(self) -> str:
        """Return the name of the class that the model predicts, which all methods explain."""
        return self.prepared.labels[self.prepared.label]

    def own_class(self, name: str) -> str:
        """Return a class as the model names it, where it is one of the model's."""
        labels = self.prepared.labels
        number = class_number(name, labels)
        return name if name in labels or number is None else labels[number]

    @property
    def true_class(self) -> int | None:
        """Return the number of the class that the data state; None where they state none."""
        known = self.item.example.label
        return class_number(self.item.label, self.prepared.labels) if known is None and self.item.label else known


@dataclass(frozen=True)
class TaskAgreement:
    """How far people agree on one task: `title` is on what, `note` a sentence about what is compared."""

    task: records.Task
    title: str
    overall: tuple[AgreementValue, ...]
    pairs: Mapping[tuple[str, str], tuple[AgreementValue, ...]]
    items: Mapping[str, tuple[AgreementValue, ...]]
    note: str = ""


def uninfluenced(annotations: Sequence[records.Annotation]) -> list[records.Annotation]:
    """Return annotations without marks and guesses confirmed after a later task of that item had shown more.

    It shows more as soon as the answer before it is confirmed: where the project has a later task, the first answer
    counts.
    """
    asked = {annotation.task for annotation in annotations}
    first: dict[tuple[str, str, records.Task], float] = {}
    for annotation in annotations:
        key = (annotation.item, annotation.annotator, annotation.task)
        first[key] = min(annotation.confirmed, first.get(key, annotation.confirmed))

    def influenced(annotation: records.Annotation) -> bool:
        place = ORDER.index(annotation.task)
        if annotation.task not in PREDICTION_HIDDEN or not asked & set(ORDER[place + 1 :]):
            return False
        before = [first.get((annotation.item, annotation.annotator, task), math.inf) for task in ORDER[place + 1 :]]
        own = first[annotation.item, annotation.annotator, annotation.task]
        return annotation.confirmed > own or min(before, default=math.inf) < annotation.confirmed

    return [annotation for annotation in annotations if not influenced(annotation)]


def item_states(
    items: Mapping[str, tuple[int, records.Item, Prepared | None]], annotations: Sequence[records.Annotation]
) -> dict[str, ItemState]:
    """Return the items that are prepared, by id."""
    states = {
        name: ItemState(number, item, prepared, {}, {})
        for name, (number, item, prepared) in items.items()
        if prepared is not None
    }
    marks: dict[str, dict[str, records.Marked]] = defaultdict(dict)
    classes: dict[str, dict[str, str]] = defaultdict(dict)
    for annotation in records.latest(tuple(uninfluenced(annotations))):
        if annotation.task == "mark" and isinstance(annotation.answer, records.Marked) and annotation.item in states:
            marks[annotation.item][annotation.annotator] = annotation.answer
            classes[annotation.item][annotation.annotator] = states[annotation.item].own_class(annotation.own_class)
    return {
        name: replace(state, marks=marks.get(name, {}), classes=classes.get(name, {})) for name, state in states.items()
    }


def missing_explanations(
    project: Project, states: Mapping[str, ItemState], failed: Mapping[str, Mapping[str, str]]
) -> list[tuple[str, str, str]]:
    """Return items, methods and the reason why people saw these items without them: first what `failed` in every
    attempt, by item and method, then what may still come."""
    for_good = [(item, method, reason) for item, own in failed.items() for method, reason in own.items()]
    wanted = (*project.spec.methods, *project.spec.narrators)
    open_ = [(item, method) for item, state in states.items() for method in state.prepared.missing(wanted)]
    return for_good + [(item, method, NOT_YET) for item, method in open_ if method not in failed.get(item, {})]


def agreements(
    project: Project, states: Mapping[str, ItemState], annotations: Sequence[records.Annotation]
) -> list[TaskAgreement]:
    """Return the agreement on every task that at least two people answered for the same item.

    Of marking, on the class itself, and on the marks of those who gave the same one; of reasons, on every question.
    """
    listed = [
        _agreement(task, TITLES[task], judged_of(task, states, annotations), _note(states) if task == "mark" else "")
        for task in project.tasks
        if task in AGREED and task != "read"
    ]
    if "read" in project.tasks:
        listed += [
            _agreement(
                "read", f"{TITLES['read']}: {question}", opinions.judged_question(uninfluenced(annotations), question)
            )
            for question in opinions.JUDGED
        ]
    if "mark" in project.tasks:
        classes = judged.judged_classes({name: state.classes for name, state in states.items()})
        listed.insert(0, _agreement("mark", OWN_CLASS, classes))
    return [result for result in listed if result is not None]


def without_agreement(
    project: Project, agreed: Sequence[TaskAgreement], annotations: Sequence[records.Annotation]
) -> list[dict[str, object]]:
    """Return a row per answered task without agreement: the numbers of items and people, and why there is none."""
    known, rows = {agreement.task for agreement in agreed}, []
    for task in project.tasks:
        given = uninfluenced(annotations)
        own = [annotation for annotation in given if annotation.task == task and annotation.answer is not None]
        if task in AGREED and task not in known and own:
            items = len({annotation.item for annotation in own})
            people = len({annotation.annotator for annotation in own})
            why = ONE_PERSON if people == 1 else NO_COMMON_ITEM
            rows.append({"task": TITLES[task], "items": items, "people": people, "agreement": why})
    return rows


def _agreement(
    task: records.Task, title: str, items: tuple[judged.JudgedItem, ...], note: str = ""
) -> TaskAgreement | None:
    if not any(len(item.codes) > 1 for item in items):
        return None
    ordinal = task in judged.ORDINAL
    values = overall(items, ordinal=ordinal), of_pairs(items), of_items(items, ordinal=ordinal)
    return TaskAgreement(task, title, *values, note)


def _note(states: Mapping[str, ItemState]) -> str:
    """Return how many pairs of people gave the same class; "" where none was recorded."""
    pairs = [pair for state in states.values() for pair in combinations(filter(None, state.classes.values()), 2)]
    same = sum(one == other for one, other in pairs)
    return SAME_CLASS.format(same=same, pairs=len(pairs)) if pairs else ""


def judged_of(
    task: records.Task, states: Mapping[str, ItemState], annotations: Sequence[records.Annotation]
) -> tuple[judged.JudgedItem, ...]:
    if task != "mark":
        return judged.judged_answers(uninfluenced(annotations), task)
    return tuple(
        judged.judged_item(state.item, state.marks, state.prepared.encoding, state.classes)
        for state in states.values()
        if state.marks
    )


def preferred(annotations: Sequence[records.Annotation], states: Mapping[str, ItemState]) -> list[dict[str, object]]:
    """Return per method the mean place in rankings, best first, and the mean faithfulness of its ranked maps, over
    items."""
    rows: list[dict[str, object]] = []
    ranked, values = opinions.mean_preferences(annotations, "rank"), faithfulness(states)
    for preference in opinions.preferences(annotations, "rank"):
        method = preference.method
        known = [
            values[item][method] for item, own in ranked.items() if method in own and method in values.get(item, {})
        ]
        rows.append(
            {
                "method": preference.method,
                "rankings": preference.judgements,
                "items": preference.interval.texts,
                "mean place": preference.interval,
                "aopc_c": mean_interval(np.array(known)) if known else None,
            }
        )
    return rows


def follows_faithfulness(
    annotations: Sequence[records.Annotation], states: Mapping[str, ItemState]
) -> opinions.Correlation:
    return opinions.preference_follows(opinions.mean_preferences(annotations, "rank"), faithfulness(states))


def faithfulness(states: Mapping[str, ItemState]) -> dict[str, dict[str, float]]:
    """Return AOPC-C by item and method."""
    return {
        name: {
            id: heat_map.metrics[FAITHFULNESS]
            for id, heat_map in state.prepared.maps.items()
            if FAITHFULNESS in heat_map.metrics
        }
        for name, state in states.items()
    }


def ratings(annotations: Sequence[records.Annotation]) -> list[dict[str, object]]:
    """Return per narrator the mean relatedness and fluency, with intervals over items."""
    rows: dict[str, dict[str, object]] = defaultdict(dict)
    for kind in ("relatedness", "fluency"):
        for preference in opinions.preferences(annotations, kind):
            rows[preference.method] |= {
                "ratings": preference.judgements,
                "items": preference.interval.texts,
                kind: preference.interval,
            }
    return [{"method": method, **row} for method, row in rows.items()]


def simulations(annotations: Sequence[records.Annotation], states: Mapping[str, ItemState]) -> list[dict[str, object]]:
    """Return per method how often people guessed the model's answer from its map: the mean over items."""
    right: ByMethod = defaultdict(lambda: defaultdict(list))
    for annotation in records.latest(tuple(uninfluenced(annotations))):
        for answer in records.single_answers(annotation.answer):
            if isinstance(answer, records.Simulated) and annotation.item in states:
                right[answer.method][annotation.item].append(answer.label == states[annotation.item].prepared.label)
    return [
        {"method": method, "guesses": sum(map(len, own.values())), "items": len(own), "right": _over_items(own)}
        for method, own in right.items()
    ]


def _over_items(values: Mapping[str, Sequence[bool]]) -> Interval:
    """Return the mean of the shares of the items, each of which counts once."""
    return mean_interval(np.array([np.mean(own) for own in values.values()]))


def verdicts(annotations: Sequence[records.Annotation]) -> list[dict[str, object]]:
    """Return per method how often its suggestion was accepted, corrected and rejected, and the share accepted."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: {"accept": 0, "correct": 0, "reject": 0})
    accepted: ByMethod = defaultdict(lambda: defaultdict(list))
    for annotation in records.latest(tuple(annotations)):
        for answer in records.single_answers(annotation.answer):
            if isinstance(answer, records.Inspected):
                counts[answer.method][answer.verdict] += 1
                accepted[answer.method][annotation.item].append(answer.verdict == "accept")
    return [
        {"method": method, **count, "items": len(accepted[method]), "accepted": _over_items(accepted[method])}
        for method, count in counts.items()
    ]
