"""The page of a person who annotates: one item at a time, one task at a time, the next one at once."""

from dataclasses import replace
from typing import Any

import streamlit as st

from app import components, plain_text
from app.annotate import answers, decision_form, intermission, people, preparation, projects
from app.annotate.answers import Confirmation, Stored
from app.annotate.payload import PREDICTION_HIDDEN, TaskQuestion, payload
from app.annotate.projects import Project
from app.annotate.state import Reply, annotate_state
from app.session import sent_by
from app.store import Store
from explainers.errors import ExplanationError

HELD = "Your marks stay in this page. Confirm again in a moment; nothing counts as stored before the page says so."
MOVED_ON = "The page had already moved on, so nothing was stored. Go on with the item that is shown."
NOT_POSSIBLE = "Too few methods could explain this item. Skip it; they are tried again when it is opened again."
NO_REASON = "This item has no reason to read. Skip it."
AHEAD = 5  # items that are prepared before somebody gets them
COLUMN = (  # as wide as the task
    "<style>.st-key-guideline, .st-key-own-work { max-width: 46rem; margin-inline: auto; }</style>"
)


def annotate(store: Store, preparer: preparation.Preparer, project: Project, annotator: int) -> None:
    """Draw what this person is asked now."""
    st.html(COLUMN)
    if project.spec.guideline:
        with st.expander("Guideline", expanded=annotate_state().reply is None, key="guideline"):
            plain_text.paragraph(project.spec.guideline)
    revisited = _revisited(store, project, annotator)
    item = revisited.item if revisited is not None else people.current_item(store, project.id, annotator)
    preparer.want(people.upcoming(store, project.id, annotator, project.spec.overlap, AHEAD))
    if item is None:
        intermission.finished(store, project, annotator)
        return
    question = _question(store, preparer, project, annotator, item, revisited)
    if question is None:
        preparer.want([item])
        intermission.wait(store, preparer, project, annotator, item)
        return
    _ask(store, project, question, revisited)


def _question(
    store: Store,
    preparer: preparation.Preparer,
    project: Project,
    annotator: int,
    number: int,
    revisited: Stored | None,
) -> TaskQuestion | None:
    """Return the question; None as long as the item is not prepared.

    What is shown stays as it is: an explanation that comes later is there when the item is opened again.
    """
    item, prepared = projects.item(store, number) or (None, None)
    if item is None or prepared is None:
        return None
    stored = answers.latest(store, number, annotator)
    task = revisited.task if revisited is not None else answers.next_task(stored, project.tasks)
    task = task or project.tasks[-1]
    version = next((annotation.version for annotation in stored if annotation.task == task), 0) + 1
    question = TaskQuestion(project, annotator, number, item, prepared, task, version)
    known = annotate_state().question
    shown = known[2] if known is not None else None
    if shown is not None and shown.possible and shown.same_as(question):
        return replace(question, prepared=shown.prepared)
    if prepared.missing((*project.spec.methods, *project.spec.narrators)):
        preparer.want_missing(number)
    return question


def _ask(store: Store, project: Project, question: TaskQuestion, revisited: Stored | None) -> None:
    state = annotate_state()
    state.question = (store, project, question)
    done = people.progress(store, project.id, question.annotator, project.spec.overlap)
    tasks = project.tasks
    undo_from = revisited.id if revisited is not None else None
    if not question.possible:
        st.info(NO_REASON if question.task == "read" else NOT_POSSIBLE)
        intermission.skip_button(store, project, question.annotator, question.item_number)
        return
    around: dict[str, Any] = {
        "step": f"step {tasks.index(question.task) + 1} of {len(tasks)}" if len(tasks) > 1 else "",
        "progress": {"done": done.done, "skipped": done.skipped, "total": done.total},
        "can_skip": True,
        "can_undo": answers.before(store, question.annotator, undo_from) is not None,
        "revisiting": revisited is not None and revisited.answer is not None,
        "first_counts": question.task in PREDICTION_HIDDEN and question.task != tasks[-1],
        **(state.reply or Reply())._asdict(),
    }
    content = payload(question, _earlier(store, question), **around)
    state.shows_item = True
    _draw(content)
    if done.done:
        intermission.own_download(store, project, question.annotator)


def shown() -> bool:
    """Return whether the page showed an item when it was drawn last; False from now on until it does so again."""
    state = annotate_state()
    shown, state.shows_item = state.shows_item, False
    return shown


def hold() -> None:
    """Show the item as it was while the store fails, so that no mark is lost.

    What people confirm is sent to the store, which may be back by then; a button looks for it.
    """
    state = annotate_state()
    if state.shows_item or state.payload is None or state.question is None:
        return  # it is drawn already, or there is none
    state.shows_item = True
    plain_text.caption(HELD)
    _draw({**state.payload, **(state.reply._asdict() if state.reply is not None else {})})
    st.button("Look again", key="store again")


def _draw(content: dict[str, Any]) -> None:
    components.component("annotate")(key="annotate", data=_same(content), on_done_change=done_pressed)


def _same(content: dict[str, Any]) -> dict[str, Any]:
    """Return the payload with the time of its making; equal contents are one."""
    state = annotate_state()
    if state.payload is None or state.payload != content:
        state.payload = content
    return components.newest("annotate", state.payload)


def _earlier(store: Store, question: TaskQuestion) -> Stored | None:
    stored = answers.latest(store, question.item_number, question.annotator)
    return next((annotation for annotation in stored if annotation.task == question.task), None)


def done_pressed() -> None:
    """Carry out what the component sent; an action may be delivered twice, and counts once."""
    state, sent = annotate_state(), sent_by("annotate", "done")
    if not isinstance(sent, dict) or state.question is None or (state.reply or Reply()).reply == sent.get("id"):
        return
    store, project, question = state.question
    reply = Reply(str(sent.get("id", "")))
    try:
        if sent.get("key") == question.key:
            reply = reply._replace(stored=_carried_out(store, project, question, sent))
        else:
            reply = reply._replace(problem=MOVED_ON)
    except ExplanationError as error:
        reply = reply._replace(problem=str(error))
    state.reply = reply


def _carried_out(store: Store, project: Project, question: TaskQuestion, sent: dict[str, Any]) -> str:
    """Return the sentence for the person."""
    state, action = annotate_state(), sent.get("action")
    if action == "undo":
        last = state.revisited.id if state.revisited is not None else None
        state.revisit(answers.before(store, question.annotator, last))
        return ""
    if action == "keep":
        state.revisit(None)
        return ""
    answer, own_class = None, ""
    if action != "skip":
        given = sent.get("answer") or {}
        answer, own_class = decision_form.read_sent(question, given), decision_form.read_class(question, given)
    confirmation = _confirmation(question, sent, answer, own_class)
    state.revisit(None)
    answers.confirm_new(store, project, question.annotator, confirmation)
    return "Skipped." if answer is None else "Stored."


def _confirmation(question: TaskQuestion, sent: dict[str, Any], answer: Any, own_class: str) -> Confirmation:
    seconds = sent.get("seconds")
    return Confirmation(
        question.item_number,
        question.task,
        question.version,
        answer,
        float(seconds) if isinstance(seconds, (int, float)) else 0.0,
        bool(sent.get("flagged")),
        str(sent.get("comment") or ""),
        own_class,
    )


def _revisited(store: Store, project: Project, annotator: int) -> Stored | None:
    """Return the confirmed answer to which this person went back."""
    revisited = annotate_state().revisited
    if revisited is None or revisited.task not in project.tasks:
        return None
    owned = {annotation.id for annotation in answers.latest(store, revisited.item, annotator)}
    return revisited if revisited.id in owned else None
