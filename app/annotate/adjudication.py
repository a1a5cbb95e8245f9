"""Where annotators differ, an owner decides: everybody's answers side by side, and a decision that is stored.

A decision can be replaced later; the earlier ones stay. Marks and checked suggestions are decided in the component in
which people mark, other tasks in a form.
"""

from collections.abc import Mapping, Sequence

import streamlit as st

from app import plain_text
from app.annotate.decision_form import decision_form, moment
from app.annotate.decisions import OwnerDecision, histories
from app.annotate.disputes import Dispute, title, words
from app.annotate.drawn_decision import DRAWN, ITEM, Adjudication, drawn_decision, next_item
from app.annotate.projects import TITLES, Project
from app.annotate.sentence_form import sentence_form
from app.store import Store
from explainers.annotations.records import Task
from explainers.report.text import one_line

AGREED = "No item has answers of several people that differ."
DECIDED = "All items on which people differ in this task are decided. Choose one to revise its decision."
TASK = "decided task"  # in the session
READABLE = 736  # pixels, as wide as the component of a task
LONGEST_NAME = 60  # characters of an item in the list


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
    if dispute.task in DRAWN:
        drawn_decision(adjudication, sum(map(bool, done.values())), len(done))
    else:
        draw = sentence_form if dispute.task == "correct" else decision_form
        draw(dispute, adjudication.earlier, adjudication.key, adjudication.store_decision, after=next_item)
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


def _history(adjudication: Adjudication) -> None:
    lines = [
        f"Decision {number}: {moment(each)}{_decided(adjudication.dispute, each)}"
        for number, each in enumerate(adjudication.earlier, start=1)
    ]
    if lines:
        plain_text.caption("The newest decision counts; all of them are in the downloads.")
        plain_text.bullets(lines)


def _decided(dispute: Dispute, decision: OwnerDecision) -> str:
    """In words; marks are shown in the input, with the class that is named here."""
    decided = words(dispute.state, decision.answer)
    own_class = f"; {decision.own_class}" if decision.own_class else ""
    return own_class + "".join(f"; {title(question)}: {word}" for question, word in decided.items())
