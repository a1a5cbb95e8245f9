"""The owner's page: the list of projects, a new one, and the views of one project."""

from collections.abc import Callable

import streamlit as st

from app import plain_text
from app.annotate import items, people, projects
from app.annotate.actions import attempt
from app.annotate.intermission import LAST, REVISIT
from app.annotate.method_names import method_name
from app.annotate.people_view import people_view
from app.annotate.preparation import Preparer
from app.annotate.project_form import new_project
from app.annotate.projects import ONE_BY_ONE, TITLES, Project
from app.annotate.results_view import results_view
from app.annotate.session import AnnotateVisitor
from app.annotate.workbench import AHEAD, annotate
from app.model_pool import ModelPool
from app.store import Store

NEW = 0
CHOSEN, VIEW = "annotation project", "annotation view"  # in the session
WORK, PEOPLE, RESULTS, SETTINGS = "Annotate", "People", "Results", "Settings"
VIEWS = (WORK, PEOPLE, RESULTS, SETTINGS)
EMPTY = "There is no project yet. Make one here; then annotate yourself, or invite others."
JOIN = "Annotate items yourself, or invite others under People. Your own annotations count as one more person's."
FAILED = (
    "{count:,} explanations of {items:,} items could not be computed, also not when they were tried again. People see "
    "these items without them."
)
MOST_REASONS = 5
DELETE = "Deletes the project, its items and everything that was confirmed in it."


def owner_page(store: Store, preparer: Preparer, pool: ModelPool, visitor: AnnotateVisitor) -> None:
    """Of a person who may make projects."""
    listed = {each.id: each for each in projects.projects(store, visitor.account)}
    chosen = _choice(listed)
    if chosen is None:
        if not listed:
            st.caption(EMPTY)
        made = new_project(store, preparer, pool, visitor.account)
        if made is not None:
            preparer.want(items.first_items(store, made.id, AHEAD))
            st.session_state["annotation next"] = made.id
            st.rerun()
        return
    project_page(store, preparer, chosen, visitor)


def _choice(listed: dict[int, Project]) -> Project | None:
    """The chosen project; None for a new one."""
    if not listed:
        return None
    wanted = st.session_state.pop("annotation next", None)
    if wanted in listed:
        st.session_state.update({CHOSEN: wanted, VIEW: WORK})
    if st.session_state.get(CHOSEN) not in (*listed, NEW):
        st.session_state[CHOSEN] = next(iter(listed))
    number = st.selectbox(
        "Project",
        [*listed, NEW],
        key=CHOSEN,
        format_func=lambda each: listed[each].spec.name if each in listed else "New project …",
        on_change=_changed,
        persist_state="session",
    )
    return listed.get(number)


def _changed() -> None:
    for name in (REVISIT, LAST):
        st.session_state.pop(name, None)


def project_page(store: Store, preparer: Preparer, project: Project, visitor: AnnotateVisitor) -> None:
    """The views of one project, for its owner."""
    views: dict[str, Callable[[], None]] = {
        WORK: lambda: work(store, preparer, project, visitor),
        PEOPLE: lambda: people_view(store, project),
        RESULTS: lambda: results_view(store, preparer, project, visitor.name),
        SETTINGS: lambda: _settings(store, project, visitor),
    }
    view = st.segmented_control(
        "View",
        VIEWS,
        default=WORK,
        required=True,
        key=VIEW,
        label_visibility="collapsed",
        persist_state="session",
    )
    views[view or WORK]()


def work(store: Store, preparer: Preparer, project: Project, visitor: AnnotateVisitor) -> None:
    """The visitor annotates. Owners say first that they want to: they would take items from others."""
    owner = visitor.guest is None or visitor.guest.role == "owner"
    if owner and not people.has_joined(store, project.id, visitor.person):
        st.caption(JOIN)
        st.button(
            "Annotate myself", key="join", type="primary", on_click=attempt, args=(join, store, project.id, visitor)
        )
        return
    annotate(store, preparer, project, join(store, project.id, visitor))


def join(store: Store, project: int, visitor: AnnotateVisitor) -> int:
    """The number of the visitor, who becomes one of the project's people if they are none yet."""
    name = visitor.guest.name if visitor.guest is not None else ""
    return people.annotator(store, project, visitor.person, name)


def _settings(store: Store, project: Project, visitor: AnnotateVisitor) -> None:
    spec = project.spec
    tasks = ", ".join(TITLES[task] for task in project.tasks)
    plain_text.bullets(
        [
            f"Model: {spec.model}",
            f"Data: {spec.source}, {project.items:,} items",
            f"Tasks: {tasks}",
            f"Methods: {', '.join(map(method_name, (*spec.methods, *spec.narrators))) or 'none'}",
            *([f"Methods per item: {spec.methods_per_item}"] if set(spec.tasks) & set(ONE_BY_ONE) else []),
            *([f"Maps to rank: {min(spec.maps_to_rank, len(spec.methods))}"] if "rank" in spec.tasks else []),
            f"People per item: {spec.overlap}",
            f"Blind: {'yes' if spec.blind else 'no'}",
        ]
    )
    failed = items.failures(store, project.id)
    if failed:
        plain_text.warning(FAILED.format(count=sum(map(len, failed.values())), items=len(failed)))
        reasons = {(method, reason) for own in failed.values() for method, reason in own.items()}
        plain_text.bullets([f"{method_name(method)}: {reason}" for method, reason in sorted(reasons)[:MOST_REASONS]])
    if visitor.guest is None:
        with st.popover("Delete the project"):
            st.write(DELETE)
            delete = (projects.remove, store, project.id)
            st.button("Delete it", key=f"delete project {project.id}", on_click=attempt, args=delete)
