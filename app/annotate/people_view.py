"""The owner's view of the people of a project: invitations and how far everybody is."""

import time
from collections.abc import Sequence

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

NAMES = "Names, one per line"
NAMES_HELP = "A pseudonym for each person, such as A1. It stands in every download."
NO_NAME = "Write at least one name, such as A1. The name stands beside the annotations."
MOST_NAMES, LONGEST_NAME = 100, 40  # invitations at once, and characters of a name
UNUSED = "Send each person their own link. A link is shown here until it is opened; then only its hash is stored."
FREE = "Items that somebody has opened and not begun go back to the others. Use it when a person has left."
ROLES = {"annotator": "annotator", "owner": "owner (sees the results, too)"}


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
    for each in listed:
        _invite(store, project, each)


def names_in(given: str) -> list[str]:
    """The names of the lines that have any, each once."""
    return list(dict.fromkeys(filter(None, map(str.strip, given.splitlines()))))


def invite_all(store: Store, project: int, names: Sequence[str], role: people.Role) -> tuple[list[str], list[str]]:
    """Invites one after the other. The names that are invited, and a sentence for each other one."""
    if len(names) > MOST_NAMES:
        return [], [f"These are {len(names):,} names. Invite at most {MOST_NAMES} people at once."]
    invited, problems = [], []
    for name in names:
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
    """One message about all of them."""
    if not problems:
        plain_text.success(f"Invited: {', '.join(invited)}. Send everybody their link.")
        return
    done = f"Invited: {', '.join(invited)}. Not invited:" if invited else "Nobody was invited."
    (plain_text.warning if invited else plain_text.error)("\n".join([done, *problems]))


def _show_links(listed: Sequence[Invite]) -> bool:
    """Of the invitations that nobody has opened, in one block that can be copied; false without any."""
    lines = [f"{each.name}: {_address()}?{PARAMETER}={each.token}" for each in listed if each.token]
    if not lines:
        return False
    plain_text.paragraph("The link of one person" if len(lines) == 1 else f"The links of {len(lines)} people")
    st.code("\n".join(lines), None, wrap_lines=True)
    if hosts.is_local(_address()):
        st.warning(hosts.LOCAL_ONLY)
    st.caption(UNUSED)
    return True


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
                args=(people.revoke, store, project.id, each.id),
                help="The link and the browsers in which it was opened stop working. Annotations stay.",
            )


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
