"""The Annotate page: who sees what.

Invited annotators see their items. Owners see the list of projects, a new one, and the views of one project, among
them its people: the invitations, and how far everybody is.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from app import model_pool, plain_text
from app.annotate import people, preparation, project_form, projects, session, workbench
from app.annotate.people import Invite
from app.annotate.projects import ONE_BY_ONE, TITLES, Project
from app.annotate.results_view import results_view
from app.annotate.session import PARAMETER, AnnotateVisitor, attempt
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
from app.server import edge, login
from app.session import put, value_of
from app.store import Store
from explainers.errors import ExplanationError
from explainers.report.wording import counted

NAMES = "Names, one per line"
NAMES_HELP = "A pseudonym for each person, such as A1. It stands in every download."
NO_NAME = "Write at least one name, such as A1. The name stands beside the annotations."
MOST_NAMES, LONGEST_NAME = 100, 40  # invitations at once, and characters of a name
UNUSED = "Send each person their own link. A link is shown here until it is opened; then only its hash is stored."
FREE = "Items that somebody has opened and not begun go back to the others. Use it when a person has left."
ROLES = {"annotator": "annotator", "owner": "owner (sees the results, too)"}
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


def people_view(store: Store, project: Project) -> None:
    _progress(store, project)
    st.subheader("Invitations", anchor=False)
    with st.form("invite", border=False, clear_on_submit=True):
        given = st.text_area(NAMES, key="invite names", height=120, placeholder="A1\nA2\nA3", help=NAMES_HELP)
        role = st.selectbox("Role", list(ROLES), key="invite role", format_func=ROLES.__getitem__)
        pressed = st.form_submit_button("Invite", type="primary", key="send invite")
    names = names_in(given or "")
    if pressed and names:
        _say(*invite_all(store, project.id, names, "owner" if role == "owner" else "annotator"))
    listed = people.invites(store, project.id)
    shown = _show_links(listed)
    if pressed and not names and not shown:  # pressed twice, the field is empty and the links are there
        plain_text.error(NO_NAME)
    for invitation in listed:
        _invite(store, project, invitation)


def names_in(given: str) -> list[str]:
    """Return the names of the lines that have any."""
    return list(filter(None, map(str.strip, given.splitlines())))


def invite_all(store: Store, project: int, names: Sequence[str], role: people.Role) -> tuple[list[str], list[str]]:
    """Invite one after the other; return the names that are invited, and a sentence for each other one."""
    if len(names) > MOST_NAMES:
        return [], [f"These are {len(names):,} names. Invite at most {MOST_NAMES} people at once."]
    invited, problems = [], []
    for name, times in Counter(names).items():
        if times > 1:
            problems.append(f"{name[:LONGEST_NAME]!r} a second time: nobody needs two links.")
        try:
            if len(name) > LONGEST_NAME:
                raise ExplanationError(
                    f"{name[:LONGEST_NAME]!r} … has more than {LONGEST_NAME} characters. Shorten it."
                )
            people.invite(store, project, name, role)
            invited.append(name)
        except ExplanationError as error:
            problems.append(str(error))
    return invited, problems


def _say(invited: Sequence[str], problems: Sequence[str]) -> None:
    """Show one message about all of them."""
    if not problems:
        plain_text.success(f"Invited: {', '.join(invited)}. Send everybody their link.")
        return
    done = f"Invited: {', '.join(invited)}. Not invited:" if invited else "Nobody was invited."
    (plain_text.warning if invited else plain_text.error)("\n".join([done, *problems]))


def _show_links(listed: Sequence[Invite]) -> bool:
    """Draw the links of invitations that nobody has opened, in one block to copy; return False without any."""
    lines = [
        f"{invitation.name}: {_address()}?{PARAMETER}={invitation.token}" for invitation in listed if invitation.token
    ]
    if not lines:
        return False
    plain_text.paragraph("The link of one person" if len(lines) == 1 else f"The links of {len(lines)} people")
    st.code("\n".join(lines), None, wrap_lines=True)
    if edge.is_local(_address()):
        st.warning(edge.LOCAL_ONLY)
    st.caption(UNUSED)
    return True


def _address() -> str:
    """Return the address of this page, without what follows the question mark."""
    return str(st.context.url or "annotate").partition("?")[0]


def _invite(store: Store, project: Project, invite: Invite) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        status = "revoked" if invite.revoked else "opened" if invite.opened else "not opened yet"
        made = time.strftime("%d %B", time.localtime(invite.created))
        plain_text.paragraph(f"{invite.name}, {invite.role}, {status}, made on {made}")
        if not invite.revoked:
            st.button(
                "Revoke",
                key=f"revoke {invite.id}",
                on_click=attempt,
                args=(people.revoke, store, project.id, invite.id),
                help="The link and the browsers in which it was opened stop working. Annotations stay.",
            )
        if not invite.token:
            st.button(
                "New link",
                key=f"renew {invite.id}",
                on_click=attempt,
                args=(people.renew, store, project.id, invite.id),
                help="For the same person, who keeps their items and annotations. The link before stops working.",
            )


def _progress(store: Store, project: Project) -> None:
    names = people.names(store, project.id)
    if not names:
        st.caption("Nobody has annotated yet.")
        return
    rows = []
    for number, name in names.items():
        done = people.progress(store, project.id, number, project.spec.overlap)
        rows.append({"person": name, "confirmed": done.done, "skipped": done.skipped, "of": done.total})
    st.dataframe(rows, hide_index=True, width="stretch")
    st.button(
        "Free unbegun items",
        key="free items",
        help=FREE,
        on_click=attempt,
        args=(_free, store, project.id, tuple(names)),
    )


def _free(store: Store, project: int, annotators: tuple[int, ...]) -> None:
    for number in annotators:
        people.release_open(store, project, number)


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
