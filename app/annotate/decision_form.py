"""The form of a decision about answers other than marks: a table of what people answered, and a choice per question."""

import time
from collections.abc import Callable, Sequence

import streamlit as st

from app import plain_text
from app.annotate.actions import attempt
from app.annotate.decisions import OwnerDecision
from app.annotate.disputes import Dispute, decided_answer, options, title, values, words
from app.annotate.judged_cards import judged_cards
from app.annotate.payload import prediction
from explainers.annotations.records import Answer
from explainers.report.display_images import display_image

HELP = "Rows without a difference are filled in. Choose one of the answers in the others, or another one."
PLACES = "Rows without a difference are filled in. Give every map a place of its own; 1 is the most convincing one."
CHANGED = "changed"  # the origin of a decision that is nobody's own answer
Keep = Callable[[Answer, str], None]


def decision_form(
    dispute: Dispute, earlier: Sequence[OwnerDecision], key: str, keep: Keep, after: Callable[[], None]
) -> None:
    """Draws it. `keep` gets the answer and its origin, then `after` is called."""
    show_input(dispute)
    asked, people = values(dispute), list(dispute.answers)
    rows = [{"": title(question), **_others(dispute, question, own, people)} for question, own in asked.items()]
    st.dataframe(rows, hide_index=True, width="stretch")
    current = words(dispute.state, earlier[-1].answer) if earlier else {}
    with st.form(key, border=False):
        for question, own in asked.items():
            offered = options(dispute, question)
            agreed = offered[0] if len(set(own.values())) == 1 else None
            start = current.get(question, agreed)
            place = offered.index(start) if start in offered else None
            st.selectbox(title(question), offered, index=place, key=f"{key} {question}")
        st.caption(PLACES if dispute.task == "rank" else HELP)
        label = "Replace the decision" if earlier else "Store the decision"
        st.form_submit_button(
            label, type="primary", key=f"store {key}", on_click=attempt, args=(store_chosen, dispute, key, keep, after)
        )


def show_input(dispute: Dispute) -> None:
    """What was judged, with the model's answer."""
    state = dispute.state
    plain_text.paragraph(plain_text.Bold(prediction(state.prepared)))
    if judged_cards(dispute):
        return
    for text in state.prepared.texts:
        plain_text.paragraph(text)
    if state.item.example.image is not None:
        st.image(display_image(state.item.example.image).content, width=320)


def _others(dispute: Dispute, question: str, own: dict[str, str], people: Sequence[str]) -> dict[str, str]:
    sentence = dispute.state.prepared.sentences.get(question.rpartition(": ")[0], "")
    return {**({"sentence": sentence} if sentence else {}), **{name: own.get(name, "–") for name in people}}


def store_chosen(dispute: Dispute, key: str, keep: Keep, after: Callable[[], None]) -> None:
    """Stores what stands in the fields of the form. Raises `ExplanationError` where one is empty."""
    chosen = {question: st.session_state.get(f"{key} {question}") for question in values(dispute)}
    answer = decided_answer(dispute, chosen)
    given = words(dispute.state, answer).items()
    origin = next(
        (name for name, own in dispute.answers.items() if words(dispute.state, own).items() <= given), CHANGED
    )
    keep(answer, origin)
    after()


def moment(decision: OwnerDecision) -> str:
    """Origin, owner and time in words."""
    made = "nobody's own answer" if decision.origin == CHANGED else f"the answer of {decision.origin}"
    return ", ".join(
        filter(
            None, (made, decision.by and f"by {decision.by}", time.strftime("%d %B %H:%M", time.localtime(decision.at)))
        )
    )
