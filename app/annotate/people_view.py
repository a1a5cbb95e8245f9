"""The People view of a project: how far everybody is, and the invitations with their links."""

import time
from collections import Counter
from collections.abc import Sequence

import streamlit as st

from app import plain_text
from app.annotate import people
from app.annotate.people import Invite
from app.annotate.projects import Project
from app.annotate.session import PARAMETER, attempt
from app.server import edge
from app.store import Store
from explainers.errors import ExplanationError

NAMES = "Names, one per line"
NAMES_HELP = "A pseudonym for each person, such as A1. It stands in every download."
NO_NAME = "Write at least one name, such as A1. The name stands beside the annotations."
MOST_NAMES, LONGEST_NAME = 100, 40  # invitations at once, and characters of a name
UNUSED = "Send each person their own link. A link is shown here until it is opened; then only its hash is stored."
LOOK = 5.0  # seconds between two looks at how far people are
FREE = "Items that somebody has opened and not begun go back to the others. Use it when a person has left."
ROLES = {"annotator": "annotator", "owner": "owner (sees the results, too)"}


def people_view(store: Store, project: Project) -> None:
    st.fragment(run_every=LOOK)(_progress)(store, project)
    names = people.names(store, project.id)
    if names:
        st.button(
            "Free unbegun items",
            key="free items",
            help=FREE,
            on_click=attempt,
            args=(_free, store, project.id, tuple(names)),
        )
    st.subheader("Invitations", anchor=False)
    with st.form("invite", border=False, clear_on_submit=True):
        given = st.text_area(NAMES, key="invite names", height=120, placeholder="A1\nA2\nA3", help=NAMES_HELP)
        role = st.selectbox("Role", list(ROLES), key="invite role", format_func=ROLES.__getitem__)
        pressed = st.form_submit_button("Invite", type="primary", key="send invite")
    typed = names_in(given or "")
    if pressed and typed:
        _say(*invite_all(store, project.id, typed, "owner" if role == "owner" else "annotator"))
    listed = people.invites(store, project.id)
    shown = _show_links(listed)
    if pressed and not typed and not shown:  # pressed twice, the field is empty and the links are there
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
        plain_text.warning(edge.LOCAL_ONLY)
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
    """Draw how far everybody is, anew while others work."""
    names = people.names(store, project.id)
    if not names:
        st.caption("Nobody has annotated yet.")
        return
    rows = []
    for number, name in names.items():
        done = people.progress(store, project.id, number, project.spec.overlap)
        rows.append({"person": name, "confirmed": done.done, "skipped": done.skipped, "of": done.total})
    st.dataframe(rows, hide_index=True, width="stretch")


def _free(store: Store, project: int, annotators: tuple[int, ...]) -> None:
    for number in annotators:
        people.release_open(store, project, number)
