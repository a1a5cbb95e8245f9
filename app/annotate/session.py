"""What all sessions share on the Annotate page, and who looks at it."""

from dataclasses import dataclass

import streamlit as st

from app import plain_text
from app.annotate import people
from app.annotate.people import Guest, Tries
from app.annotate.preparation import Preparer
from app.compare.session import engine
from app.components import component
from app.login.account import Account
from app.server import lifetime
from app.store import Store
from explainers.errors import ExplanationError

PARAMETER, COOKIE = "invite", "crosslight_annotator"
PASS, PROBLEM, LEFT = "annotation pass", "invitation problem", "annotation left"  # in the session


@dataclass(frozen=True)
class AnnotateVisitor:
    """`guest` is set for who came by an invitation."""

    account: Account
    guest: Guest | None

    @property
    def person(self) -> str:
        return f"invite {self.guest.invite}" if self.guest is not None else f"account {self.account.id}"

    @property
    def name(self) -> str:
        """Shown beside what this visitor decides; empty for everybody without login."""
        return self.guest.name if self.guest is not None else self.account.name


@st.cache_resource(show_spinner=False)
def annotation_store() -> Store:
    """One for all sessions."""
    return Store()


@st.cache_resource(show_spinner=False)
def tries() -> Tries:
    return Tries()


@st.cache_resource(show_spinner=False, on_release=Preparer.close)
def preparer() -> Preparer:
    """One for all sessions."""
    result = Preparer(annotation_store(), engine())
    lifetime.register(result)
    return result


def visitor(store: Store, account: Account) -> AnnotateVisitor:
    """Exchanges an invitation in the address for a pass, which the browser keeps. Stops the page of who has none that
    is valid any more."""
    token = st.query_params.get(PARAMETER, "")
    if token:
        del st.query_params[PARAMETER]
        try:
            st.session_state[PASS] = people.exchange(store, token, tries(), _text(st.context.ip_address))
            st.session_state.update({LEFT: False, PROBLEM: ""})
        except ExplanationError as error:
            st.session_state[PROBLEM] = str(error)
    problem = st.session_state.pop(PROBLEM, "")
    if problem:
        plain_text.error(problem)
        st.stop()
    if st.session_state.get(LEFT):
        keep("")
        return AnnotateVisitor(account, None)
    secret = st.session_state.get(PASS) or _text(st.context.cookies.get(COOKIE))
    if not secret:
        return AnnotateVisitor(account, None)
    guest = people.guest(store, secret)
    if guest is None:
        keep("")
        st.session_state.pop(PASS, None)
        plain_text.error(people.ENDED)
        st.stop()
    if st.context.cookies.get(COOKIE) != secret:
        keep(secret)
    return AnnotateVisitor(account, guest)


def check_pass() -> None:
    """For a callback, which runs before the page looks. Raises `ExplanationError` where the pass has ended."""
    secret = st.session_state.get(PASS) or _text(st.context.cookies.get(COOKIE))
    if secret and not st.session_state.get(LEFT) and people.guest(annotation_store(), secret) is None:
        raise ExplanationError(people.ENDED)


def leave() -> None:
    """This browser forgets the invitation, whose link still works."""
    st.session_state.update({LEFT: True, PASS: ""})


def _text(value: object) -> str:
    """What the browser sent; empty where it sent nothing, and in a test."""
    return value if isinstance(value, str) else ""


def keep(secret: str) -> None:
    """Lets the browser keep the pass, so that a reload finds it; an empty one is forgotten."""
    component("annotator_pass")(key="annotator pass", data={"name": COOKIE, "pass": secret, "days": people.PASS_DAYS})
