"""What a session holds of the Annotate page, what all its sessions share, and what a button does."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import streamlit as st

from app import components, plain_text
from app.annotate import answers, disputes, people, preparation, projects
from app.annotate.payload import TaskQuestion
from app.compare.session import engine
from app.server import lifetime, login
from app.session import MODEL_NAME, NOT_CARRIED, PageState, carried, held
from app.store import Store
from explainers.errors import ExplanationError

WORK, PEOPLE, RESULTS, SETTINGS = "Annotate", "People", "Results", "Settings"  # views of a project
PARAMETER, COOKIE = "invite", "crosslight_annotator"


@dataclass(frozen=True)
class AnnotateControls:
    """What an owner chooses. Only the model of a new project is in the address."""

    model: str = field(default="", metadata=carried(MODEL_NAME, "model", undo=False, download=False))
    annotation_project: int | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    annotation_view: str = field(default=WORK, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    decided_task: str = field(default="", metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    decided_item: str = field(default="", metadata=carried(NOT_CARRIED, "", undo=False, download=False))


class Reply(NamedTuple):
    """What became of an action that a component sent: its id, and a sentence why it failed or what was stored."""

    reply: str = ""
    problem: str = ""
    stored: str = ""


@dataclass(frozen=True)
class Adjudication:
    """What is to be decided, by whom, and what was decided before, the newest last."""

    store: Store
    project: projects.Project
    dispute: disputes.Dispute
    by: str
    earlier: tuple[disputes.OwnerDecision, ...]

    @property
    def key(self) -> str:
        return f"decide {self.dispute.id} {len(self.earlier)}"

    def store_decision(self, answer: Any, origin: str, own_class: str = "") -> None:
        decided: disputes.Decided = self.dispute.state.number, self.dispute.task
        seen = len(self.earlier)
        disputes.decide(self.store, self.project, decided, answer, origin, self.by, seen, own_class=own_class)

    @property
    def classes(self) -> tuple[str, ...]:
        """Return among which classes the owner chooses with marks."""
        labels = self.dispute.state.prepared.labels
        return labels if self.dispute.task == "mark" and len(labels) > 1 else ()


@dataclass
class AnnotateState(PageState[AnnotateControls]):
    controls: AnnotateControls = field(default_factory=AnnotateControls)
    problem: str = ""  # why a button could not do its work
    secret: str = ""  # the pass of an invited annotator
    left: bool = False  # whether this browser has forgotten the invitation
    invitation_problem: str = ""
    next_project: int | None = None  # opened when the page is drawn next
    question: tuple[Store, projects.Project, TaskQuestion] | None = None  # what is asked
    revisited: answers.Stored | None = None  # the confirmed answer to which the person went back
    reply: Reply | None = None  # to the last action
    payload: dict[str, Any] | None = None  # what the component shows
    shows_item: bool = False  # whether the last page that could be drawn showed an item
    adjudication: Adjudication | None = None  # what is decided
    adjudication_reply: Reply = field(default_factory=Reply)
    adjudication_payload: dict[str, Any] | None = None
    judged_cards: dict[str, Any] | None = None

    def another_project(self) -> None:
        """Forget what belonged to the project before."""
        self.revisited = self.reply = None

    def revisit(self, stored: answers.Stored | None) -> None:
        """Go back to a confirmed answer; None: on to the next item."""
        self.revisited = stored

    def next_dispute(self) -> None:
        """Go on to the next item without a decision."""
        self.change(decided_item="")


def annotate_state() -> AnnotateState:
    """Return what the session holds of the Annotate page."""
    return held(AnnotateState)


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
        return AnnotateVisitor(account, None)
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
    annotate_state().left, annotate_state().secret = True, ""


def _secret() -> str:
    """Return the pass of this session, or that which the browser has kept."""
    return annotate_state().secret or _text(st.context.cookies.get(COOKIE))


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
