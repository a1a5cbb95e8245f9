"""The page of a person who annotates: one item at a time, one task at a time, the next one at once."""

from dataclasses import replace
from typing import Any

import streamlit as st

from app import plain_text
from app.annotate import answers, assignment, items
from app.annotate.answer_reading import read_class, read_sent
from app.annotate.answers import Confirmation, Stored
from app.annotate.downloads import own_download
from app.annotate.intermission import LAST, REVISIT, finished, skip_button, wait
from app.annotate.payload import TaskQuestion, payload
from app.annotate.preparation import Preparer
from app.annotate.projects import Project
from app.components import component, newest
from app.store import Store
from explainers.errors import ExplanationError

QUESTION, PAYLOAD = "annotation question", "annotation payload"  # in the session
SHOWN = "annotation shown"  # in the session: whether the last page that could be drawn showed an item
HELD = "Your marks stay in this page. Confirm again in a moment; nothing counts as stored before the page says so."
MOVED_ON = "The page had already moved on, so nothing was stored. Go on with the item that is shown."
NOT_POSSIBLE = "Too few methods could explain this item. Skip it; they are tried again when it is opened again."
AHEAD = 5  # items that are prepared before somebody gets them
COLUMN = (  # as wide as the task
    "<style>.st-key-guideline, .st-key-own-work { max-width: 46rem; margin-inline: auto; }</style>"
)


def annotate(store: Store, preparer: Preparer, project: Project, annotator: int) -> None:
    """Draws what this person is asked now."""
    st.html(COLUMN)
    if project.spec.guideline:
        with st.expander("Guideline", expanded=st.session_state.get(LAST) is None, key="guideline"):
            plain_text.paragraph(project.spec.guideline)
    revisited = _revisited(store, project, annotator)
    item = revisited.item if revisited is not None else assignment.current_item(store, project.id, annotator)
    preparer.want(assignment.upcoming(store, project.id, annotator, project.spec.overlap, AHEAD))
    if item is None:
        finished(store, project, annotator)
        return
    question = _question(store, preparer, project, annotator, item, revisited)
    if question is None:
        preparer.want([item])
        wait(store, preparer, project, annotator, item)
        return
    _ask(store, project, question, revisited)


def _question(
    store: Store, preparer: Preparer, project: Project, annotator: int, number: int, revisited: Stored | None
) -> TaskQuestion | None:
    """None as long as the item is not prepared. What is shown stays as it is: an explanation that comes later is there
    when the item is opened again."""
    item, prepared = items.item(store, number) or (None, None)
    if item is None or prepared is None:
        return None
    stored = answers.latest(store, number, annotator)
    task = revisited.task if revisited is not None else answers.next_task(stored, project.tasks)
    task = task or project.tasks[-1]
    version = next((each.version for each in stored if each.task == task), 0) + 1
    question = TaskQuestion(project, annotator, number, item, prepared, task, version)
    shown = st.session_state.get(QUESTION, (None, None, None))[2]
    if shown is not None and shown.possible and shown.same_as(question):
        return replace(question, prepared=shown.prepared)
    if prepared.missing((*project.spec.methods, *project.spec.narrators)):
        preparer.want_missing(number)
    return question


def _ask(store: Store, project: Project, question: TaskQuestion, revisited: Stored | None) -> None:
    st.session_state[QUESTION] = (store, project, question)
    last: dict[str, str] = st.session_state.get(LAST) or {"reply": "", "problem": "", "stored": ""}
    done = assignment.progress(store, project.id, question.annotator, project.spec.overlap)
    tasks = project.tasks
    undo_from = revisited.id if revisited is not None else None
    if not question.possible:
        st.info(NOT_POSSIBLE)
        skip_button(store, project, question.annotator, question.item_number)
        return
    around: dict[str, Any] = {
        "step": f"step {tasks.index(question.task) + 1} of {len(tasks)}" if len(tasks) > 1 else "",
        "progress": {"done": done.done, "skipped": done.skipped, "total": done.total},
        "can_skip": True,
        "can_undo": answers.before(store, question.annotator, undo_from) is not None,
        "revisiting": revisited is not None and revisited.answer is not None,
        **last,
    }
    content = payload(question, _earlier(store, question), **around)
    st.session_state[SHOWN] = True
    _draw(content)
    if done.done:
        own_download(store, project, question.annotator)


def shown() -> bool:
    """Whether the page showed an item when it was drawn last; false from now on until it does so again."""
    return bool(st.session_state.pop(SHOWN, False))


def hold() -> None:
    """Where the store fails while a person annotates: the item as it was shown, so that no mark is lost. What they
    confirm is sent to the store, which may be back by then; a button looks for it."""
    content = st.session_state.get(PAYLOAD)
    if SHOWN in st.session_state or content is None or QUESTION not in st.session_state:
        return  # it is drawn already, or there is none
    st.session_state[SHOWN] = True
    plain_text.caption(HELD)
    _draw({**content, **(st.session_state.get(LAST) or {})})
    st.button("Look again", key="store again")


def _draw(content: dict[str, Any]) -> None:
    component("annotate")(key="annotate", data=_same(content), on_done_change=done_pressed)


def _same(content: dict[str, Any]) -> dict[str, Any]:
    """With the time of its making; equal contents are one."""
    last = st.session_state.get(PAYLOAD)
    if last != content:
        last = st.session_state[PAYLOAD] = content
    return newest("annotate", last)


def _earlier(store: Store, question: TaskQuestion) -> Stored | None:
    stored = answers.latest(store, question.item_number, question.annotator)
    return next((each for each in stored if each.task == question.task), None)


def done_pressed() -> None:
    """Carries out what the component sent. An action may be delivered twice, and counts once."""
    sent = st.session_state["annotate"].get("done")
    known = st.session_state.get(QUESTION)
    if not isinstance(sent, dict) or known is None or st.session_state.get(LAST, {}).get("reply") == sent.get("id"):
        return
    store, project, question = known
    reply = {"reply": str(sent.get("id", "")), "problem": "", "stored": ""}
    try:
        if sent.get("key") == question.key:
            reply["stored"] = _carried_out(store, project, question, sent)
        else:
            reply["problem"] = MOVED_ON
    except ExplanationError as error:
        reply["problem"] = str(error)
    st.session_state[LAST] = reply


def _carried_out(store: Store, project: Project, question: TaskQuestion, sent: dict[str, Any]) -> str:
    """The sentence for the person."""
    action = sent.get("action")
    if action == "undo":
        revisited: Stored | None = st.session_state.get(REVISIT)
        last = revisited.id if revisited is not None else None
        st.session_state[REVISIT] = answers.before(store, question.annotator, last)
        return ""
    if action == "keep":
        st.session_state[REVISIT] = None
        return ""
    answer, own_class = None, ""
    if action != "skip":
        given = sent.get("answer") or {}
        answer, own_class = read_sent(question, given), read_class(question, given)
    confirmation = _confirmation(question, sent, answer, own_class)
    st.session_state[REVISIT] = None
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
    """The confirmed answer to which this person went back."""
    revisited = st.session_state.get(REVISIT)
    if not isinstance(revisited, Stored) or revisited.task not in project.tasks:
        return None
    owned = {each.id for each in answers.latest(store, revisited.item, annotator)}
    return revisited if revisited.id in owned else None
