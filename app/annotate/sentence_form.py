"""The form of a decision about corrected sentences: everybody's, side by side, and a field for the final one."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from app import plain_text
from app.annotate.actions import attempt
from app.annotate.answer_reading import LONGEST_SENTENCE
from app.annotate.decision_form import Keep, show_input, store_chosen
from app.annotate.decisions import OwnerDecision
from app.annotate.disputes import Dispute, title, values, words

HELP = "Take one of the sentences above, or write the final one."
BESIDE = 3  # sentences in a row


def sentence_form(
    dispute: Dispute, earlier: Sequence[OwnerDecision], key: str, keep: Keep, after: Callable[[], None]
) -> None:
    """Draws it. `keep` gets the answer and its origin, then `after` is called."""
    show_input(dispute)
    current = words(dispute.state, earlier[-1].answer) if earlier else {}
    for question, own in values(dispute).items():
        field = f"{key} {question}"
        by_sentence = _by_sentence(own)
        agreed = next(iter(by_sentence)) if len(by_sentence) == 1 else ""
        st.session_state.setdefault(field, current.get(question, agreed))
        plain_text.paragraph(plain_text.Bold(title(question)))
        plain_text.caption(f"Generated: {dispute.state.prepared.sentences.get(question, '–')}")
        _side_by_side(by_sentence, field)
        st.text_area("Final sentence", key=field, max_chars=LONGEST_SENTENCE, placeholder=HELP, height="content")
    label = "Replace the decision" if earlier else "Store the decision"
    st.button(
        label, type="primary", key=f"store {key}", on_click=attempt, args=(store_chosen, dispute, key, keep, after)
    )


def _by_sentence(own: Mapping[str, str]) -> dict[str, list[str]]:
    """Who wrote each sentence."""
    result: dict[str, list[str]] = {}
    for name, sentence in own.items():
        result.setdefault(sentence, []).append(name)
    return result


def _side_by_side(by_sentence: Mapping[str, Sequence[str]], field: str) -> None:
    listed = list(enumerate(by_sentence.items()))
    for start in range(0, len(listed), BESIDE):
        row = listed[start : start + BESIDE]
        for column, (number, (sentence, names)) in zip(st.columns(min(len(listed), BESIDE)), row, strict=False):
            with column, st.container(border=True):
                plain_text.caption(", ".join(names))
                plain_text.paragraph(sentence)
                st.button("Take this sentence", key=f"take {field} {number}", on_click=_take, args=(field, sentence))


def _take(field: str, sentence: str) -> None:
    st.session_state[field] = sentence
