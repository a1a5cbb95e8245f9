"""An owner's decision that is drawn: marks for a class, or verdicts on suggestions with marks of the owner's own.

It is made in the component in which people mark; what that sends is not trusted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import streamlit as st

from app.annotate import session
from app.annotate.answer_reading import INCOMPLETE, chosen_class
from app.annotate.decision_form import CHANGED
from app.annotate.decisions import Decided, OwnerDecision, decide
from app.annotate.disputes import Dispute, marks, title, values
from app.annotate.payload import image, prediction, segments, suggestion
from app.annotate.projects import Project
from app.components import component, newest
from app.store import Store
from explainers.annotations.records import (
    Answer,
    Inspected,
    Marked,
    Several,
    Task,
    Verdict,
    one_method_answers,
)
from explainers.annotations.units import marked_units, marks_of
from explainers.errors import ExplanationError
from explainers.report.text import visible

DRAWN: tuple[Task, ...] = ("mark", "inspect")
INSTRUCTIONS: dict[Task, str] = {
    "mark": "Take the answer and the marks of one person, or change them. ",
    "inspect": "Take one person's verdict on each suggestion, or your own. Change the marks to correct a suggestion. ",
}
BESIDE = "Your decision stands beside the annotations in downloads."
ITEM = "decided item"  # in the session


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

    def store_decision(self, answer: Any, origin: str, own_class: str = "") -> None:
        decided: Decided = self.dispute.state.number, self.dispute.task
        seen = len(self.earlier)
        decide(self.store, self.project, decided, answer, origin, self.by, seen, own_class=own_class)

    @property
    def classes(self) -> tuple[str, ...]:
        """Among which the owner chooses with marks."""
        labels = self.dispute.state.prepared.labels
        return labels if self.dispute.task == "mark" and len(labels) > 1 else ()


def next_item() -> None:
    """After a decision comes the next item without one."""
    st.session_state.pop(ITEM, None)


def drawn_decision(adjudication: Adjudication, done: int, total: int) -> None:
    """Draws the component; `done` of `total` items are decided."""
    st.session_state["adjudicated"] = adjudication
    content = _payload(adjudication, {"done": done, "skipped": 0, "total": total})
    last = st.session_state.get("adjudication payload")
    if last != content:
        last = st.session_state["adjudication payload"] = content
    component("annotate")(key="adjudicate", data=newest("adjudicate", last), on_done_change=decision_sent)


def _payload(adjudication: Adjudication, progress: dict[str, int]) -> dict[str, Any]:
    dispute, earlier = adjudication.dispute, adjudication.earlier
    state, reply = dispute.state, st.session_state.get("adjudication reply", "")
    prepared = state.prepared
    drawn = _suggestions(dispute) if dispute.task == "inspect" else _people(adjudication)
    return {
        "key": adjudication.key,
        "task": "adjudicate" if dispute.task == "mark" else "adjudicate suggestions",
        "title": "Decide",
        "instruction": INSTRUCTIONS[dispute.task] + BESIDE,
        "step": "",
        "progress": progress,
        "labels": list(prepared.names) if len(prepared.texts) > 1 else [""],
        "segments": segments(prepared),
        "image": image(state.item, prepared),
        "prediction": prediction(prepared),
        "classes": list(map(visible, adjudication.classes)),
        **drawn,
        "answered": _answered(adjudication, earlier[-1]) if earlier else None,
        "flagged": False,
        "comment": "",
        "can_undo": False,
        "can_skip": False,
        "revisiting": bool(earlier),
        "reply": reply,
        "problem": st.session_state.get("adjudication problem", ""),
        "stored": "Stored." if reply else "",
    }


def _people(adjudication: Adjudication) -> dict[str, Any]:
    """What each person marked, and the number of the class for which they did."""
    dispute = adjudication.dispute
    people = [
        {"name": name, "marked": sorted(units), "label": _number(adjudication, dispute.classes.get(name, ""))}
        for name, units in marks(dispute).items()
    ]
    return {"people": people}


def _number(adjudication: Adjudication, own_class: str) -> int | None:
    return adjudication.classes.index(own_class) if own_class in adjudication.classes else None


def _suggestions(dispute: Dispute) -> dict[str, Any]:
    """By method the suggested units and everybody's verdict, with the corrected units."""
    maps = dispute.state.prepared.maps
    return {
        "suggestions": [
            {
                "letter": name,
                "suggested": suggestion(maps[method]) if method in maps else [],
                "people": [
                    {"name": person, **_verdict(dispute, each)}
                    for person, answer in dispute.answers.items()
                    for each in one_method_answers(answer)
                    if isinstance(each, Inspected) and each.method == method
                ],
            }
            for name, method in titled(dispute).items()
        ]
    }


def _verdict(dispute: Dispute, given: Inspected) -> dict[str, Any]:
    if given.marked is None:
        return {"verdict": given.verdict}
    return {"verdict": given.verdict, "marked": sorted(marked_units(given.marked, dispute.state.prepared.encoding))}


def titled(dispute: Dispute) -> dict[str, str]:
    """The methods on which people gave verdicts, by a title of their own."""
    named: dict[str, str] = {}
    for number, method in enumerate(values(dispute), start=1):
        named[title(method) if title(method) not in named else f"{title(method)} {number}"] = method
    return named


def _answered(adjudication: Adjudication, decision: OwnerDecision) -> dict[str, Any]:
    dispute = adjudication.dispute
    if dispute.task == "inspect":
        given = {each.method: each for each in one_method_answers(decision.answer) if isinstance(each, Inspected)}
        named = titled(dispute).items()
        return {"given": {name: _verdict(dispute, given[method]) for name, method in named if method in given}}
    marked = decision.answer if isinstance(decision.answer, Marked) else Marked()
    units = sorted(marked_units(marked, dispute.state.prepared.encoding))
    label = _number(adjudication, dispute.state.own_class(decision.own_class))
    return {"marked": units, "origin": decision.origin, **({} if label is None else {"label": label})}


def decision_sent() -> None:
    """Stores what the component sent. An action may be delivered twice, and counts once."""
    sent, known = st.session_state["adjudicate"].get("done"), st.session_state.get("adjudicated")
    if not isinstance(sent, dict) or known is None or sent.get("id") == st.session_state.get("adjudication reply"):
        return
    st.session_state["adjudication reply"], st.session_state["adjudication problem"] = str(sent.get("id", "")), ""
    if sent.get("key") != known.key:
        return
    if sent.get("action") == "keep":
        next_item()
        return
    try:
        session.check_pass()
        known.store_decision(*read_decision(known, sent.get("answer") or {}))
        next_item()
    except (ExplanationError, AttributeError, KeyError, TypeError, ValueError) as error:
        st.session_state["adjudication problem"] = str(error) if isinstance(error, ExplanationError) else INCOMPLETE


def read_decision(adjudication: Adjudication, sent: Mapping[str, Any]) -> tuple[Answer, str, str]:
    """The answer, its origin and the class of its marks. Raises `ExplanationError`, or what a wrong type raises."""
    dispute = adjudication.dispute
    if dispute.task == "mark":
        classes = adjudication.classes
        own_class = classes[chosen_class(sent, len(classes))] if classes else ""
        return _marked(dispute, sent.get("marked", ())), str(sent.get("origin", "")), own_class
    given = tuple(_inspected(dispute, method, sent["given"][name]) for name, method in titled(dispute).items())
    origins = (name for name, answer in dispute.answers.items() if set(given) <= set(one_method_answers(answer)))
    return given[0] if len(given) == 1 else Several(given), next(origins, CHANGED), ""


def _inspected(dispute: Dispute, method: str, sent: Mapping[str, Any]) -> Inspected:
    verdict = cast(Verdict, str(sent["verdict"]))
    return Inspected(method, verdict, _marked(dispute, sent["marked"]) if verdict == "correct" else None)


def _marked(dispute: Dispute, units: Any) -> Marked:
    prepared = dispute.state.prepared
    return marks_of({int(unit) for unit in units} & set(range(len(prepared.units))), prepared.encoding)
