"""All that a session holds of the Annotate page: one typed object, `AnnotateState`."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from app.annotate import answers, disputes, projects
from app.annotate.payload import TaskQuestion
from app.session import (
    MODEL_NAME,
    NOT_CARRIED,
    TEXT,
    PageState,
    carried,
    encoded,
    held,
    whole_number,
    without_first_model,
)
from app.store import Store

NEW = 0  # in place of a project: the form for another one
WORK, PEOPLE, RESULTS, SETTINGS = "Annotate", "People", "Results", "Settings"  # views of a project


@dataclass(frozen=True)
class AnnotateControls:
    """What an owner chooses, or types for a new project. The address has the model of a new project, and the project
    that is shown with its view."""

    model: str = field(default="", metadata=carried(MODEL_NAME, "model", undo=False, download=False))
    annotation_project: int | None = field(  # None: the newest
        default=None, metadata=carried(whole_number(NEW, 10**9), "project", undo=False, download=False)
    )
    annotation_view: str = field(default=WORK, metadata=carried(TEXT, "view", undo=False, download=False))
    project_name: str = field(default="", metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    project_guideline: str = field(default="", metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    project_data: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    annotate_text_column: str | None = field(
        default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False)
    )
    annotate_pair_column: str | None = field(
        default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False)
    )
    annotate_label_column: str | None = field(
        default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False)
    )
    annotate_id_column: str | None = field(default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    annotate_image_column: str | None = field(
        default=None, metadata=carried(NOT_CARRIED, "", undo=False, download=False)
    )
    decided_task: str = field(default="", metadata=carried(NOT_CARRIED, "", undo=False, download=False))
    decided_item: str = field(default="", metadata=carried(NOT_CARRIED, "", undo=False, download=False))


class GuidelineDraft(NamedTuple):
    """What an owner types in place of the guideline that was `seen`, which may be that of another owner."""

    seen: str
    typed: str
    of_another: bool = False

    def against(self, stored: str) -> "GuidelineDraft":
        """Return the draft beside what is stored by now; where nothing else is typed it follows that."""
        return GuidelineDraft(stored, stored) if self.typed in (self.seen, stored) else self


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
    guidelines: dict[tuple[int, float], GuidelineDraft] = field(default_factory=dict)  # by project's id and creation
    secret: str = ""  # the pass of an invited annotator
    left: bool = False  # whether this browser has forgotten the invitation
    reads_cookie: bool = True  # until the invitation is left: Streamlit goes on to show the cookie of before
    invitation_problem: str = ""
    next_project: int | None = None  # opened when the page is drawn next
    shown_project: int | None = None
    deleted: str = ""  # the name of a project that was deleted here, until that is said
    first_project: int | None = None  # the newest when nobody had chosen; the address does not name it
    question: tuple[Store, projects.Project, TaskQuestion] | None = None  # what is asked
    revisited: answers.Stored | None = None  # the confirmed answer to which the person went back
    reply: Reply | None = None  # to the last action
    payload: dict[str, Any] | None = None  # what the component shows
    shows_item: bool = False  # whether the last page that could be drawn showed an item
    adjudication: Adjudication | None = None  # what is decided
    adjudication_reply: Reply = field(default_factory=Reply)
    adjudication_payload: dict[str, Any] | None = None
    judged_cards: dict[str, Any] | None = None

    def show_project(self, number: int) -> None:
        """Note which project is drawn, and forget what belonged to the one before."""
        if number != self.shown_project:
            self.shown_project, self.revisited, self.reply = number, None, None
            self.forget_problems()

    def project_made(self, number: int) -> None:
        """Open the project when the page is drawn next, and empty the form."""
        self.next_project = number
        self.change(project_name="", project_guideline="", project_data=None)

    def another_view(self) -> None:
        """Forget what was wrong with the address."""
        self.problems = {}

    def address(self) -> dict[str, list[str]]:
        """Return the texts of every parameter; the project that a session begins with is not named."""
        first = self.controls.annotation_project == self.first_project
        controls = replace(self.controls, annotation_project=None) if first else self.controls
        return encoded(without_first_model(controls))

    def revisit(self, stored: answers.Stored | None) -> None:
        """Go back to a confirmed answer; None: on to the next item."""
        self.revisited = stored

    def next_dispute(self) -> None:
        """Go on to the next item without a decision."""
        self.change(decided_item="")


def annotate_state() -> AnnotateState:
    """Return what the session holds of the Annotate page."""
    return held(AnnotateState)
