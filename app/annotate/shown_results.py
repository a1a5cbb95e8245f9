"""Everything that the results of a project show, computed once for what is in the store and shared by all sessions."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st
from sqlalchemy import func, select

from app.annotate import answers, decisions, disputes, gold, items, results
from app.annotate.disputes import Dispute
from app.annotate.gold import Support
from app.annotate.projects import Project
from app.annotate.results import ItemState, TaskAgreement
from app.annotate.tables import AnswerRow, DecisionRow, ProjectRow
from app.store import Store
from explainers.annotations.preference import Correlation, DifferentUnits
from explainers.annotations.records import Annotation, Task

MOST_KEPT = 4  # projects
Rows = list[dict[str, object]]
Revision = tuple[int, int]


@dataclass(frozen=True)
class ShownResults:
    """What decisions of the owner do not change. Nobody changes what is in it."""

    annotations: tuple[Annotation, ...]
    states: Mapping[str, ItemState]
    agreements: list[TaskAgreement]
    preferred: Rows
    follows: Correlation
    simulations: Rows
    ratings: Rows
    verdicts: Rows
    disputes: dict[Task, list[Dispute]]


@dataclass(frozen=True)
class GoldResults:
    """What follows from the gold marks, and so from the owner's decisions. Nobody changes what is in it."""

    support: Support
    against_people: Rows
    other_reasons: list[tuple[ItemState, str, DifferentUnits]]


def revision(store: Store, project: int) -> Revision:
    """Another one after every confirmed answer, and when something was prepared."""
    with store.read() as session:
        answered = session.scalar(select(func.max(AnswerRow.id)).where(AnswerRow.project == project))
        prepared = session.scalar(select(ProjectRow.revision).where(ProjectRow.id == project))
    return answered or 0, prepared or 0


def shown_results(store: Store, project: Project) -> ShownResults:
    """The results of the present revision; computed only if they are not in memory. Raises `StoreUnavailable`."""
    return _computed(project.salt, revision(store, project.id), store, project)


@st.cache_resource(show_spinner="Computing the results", max_entries=MOST_KEPT)
def _computed(salt: str, at: Revision, _store: Store, _project: Project) -> ShownResults:
    """`salt` tells the project from all others, also from a later one with the same number."""
    annotations = answers.annotations(_store, _project)
    states = results.item_states(items.all_items(_store, _project.id, answered=True), annotations)
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
    )


def gold_results(store: Store, project: Project, shown: ShownResults) -> GoldResults:
    """With the present decisions; computed only if they are not in memory. Raises `StoreUnavailable`."""
    with store.read() as session:
        decided = session.scalar(select(func.max(DecisionRow.id)).where(DecisionRow.project == project.id)) or 0
    return _gold(project.salt, revision(store, project.id), decided, store, project, shown)


@st.cache_resource(show_spinner="Comparing the methods with people", max_entries=MOST_KEPT)
def _gold(salt: str, at: Revision, decided: int, _store: Store, _project: Project, _shown: ShownResults) -> GoldResults:
    """`decided` is the number of the newest decision."""
    marks = gold.gold_marks(_shown.states, decisions.histories(_store, _project))
    return GoldResults(
        gold.support(_shown.states, marks),
        gold.against_people(_shown.states, marks, _project.spec.methods),
        gold.other_reasons(_shown.states, marks),
    )
