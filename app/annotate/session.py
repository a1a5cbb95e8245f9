"""Who looks at the Annotate page, what all its sessions share, and what a button does."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from app import components, plain_text
from app.annotate import people, preparation
from app.annotate.state import annotate_state
from app.compare.session import engine
from app.server import lifetime, login
from app.store import Store
from explainers.errors import ExplanationError

PARAMETER, COOKIE = "invite", "crosslight_annotator"


@dataclass(frozen=True)
class AnnotateVisitor:
    """Who looks at the page; `guest` is set for who came by an invitation."""

    account: login.Account
    guest: people.Guest | None

    @property
    def person(self) -> str:
        return f"invite {self.guest.invite}" if self.guest is not None else f"account {self.account.id}"

    @property
    def name(self) -> str:
        """Return what is shown beside this visitor's decisions; empty for everybody without login."""
        return self.guest.name if self.guest is not None else self.account.name


@st.cache_resource(show_spinner=False)
def annotation_store() -> Store:
    """Return the store of all sessions."""
    return Store()


@st.cache_resource(show_spinner=False)
def tries() -> people.Tries:
    return people.Tries()


@st.cache_resource(show_spinner=False, on_release=preparation.Preparer.close)
def preparer() -> preparation.Preparer:
    """Return the preparer of all sessions."""
    result = preparation.Preparer(annotation_store(), engine())
    lifetime.register(result)
    return result


def visitor(store: Store, account: login.Account) -> AnnotateVisitor:
    """Return the visitor; an invitation in the address is exchanged for a pass, which the browser keeps.

    Stops the page of who has none that is valid any more.
    """
    state, token = annotate_state(), st.query_params.get(PARAMETER, "")
    if token:
        del st.query_params[PARAMETER]
        try:
            state.secret = people.exchange(store, token, tries(), _text(st.context.ip_address))
            state.left, state.invitation_problem = False, ""
        except ExplanationError as error:
            state.invitation_problem = str(error)
    problem, state.invitation_problem = state.invitation_problem, ""
    if problem:
        plain_text.error(problem)
        st.stop()
    if state.left:
        keep("")
        plain_text.success(people.LEFT)
        if account.id:  # others would see everybody's projects
            st.button("Show my own projects", key="own projects", on_click=_come_back)
        st.stop()
    secret = _secret()
    if not secret:
        return AnnotateVisitor(account, None)
    guest = people.guest(store, secret)
    if guest is None:
        keep("")
        state.secret = ""
        plain_text.error(people.ENDED)
        st.stop()
    if st.context.cookies.get(COOKIE) != secret:
        keep(secret)
    return AnnotateVisitor(account, guest)


def check_pass() -> None:
    """Raise `ExplanationError` where the pass has ended; for a callback, which runs before the page looks."""
    secret = _secret()
    if secret and not annotate_state().left and people.guest(annotation_store(), secret) is None:
        raise ExplanationError(people.ENDED)


def leave() -> None:
    """Let this browser forget the invitation, whose link still works."""
    state = annotate_state()
    state.left, state.reads_cookie, state.secret = True, False, ""


def _come_back() -> None:
    """Show the page as to an account without an invitation."""
    annotate_state().left = False


def _secret() -> str:
    """Return the pass of this session, or that which the browser has kept."""
    state = annotate_state()
    return state.secret or (_text(st.context.cookies.get(COOKIE)) if state.reads_cookie else "")


def _text(value: object) -> str:
    """Return what the browser sent; empty where it sent nothing, and in a test."""
    return value if isinstance(value, str) else ""


def keep(secret: str) -> None:
    """Let the browser keep the pass, so that a reload finds it; an empty one is forgotten."""
    components.component("annotator_pass")(
        key="annotator pass", data={"name": COOKIE, "pass": secret, "days": people.PASS_DAYS}
    )


def attempt(action: Callable[..., object], *arguments: object) -> None:
    """Return a callback for `on_click`; `show_problem` shows afterwards why it failed. An ended pass does nothing."""
    try:
        check_pass()
        action(*arguments)
    except ExplanationError as error:
        annotate_state().problem = str(error)


def show_problem() -> None:
    """Show why the last button could not do its work, once."""
    state = annotate_state()
    problem, state.problem = state.problem, ""
    if problem:
        plain_text.error(problem)
