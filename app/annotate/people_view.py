"""The owner's view of the people of a project: invitations and how far everybody is."""

import time

import streamlit as st

from app import plain_text
from app.annotate import assignment, people
from app.annotate.actions import attempt
from app.annotate.people import Invite
from app.annotate.projects import Project
from app.annotate.session import PARAMETER
from app.server import hosts
from app.store import Store
from explainers.errors import ExplanationError

ROLE = "invite role"
LINK = "annotation link"  # in the session, until the page is left: nobody can read it again
ONCE = "Copy this link now and send it. It is shown only once, because only a hash of it is stored."
FREE = "Items that somebody has opened and not begun go back to the others. Use it when a person has left."
ROLES = {"annotator": "annotator", "owner": "owner (sees the results, too)"}


def people_view(store: Store, project: Project) -> None:
    if ROLE not in st.session_state:  # Streamlit forgets this field when the view is left
        st.session_state.pop(LINK, None)
    _progress(store, project)
    st.subheader("Invitations", anchor=False)
    with st.form("invite", border=False, clear_on_submit=True):
        left, middle, right = st.columns([2, 2, 1], vertical_alignment="bottom")
        name = left.text_input(
            "For whom", key="invite name", max_chars=40, help="A pseudonym, such as A1. It stands in every download."
        )
        role = middle.selectbox("Role", list(ROLES), key=ROLE, format_func=ROLES.__getitem__)
        pressed = right.form_submit_button("Invite", key="send invite", width="stretch")
    if pressed:
        try:
            token = people.invite(store, project.id, name, "owner" if role == "owner" else "annotator")
            st.session_state[LINK] = (project.id, name.strip(), token)
        except ExplanationError as error:
            plain_text.error(str(error))
    _show_link(project)
    for each in people.invites(store, project.id):
        _invite(store, project, each)


def _show_link(project: Project) -> None:
    made = st.session_state.get(LINK)
    if made is not None and made[0] == project.id:
        plain_text.paragraph(f"The invitation of {made[1]}")
        st.code(f"{_address()}?{PARAMETER}={made[2]}", None, wrap_lines=True)
        if hosts.is_local(_address()):
            st.warning(hosts.LOCAL_ONLY)
        st.caption(ONCE)


def _address() -> str:
    """Of this page, without what follows the question mark."""
    return str(st.context.url or "annotate").partition("?")[0]


def _invite(store: Store, project: Project, each: Invite) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        status = "revoked" if each.revoked else "opened" if each.opened else "not opened yet"
        made = time.strftime("%d %B", time.localtime(each.created))
        plain_text.paragraph(f"{each.name}, {each.role}, {status}, made on {made}")
        if not each.revoked:
            st.button(
                "Revoke",
                key=f"revoke {each.id}",
                on_click=attempt,
                args=(_revoke, store, project.id, each),
                help="The link and the browsers in which it was opened stop working. Annotations stay.",
            )


def _revoke(store: Store, project: int, revoked: Invite) -> None:
    people.revoke(store, project, revoked.id)
    if st.session_state.get(LINK, ())[:2] == (project, revoked.name):
        del st.session_state[LINK]


def _progress(store: Store, project: Project) -> None:
    names = people.names(store, project.id)
    if not names:
        st.caption("Nobody has annotated yet.")
        return
    rows = []
    for number, name in names.items():
        done = assignment.progress(store, project.id, number, project.spec.overlap)
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
        assignment.release_open(store, project, number)
