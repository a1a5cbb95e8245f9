"""The Annotate page: who sees what.

Invited annotators see their items. Owners see the list of projects, a new one, and the views of one project.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from app import model_pool, plain_text
from app.annotate import people, preparation, project_form, projects, session, workbench
from app.annotate.people_view import people_view
from app.annotate.projects import ONE_BY_ONE, TITLES, Project
from app.annotate.results_view import results_view
from app.annotate.session import AnnotateVisitor, attempt
from app.annotate.state import (
    NEW,
    PEOPLE,
    RESULTS,
    SETTINGS,
    WORK,
    AnnotateState,
    GuidelineDraft,
    annotate_state,
)
from app.annotate.tables import method_name
from app.components import forget_files
from app.database.connections import StoreUnavailable
from app.server import login
from app.session import put, value_of
from app.store import Store
from explainers.errors import ExplanationError
from explainers.report.wording import counted

VIEWS = (WORK, PEOPLE, RESULTS, SETTINGS)
EMPTY = "There is no project yet. Make one here; then annotate yourself, or invite others."
JOIN = "Annotate items yourself, or invite others under People. Your own annotations count as one more person's."
FAILED = (
    "{count:,} explanations of {items:,} items could not be computed, also not when they were tried again. People see "
    "these items without them."
)
MOST_REASONS = 5
NOT_SAVED = "Not saved yet."
GUIDELINE_SAVED = "Saved. People see it with their next item; what they confirmed before stays as it is."
DELETE = ", its items and everything that was confirmed in it."
GONE = "The project that was shown here has been deleted."
LEAVE = "This browser forgets your invitation. Open its link to come back; what you confirmed is kept."


def owner_page(
    store: Store, preparer: preparation.Preparer, pool: model_pool.ModelPool, visitor: AnnotateVisitor
) -> None:
    """Draw the page of a person who may make projects."""
    listed = {project.id: project for project in projects.projects(store, visitor.account)}
    chosen = _choice(listed)
    _say_problem("project")
    if chosen is None:
        if not listed:
            st.caption(EMPTY)
        made = project_form.new_project(store, preparer, pool, visitor.account)
        if made is not None:
            preparer.want(projects.first_items(store, made.id, workbench.AHEAD))
            annotate_state().project_made(made.id)
            forget_files(project_form.FILES_KEY)
            st.rerun()
        return
    project_page(store, preparer, chosen, visitor)


def _choice(listed: dict[int, Project]) -> Project | None:
    """Return the chosen project; None for a new one."""
    state = annotate_state()
    if state.shown_project not in (None, NEW, *listed):
        _say_deleted(state)
    if not listed:
        return None
    wanted, state.next_project = state.next_project, None
    if wanted in listed:
        state.change(annotation_project=wanted, annotation_view=WORK)
    offered = [*listed, NEW]
    asked = state.controls.annotation_project
    state.offer("annotation_project", offered)
    if asked not in (None, *offered):
        state.change(annotation_view=WORK)  # not the settings of a project that nobody has asked for
    if state.controls.annotation_project is None:
        state.first_project = offered[0]
        state.change(annotation_project=offered[0])
    names = titles({id: project.spec.name for id, project in listed.items()})
    number = st.selectbox(
        "Project",
        offered,
        format_func=lambda id: names.get(id, "New project …"),
        **state.widget("annotation_project", listed=offered),
    )
    state.show_project(number)
    return listed.get(number)


def _say_problem(parameter: str) -> None:
    """Say what the address asks for in vain."""
    if problem := annotate_state().problems.get(parameter):
        plain_text.warning(problem)


def _say_deleted(state: AnnotateState) -> None:
    """Say that the project that was shown is gone: by its name where it was deleted here."""
    if state.deleted:
        plain_text.success(f"“{state.deleted}” is deleted.")
    else:
        plain_text.warning(GONE)
    state.deleted, state.shown_project = "", None


def titles(names: Mapping[int, str]) -> dict[int, str]:
    """Return the names by number, those that several projects have with the number."""
    times = Counter(names.values())
    return {number: f"{name} ({number})" if times[name] > 1 else name for number, name in names.items()}


def project_page(store: Store, preparer: preparation.Preparer, project: Project, visitor: AnnotateVisitor) -> None:
    """Draw the views of one project, for its owner."""
    views: dict[str, Callable[[], None]] = {
        WORK: lambda: work(store, preparer, project, visitor),
        PEOPLE: lambda: people_view(store, project),
        RESULTS: lambda: results_view(store, preparer, project, visitor.name),
        SETTINGS: lambda: _settings(store, project, visitor),
    }
    state = annotate_state()
    view = st.segmented_control(
        "View",
        VIEWS,
        required=True,
        label_visibility="collapsed",
        **state.widget("annotation_view", options=VIEWS, initial="default", then=state.another_view),
    )
    state.finish()
    _say_problem("view")
    views[view or WORK]()


def work(store: Store, preparer: preparation.Preparer, project: Project, visitor: AnnotateVisitor) -> None:
    """Let the visitor annotate; owners say first that they want to, because they would take items from others."""
    owner = visitor.guest is None or visitor.guest.role == "owner"
    if owner and not people.has_joined(store, project.id, visitor.person):
        st.caption(JOIN)
        st.button(
            "Annotate myself", key="join", type="primary", on_click=attempt, args=(join, store, project.id, visitor)
        )
        return
    workbench.annotate(store, preparer, project, join(store, project.id, visitor))


def join(store: Store, project: int, visitor: AnnotateVisitor) -> int:
    """Return the number of the visitor, who becomes one of the project's people if they are none yet."""
    name = visitor.guest.name if visitor.guest is not None else ""
    return people.annotator(store, project, visitor.person, name)


def _settings(store: Store, project: Project, visitor: AnnotateVisitor) -> None:
    spec = project.spec
    tasks = ", ".join(TITLES[task] for task in project.tasks)
    plain_text.bullets(
        [
            f"Model: {spec.model}",
            f"Data: {spec.source}, {counted(project.items, 'item')}",
            f"Tasks: {tasks}",
            f"Methods: {', '.join(map(method_name, (*spec.methods, *spec.narrators))) or 'none'}",
            *([f"Methods per item: {spec.methods_per_item}"] if set(spec.tasks) & set(ONE_BY_ONE) else []),
            *([f"Maps to rank: {min(spec.maps_to_rank, len(spec.methods))}"] if "rank" in spec.tasks else []),
            f"People per item: {spec.overlap}",
            f"Blind: {'yes' if spec.blind else 'no'}",
        ]
    )
    _guideline(store, project)
    failed = projects.failures(store, project.id)
    if failed:
        plain_text.warning(FAILED.format(count=sum(map(len, failed.values())), items=len(failed)))
        reasons = {(method, reason) for own in failed.values() for method, reason in own.items()}
        plain_text.bullets([f"{method_name(method)}: {reason}" for method, reason in sorted(reasons)[:MOST_REASONS]])
    if visitor.guest is None:
        with st.popover("Delete the project", key=f"deletion of {project.id}"):  # another one's is closed
            plain_text.paragraph("Deletes the project ", plain_text.Bold(spec.name), DELETE)
            st.button("Delete it", key=f"delete project {project.id}", on_click=_delete, args=(store, project))


def _delete(store: Store, project: Project) -> None:
    def remove() -> None:
        projects.remove(store, project.id)
        annotate_state().deleted = project.spec.name

    attempt(remove)


def _guideline(store: Store, project: Project) -> None:
    """Let the owner change the guideline, as a first round of annotations teaches; that of another owner is seen before
    it is replaced. What is typed and not saved stays while other views are shown."""
    drafts, number, stored = annotate_state().guidelines, (project.id, project.created), project.spec.guideline
    key = f"guideline of {project.id}"
    draft = drafts[number] = drafts.get(number, GuidelineDraft(stored, stored)).against(stored)
    if draft.of_another or draft.seen != stored:
        plain_text.paragraph(plain_text.Bold("Guideline of another owner: "), stored or "none")
    put(key, draft.typed)
    st.text_area(
        "Guideline",
        key=key,
        help=project_form.GUIDELINE,
        height=120,
        on_change=_type,
        args=(number, key),
    )
    if not st.button("Save the guideline", key=f"save guideline of {project.id}"):
        if draft.typed != stored:
            st.caption(NOT_SAVED)
        return
    drafts[number] = draft._replace(seen=stored, of_another=draft.of_another or draft.seen != stored)
    try:
        changed = replace(project, spec=replace(project.spec, guideline=draft.seen))
        projects.change_guideline(store, changed, draft.typed)
    except ExplanationError as error:
        plain_text.error(str(error))
        return
    drafts[number] = GuidelineDraft(draft.typed, draft.typed)
    st.caption(GUIDELINE_SAVED)


def _type(number: tuple[int, float], key: str) -> None:
    """Keep what is typed, also where the press that ends the typing shows another view."""
    drafts = annotate_state().guidelines
    drafts[number] = drafts[number]._replace(typed=value_of(key) or "")


def title() -> None:
    st.title("Annotate evidence and judge explanations", anchor=False)


def show(pool: model_pool.ModelPool, account: login.Account) -> None:
    """Draw the page; end with a sentence if the store fails or the visitor may see nothing.

    An item that was shown stays.
    """
    session.show_problem()
    shown_before = workbench.shown()
    try:
        store = session.annotation_store()
        visitor = session.visitor(store, account)
        if visitor.guest is None:
            owner_page(store, session.preparer(), pool, visitor)
        else:
            _guest_page(visitor)
    except StoreUnavailable as error:
        plain_text.error(str(error))
        if shown_before:
            workbench.hold()
    except ExplanationError as error:
        plain_text.error(str(error))


def _guest_page(visitor: AnnotateVisitor) -> None:
    store, guest = session.annotation_store(), visitor.guest
    project = projects.project(store, guest.project) if guest is not None else None
    if guest is None or project is None:
        plain_text.error(projects.GONE)
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        plain_text.caption(f"{project.spec.name}, as {guest.name}")
        st.button("Leave", key="leave", type="tertiary", help=LEAVE, on_click=session.leave)
    if guest.role == "owner":
        project_page(store, session.preparer(), project, visitor)
    else:
        work(store, session.preparer(), project, visitor)
