"""Where annotators differ, the owner decides: their marks side by side, and a decision that is stored."""

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st
from sqlalchemy import select

from app.annotate.payload import image, said, segments
from app.annotate.projects import Project, locked
from app.annotate.results import ItemState
from app.annotate.tables import DecisionRow
from app.components import component, newest
from app.store import Store
from explainers.annotations.record_json import answer_json, read_marked
from explainers.annotations.records import Marked
from explainers.annotations.units import marked_units, marks_of
from explainers.errors import ExplanationError

INSTRUCTION = "Take the marks of one person, or change them. Your decision stands beside the annotations in downloads."
AGREED = "Everybody marked the same units of every item."
DECIDED = "All items on which people differ are decided."
MOST_ORIGIN = 200  # characters


def decisions(store: Store, project: Project) -> dict[int, Marked]:
    """What was decided, by the number of the item; the newest one counts."""
    return {item: marked for item, (marked, _) in dated_decisions(store, project).items()}


def dated_decisions(store: Store, project: Project) -> dict[int, tuple[Marked, float]]:
    """`decisions`, each with its moment."""
    query = select(DecisionRow).where(DecisionRow.project == project.id).order_by(DecisionRow.id)
    with store.read() as session:
        return {row.item: (read_marked(json.loads(row.answer)), row.decided) for row in session.scalars(query)}


def decide(store: Store, project: Project, item: int, marked: Marked, origin: str) -> None:
    """Raises `ExplanationError` if the project was deleted."""
    with store.begin() as session:
        if locked(session, project.id) is None:
            raise ExplanationError("This project was deleted.")
        answer = json.dumps(answer_json(marked))
        row = DecisionRow(project=project.id, item=item, task="mark", answer=answer, origin=origin[:MOST_ORIGIN])
        session.add(row)


def disputed(states: Mapping[str, ItemState]) -> list[ItemState]:
    """The items on which people marked different units."""
    return [state for state in states.values() if len({frozenset(units) for units in _units(state).values()}) > 1]


def adjudicate(store: Store, project: Project, states: Mapping[str, ItemState]) -> None:
    """Draws the next item to decide."""
    differing = disputed(states)
    if not differing:
        st.caption(AGREED)
        return
    decided = decisions(store, project)
    open_items = [state for state in differing if state.number not in decided]
    if not open_items:
        st.caption(DECIDED)
        return
    state = open_items[0]
    st.session_state["adjudicated"] = (store, project, state)
    progress = {"done": len(differing) - len(open_items), "skipped": 0, "total": len(differing)}
    content = _payload(state, progress)
    last = st.session_state.get("adjudication payload")
    if last != content:
        last = st.session_state["adjudication payload"] = content
    component("annotate")(key="adjudicate", data=newest("adjudicate", last), on_done_change=_done)


def _payload(state: ItemState, progress: dict[str, int]) -> dict[str, Any]:
    prepared = state.prepared
    return {
        "key": f"decide {state.number}",
        "task": "adjudicate",
        "title": "Decide",
        "instruction": INSTRUCTION,
        "step": "",
        "progress": progress,
        "labels": list(prepared.names) if len(prepared.texts) > 1 else [""],
        "segments": segments(prepared),
        "image": image(state.item, prepared),
        "said": said(prepared),
        "people": [{"name": name, "marked": sorted(units)} for name, units in _units(state).items()],
        "answered": None,
        "flagged": False,
        "comment": "",
        "can_undo": False,
        "can_skip": False,
        "revisiting": False,
        "reply": st.session_state.get("adjudication reply", ""),
        "problem": st.session_state.get("adjudication problem", ""),
        "stored": "Stored.",
    }


def _units(state: ItemState) -> dict[str, set[int]]:
    return {name: marked_units(marked, state.prepared.encoding) for name, marked in state.marks.items()}


def _done() -> None:
    sent, known = st.session_state["adjudicate"].get("done"), st.session_state.get("adjudicated")
    if not isinstance(sent, dict) or known is None or sent.get("id") == st.session_state.get("adjudication reply"):
        return
    store, project, state = known
    st.session_state["adjudication reply"], st.session_state["adjudication problem"] = str(sent.get("id", "")), ""
    if sent.get("key") != f"decide {state.number}":
        return
    try:
        answer = sent.get("answer") or {}
        units = {int(unit) for unit in answer.get("marked", ())} & set(range(len(state.prepared.units)))
        decide(store, project, state.number, marks_of(units, state.prepared.encoding), str(answer.get("origin", "")))
    except (ExplanationError, TypeError, ValueError) as error:
        st.session_state["adjudication problem"] = str(error)
