"""Everything that the results of a project show, computed once for what is in the store and shared by all sessions."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st
from sqlalchemy import func, select

from app.annotate import answers, disputes, items, results
from app.annotate.disputes import Dispute
from app.annotate.projects import Project
from app.annotate.results import ItemState, TaskAgreement
from app.annotate.tables import AnswerRow, ProjectRow
from app.store import Store
from explainers.annotations.preference import Correlation, DifferentUnits
from explainers.annotations.records import Annotation, Task

MOST_KEPT = 4  # projects
Rows = list[dict[str, object]]
Revision = tuple[int, int]


@dataclass(frozen=True)
class ShownResults:
    """Without the decisions, which are read anew. Nobody changes what is in it."""

    annotations: tuple[Annotation, ...]
    states: Mapping[str, ItemState]
    agreements: list[TaskAgreement]
    against_people: Rows
    preferred: Rows
    follows: Correlation
    simulations: Rows
    ratings: Rows
    verdicts: Rows
    other_reasons: list[tuple[ItemState, str, DifferentUnits]]
    disputes: dict[Task, list[Dispute]]


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
        results.against_people(states, _project.spec.methods),
        results.preferred(annotations, states),
        results.follows_faithfulness(annotations, states),
        results.simulations(annotations, states),
        results.ratings(annotations),
        results.verdicts(annotations),
        results.other_reasons(states),
        disputes.disputes(_project.tasks, states, annotations),
    )
