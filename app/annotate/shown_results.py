"""Everything that the results of a project show, computed once for what is in the store and shared by all sessions.

The gold marks of an item are those for the model's class, which all methods explain: what an owner decided, else the
units that at least half of the people marked who gave the model's class. Where nobody's class is recorded, as in
earlier projects, everybody's marks count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray
from sqlalchemy import func, select

from app.annotate import answers, disputes, projects, results
from app.annotate.disputes import Decided, Dispute, OwnerDecision
from app.annotate.results import ItemState, TaskAgreement, faithfulness
from app.annotate.tables import AnswerRow, DecisionRow, ProjectRow
from app.store import Store
from explainers.annotations import judged, opinions
from explainers.annotations.records import Annotation, Marked, Task
from explainers.metrics import bootstrap, plausibility

SHOWN = ("auc", "f1", "iou")  # metrics of plausibility
Decisions = Mapping[Decided, Sequence[OwnerDecision]]
MOST_KEPT = 4  # projects
Rows = list[dict[str, object]]
Revision = tuple[int, int]


@dataclass(frozen=True)
class GoldMarks:
    """Marks of an item: `truth` is true for every unit that is marked, (units,).

    `people` are those whose marks it rests on; 0 where it is a decision.
    """

    truth: plausibility.Truth
    people: int = 0


@dataclass(frozen=True)
class Support:
    """What gold marks rest on: answers with a class, those with the model's, items with and without marks."""

    answers: int
    same: int
    items: int
    without: int


Gold = Mapping[str, GoldMarks]


def gold_marks(states: Mapping[str, ItemState], decided: Decisions) -> dict[str, GoldMarks]:
    """Return the marks by item id; without items that nobody marked for the model's class."""
    all_marks = {name: _gold_marks(state, decided.get((state.number, "mark"), ())) for name, state in states.items()}
    return {name: marks for name, marks in all_marks.items() if marks is not None}


def _gold_marks(state: ItemState, history: Sequence[OwnerDecision]) -> GoldMarks | None:
    if history:
        marked = history[-1].answer if isinstance(history[-1].answer, Marked) else Marked()
        own_class = state.own_class(history[-1].own_class)
        return GoldMarks(_counts(state, [marked]) > 0) if own_class in ("", state.model_class) else None
    counted = marks_for_model(state)
    return GoldMarks(_counts(state, counted) * 2 >= len(counted), len(counted)) if counted else None


def marks_for_model(state: ItemState) -> list[Marked]:
    """Return the marks of who gave the model's class; everybody's where nobody's class is recorded."""
    if not any(state.classes.values()):
        return list(state.marks.values())
    return [marked for person, marked in state.marks.items() if state.classes.get(person) == state.model_class]


def support(states: Mapping[str, ItemState], gold: Gold) -> Support:
    """Return what the gold marks rest on."""
    given = [(state, own) for state in states.values() for own in state.classes.values() if own]
    marked = [name for name, state in states.items() if state.marks]
    same = sum(own == state.model_class for state, own in given)
    return Support(len(given), same, len(gold), sum(name not in gold for name in marked))


def _counts(state: ItemState, marks: Sequence[Marked]) -> NDArray[np.float64]:
    """Return how many people marked each unit, (units,)."""
    counts = np.zeros(len(state.prepared.units))
    for marked in marks:
        counts[list(judged.marked_units(marked, state.prepared.encoding))] += 1
    return counts


def against_people(states: Mapping[str, ItemState], gold: Gold, methods: Sequence[str]) -> list[dict[str, object]]:
    """Return per method the mean of each metric over the items with gold marks, with its interval.

    Beside it, what a random order reaches on them, and how many people's marks they rest on.
    """
    shown = [metric for metric in plausibility.PLAUSIBILITY if metric.id in SHOWN]
    truths = {name: marks.truth for name, marks in gold.items() if plausibility.is_defined(marks.truth)}
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
                row[metric.id] = bootstrap.mean_interval(
                    np.array([metric.score(truths[name], counted[name]) for name in counted])
                )
                row[f"{metric.id} random order"] = float(np.mean([chance[name][place] for name in counted]))
            rows.append(row)
    return rows


def other_reasons(states: Mapping[str, ItemState], gold: Gold) -> list[tuple[ItemState, str, opinions.DifferentUnits]]:
    """Return right answers for reasons other than people's: the item, and the method with the most faithful map."""
    faithful = {name: max(own, key=lambda id: own[id]) for name, own in faithfulness(states).items() if own}
    listed = opinions.right_for_other_reasons(
        {name: set(np.flatnonzero(marks.truth).tolist()) for name, marks in gold.items()},
        {name: states[name].prepared.maps[method].scores for name, method in faithful.items()},
        {name: state.prepared.label for name, state in states.items()},
        {name: state.true_class for name, state in states.items() if state.true_class is not None},
    )
    return [(states[annotation.item], faithful[annotation.item], annotation) for annotation in listed]


@dataclass(frozen=True)
class ShownResults:
    """What decisions of the owner do not change; nobody changes what is in it."""

    annotations: tuple[Annotation, ...]
    states: Mapping[str, ItemState]
    agreements: list[TaskAgreement]
    preferred: Rows
    follows: opinions.Correlation
    simulations: Rows
    ratings: Rows
    verdicts: Rows
    disputes: dict[Task, list[Dispute]]
    reasons: tuple[opinions.ReasonShares, ...] = ()


@dataclass(frozen=True)
class GoldResults:
    """What follows from the gold marks, and so from the owner's decisions; nobody changes what is in it."""

    support: Support
    against_people: Rows
    other_reasons: list[tuple[ItemState, str, opinions.DifferentUnits]]


def revision(store: Store, project: int) -> Revision:
    """Return a number that is another one after every confirmed answer, and when something was prepared."""
    with store.read() as session:
        answered = session.scalar(select(func.max(AnswerRow.id)).where(AnswerRow.project == project))
        prepared = session.scalar(select(ProjectRow.revision).where(ProjectRow.id == project))
    return answered or 0, prepared or 0


def shown_results(store: Store, project: projects.Project) -> ShownResults:
    """Return the results of the present revision, from memory if they are there; raises `StoreUnavailable`."""
    return _computed(project.salt, revision(store, project.id), store, project)


@st.cache_resource(show_spinner="Computing the results", max_entries=MOST_KEPT)
def _computed(salt: str, at: Revision, _store: Store, _project: projects.Project) -> ShownResults:
    """Return the results; `salt` tells the project from a later one with the same number."""
    annotations = answers.annotations(_store, _project)
    answered = projects.all_items(_store, _project.id, answered=True)
    states = results.item_states(answered, annotations)
    return ShownResults(
        annotations,
        states,
        results.agreements(_project, states, annotations),
        results.preferred(annotations, states),
        results.follows_faithfulness(annotations, states),
        results.simulations(annotations, states),
        results.ratings(annotations),
        results.verdicts(annotations),
        disputes.disputes(_project.tasks, states, annotations),
        opinions.reason_shares([item for _, item, _ in answered.values()], results.uninfluenced(annotations)),
    )


def gold_results(store: Store, project: projects.Project, shown: ShownResults) -> GoldResults:
    """Return the results with the present decisions, from memory if they are there; raises `StoreUnavailable`."""
    with store.read() as session:
        decided = session.scalar(select(func.max(DecisionRow.id)).where(DecisionRow.project == project.id)) or 0
    return _gold(project.salt, revision(store, project.id), decided, store, project, shown)


@st.cache_resource(show_spinner="Comparing the methods with people", max_entries=MOST_KEPT)
def _gold(
    salt: str, at: Revision, decided: int, _store: Store, _project: projects.Project, _shown: ShownResults
) -> GoldResults:
    """Return the results; `decided` is the number of the newest decision."""
    marks = gold_marks(_shown.states, disputes.histories(_store, _project))
    return GoldResults(
        support(_shown.states, marks),
        against_people(_shown.states, marks, _project.spec.methods),
        other_reasons(_shown.states, marks),
    )
