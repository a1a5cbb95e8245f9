"""Where annotators differ, an owner decides: everybody's answers side by side, and a decision that is stored.

A decision can be replaced later; the earlier ones stay. Marks are decided in the component in which people mark, other
tasks in a form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from app import plain_text
from app.annotate.decision_form import decision_form, moment
from app.annotate.decisions import Decided, OwnerDecision, decide, histories
from app.annotate.disputes import Dispute, marks, title, words
from app.annotate.payload import image, prediction, segments
from app.annotate.projects import TITLES, Project
from app.annotate.sentence_form import sentence_form
from app.components import component, newest
from app.store import Store
from explainers.annotations.records import Marked, Task
from explainers.annotations.units import marked_units, marks_of
from explainers.errors import ExplanationError
from explainers.report.text import one_line

INSTRUCTION = "Take the marks of one person, or change them. Your decision stands beside the annotations in downloads."
AGREED = "No item has answers of several people that differ."
DECIDED = "All items on which people differ in this task are decided. Choose one to revise its decision."
TASK, ITEM = "decided task", "decided item"  # in the session
READABLE = 736  # pixels, as wide as the component of a task
LONGEST_NAME = 60  # characters of an item in the list


@dataclass(frozen=True)
class Adjudication:
    """What is to be decided, by whom, and what was decided before, the newest last."""

    store: Store
    project: Project
    dispute: Dispute
    by: str
    earlier: tuple[OwnerDecision, ...]

    @property
    def key(self) -> str:
        return f"decide {self.dispute.id} {len(self.earlier)}"

    def store_decision(self, answer: Any, origin: str) -> None:
        decided: Decided = self.dispute.state.number, self.dispute.task
        decide(self.store, self.project, decided, answer, origin, self.by, seen=len(self.earlier))


def adjudicate(store: Store, project: Project, differing: Mapping[Task, Sequence[Dispute]], by: str) -> None:
    """Draws the chosen item on which people differ, by default the first one without a decision."""
    if not differing:
        st.caption(AGREED)
        return
    titles = {TITLES[task]: task for task in differing}
    if st.session_state.get(TASK) not in titles:
        st.session_state[TASK] = next(iter(titles))
    chosen = st.segmented_control("Task to decide", list(titles), required=True, key=TASK) if len(titles) > 1 else None
    listed = {each.id: each for each in differing[titles[chosen or st.session_state[TASK]]]}
    with st.container(width=READABLE):
        _decide_one(store, project, listed, by)


def _decide_one(store: Store, project: Project, listed: Mapping[str, Dispute], by: str) -> None:
    known = histories(store, project)
    done = {id: known.get((each.state.number, each.task), ()) for id, each in listed.items()}
    dispute = listed[_chosen(listed, done)]
    adjudication = Adjudication(store, project, dispute, by, done[dispute.id])
    if dispute.task == "mark":
        _component(adjudication, sum(map(bool, done.values())), len(done))
    else:
        draw = sentence_form if dispute.task == "correct" else decision_form
        draw(dispute, adjudication.earlier, adjudication.key, adjudication.store_decision, after=_next)
    _history(adjudication)


def _chosen(listed: Mapping[str, Dispute], done: Mapping[str, tuple[OwnerDecision, ...]]) -> str:
    """The id of the item in the list, of which those without a decision come first."""
    still_open = [id for id in listed if not done[id]]
    if st.session_state.get(ITEM) not in listed:
        st.session_state[ITEM] = next(iter(still_open or listed))

    def name(id: str) -> str:
        item = listed[id].state.item
        return f"{'decided' if done[id] else 'open'}: {one_line(f'{item.id}, {item.example.text}', LONGEST_NAME)}"

    if not still_open:
        st.caption(DECIDED)
    st.selectbox(
        f"Item ({len(listed) - len(still_open)} of {len(listed)} decided)", list(listed), key=ITEM, format_func=name
    )
    return str(st.session_state[ITEM])


def _next() -> None:
    """After a decision comes the next item without one."""
    st.session_state.pop(ITEM, None)


def _history(adjudication: Adjudication) -> None:
    lines = [
        f"Decision {number}: {moment(each)}{_decided(adjudication.dispute, each)}"
        for number, each in enumerate(adjudication.earlier, start=1)
    ]
    if lines:
        plain_text.caption("The newest decision counts; all of them are in the downloads.")
        plain_text.bullets(lines)


def _decided(dispute: Dispute, decision: OwnerDecision) -> str:
    """In words; marks are shown in the input."""
    decided = words(dispute.state, decision.answer)
    return "".join(f"; {title(question)}: {word}" for question, word in decided.items())


def _component(adjudication: Adjudication, done: int, total: int) -> None:
    st.session_state["adjudicated"] = adjudication
    content = _payload(adjudication, {"done": done, "skipped": 0, "total": total})
    last = st.session_state.get("adjudication payload")
    if last != content:
        last = st.session_state["adjudication payload"] = content
    component("annotate")(key="adjudicate", data=newest("adjudicate", last), on_done_change=_done)


def _payload(adjudication: Adjudication, progress: dict[str, int]) -> dict[str, Any]:
    state, earlier = adjudication.dispute.state, adjudication.earlier
    reply = st.session_state.get("adjudication reply", "")
    prepared = state.prepared
    return {
        "key": adjudication.key,
        "task": "adjudicate",
        "title": "Decide",
        "instruction": INSTRUCTION,
        "step": "",
        "progress": progress,
        "labels": list(prepared.names) if len(prepared.texts) > 1 else [""],
        "segments": segments(prepared),
        "image": image(state.item, prepared),
        "prediction": prediction(prepared),
        "people": [{"name": name, "marked": sorted(units)} for name, units in marks(adjudication.dispute).items()],
        "answered": _answered(adjudication.dispute, earlier[-1]) if earlier else None,
        "flagged": False,
        "comment": "",
        "can_undo": False,
        "can_skip": False,
        "revisiting": bool(earlier),
        "reply": reply,
        "problem": st.session_state.get("adjudication problem", ""),
        "stored": "Stored." if reply else "",
    }


def _answered(dispute: Dispute, decision: OwnerDecision) -> dict[str, Any]:
    marked = decision.answer if isinstance(decision.answer, Marked) else Marked()
    return {"marked": sorted(marked_units(marked, dispute.state.prepared.encoding)), "origin": decision.origin}


def _done() -> None:
    sent, known = st.session_state["adjudicate"].get("done"), st.session_state.get("adjudicated")
    if not isinstance(sent, dict) or known is None or sent.get("id") == st.session_state.get("adjudication reply"):
        return
    st.session_state["adjudication reply"], st.session_state["adjudication problem"] = str(sent.get("id", "")), ""
    if sent.get("key") != known.key:
        return
    if sent.get("action") == "keep":
        _next()
        return
    prepared = known.dispute.state.prepared
    try:
        answer = sent.get("answer") or {}
        units = {int(unit) for unit in answer.get("marked", ())} & set(range(len(prepared.units)))
        known.store_decision(marks_of(units, prepared.encoding), str(answer.get("origin", "")))
        _next()
    except (ExplanationError, TypeError, ValueError) as error:
        st.session_state["adjudication problem"] = str(error)
