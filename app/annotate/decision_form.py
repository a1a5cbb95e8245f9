"""Decisions about answers other than marks: a table of what people answered, and a choice per question.

What was judged is shown as people saw it, by the component of assets/judged.js, which writes all of it as text:

labels, segments, image   the input, as in app/annotate/payload.py
cards                     title, and `cells`, the colours of a map

What a component sends back is read here into answers: letters become methods, units become spans. The browser is not
trusted.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import streamlit as st

from app import components, plain_text
from app.annotate.disputes import Dispute, OwnerDecision, decided_answer, options, title, values, words
from app.annotate.payload import TaskQuestion, cells, image, prediction, segments, suggestion
from app.annotate.session import attempt
from app.annotate.state import annotate_state
from app.session import value_of
from explainers.annotations import judged, records
from explainers.errors import ExplanationError
from explainers.report.display_images import display_image

Card = dict[str, Any]
HELP = "Rows without a difference are filled in. Choose one of the answers in the others, or another one."
PLACES = "Rows without a difference are filled in. Give every map a place of its own; 1 is the most convincing one."
CHANGED = "changed"  # the origin of a decision that is nobody's own answer
Keep = Callable[[records.Answer, str], None]
LONGEST_SENTENCE = 2_000  # characters
INCOMPLETE = "The answer did not arrive complete. Your work is still here. Confirm again."


def judged_cards(dispute: Dispute) -> bool:
    """Draw the maps that were judged; return False where the task is about none."""
    listed = _cards(dispute)
    if not listed:
        return False
    prepared = dispute.state.prepared
    content = {
        "labels": list(prepared.names) if len(prepared.texts) > 1 else [""],
        "segments": segments(prepared),
        "image": image(dispute.state.item, prepared),
        "cards": listed,
    }
    state = annotate_state()
    state.judged_cards = content if state.judged_cards != content else state.judged_cards
    components.component("judged")(key="judged", data=components.newest("judged", state.judged_cards or content))
    return True


def _cards(dispute: Dispute) -> list[Card]:
    maps = {method: dispute.state.prepared.maps.get(method) for method in values(dispute)}
    if dispute.task not in ("rank", "simulate"):
        return []
    return [{"title": title(method), "cells": cells(scored)} for method, scored in maps.items() if scored is not None]


def decision_form(
    dispute: Dispute, earlier: Sequence[OwnerDecision], key: str, keep: Keep, after: Callable[[], None]
) -> None:
    """Draw the form; `keep` gets the answer and its origin, then `after` is called."""
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
    """Draw what was judged, with the model's answer, or with the reason that was read."""
    state, reason = dispute.state, dispute.state.item.reason
    if dispute.task != "read":
        plain_text.paragraph(plain_text.Bold(prediction(state.prepared)))
    elif reason is not None:
        plain_text.paragraph(plain_text.Bold(f"{reason.sentence} ({reason.stated})"))
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
    """Store what stands in the fields of the form; raises `ExplanationError` where one is empty."""
    chosen = {question: value_of(f"{key} {question}") for question in values(dispute)}
    answer = decided_answer(dispute, chosen)
    given = words(dispute.state, answer).items()
    origin = next(
        (name for name, own in dispute.answers.items() if words(dispute.state, own).items() <= given), CHANGED
    )
    keep(answer, origin)
    after()


def moment(decision: OwnerDecision) -> str:
    """Return origin, owner and time of a decision in words."""
    made = "nobody's own answer" if decision.origin == CHANGED else f"the answer of {decision.origin}"
    return ", ".join(
        filter(
            None, (made, decision.by and f"by {decision.by}", time.strftime("%d %B %H:%M", time.localtime(decision.at)))
        )
    )


def read_sent(question: TaskQuestion, sent: Mapping[str, Any]) -> records.Answer:
    """Return the answer that the component sent; raises `ExplanationError` if it does not answer the question."""
    try:
        return _answer(question, sent)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise ExplanationError(INCOMPLETE) from error


def read_class(question: TaskQuestion, sent: Mapping[str, Any]) -> str:
    """Return the name of the person's own class, which comes with marks; raises `ExplanationError` without one."""
    if question.task != "mark" or not question.classes:
        return ""
    return question.classes[chosen_class(sent, len(question.classes))]


def chosen_class(sent: Mapping[str, Any], classes: int) -> int:
    """Return the number of the class that the component sent; raises `ExplanationError` if it is none."""
    label = sent.get("label")
    if not isinstance(label, int) or not 0 <= label < classes:
        raise ExplanationError(INCOMPLETE)
    return label


def _answer(question: TaskQuestion, sent: Mapping[str, Any]) -> records.Answer:
    letters = question.letters
    match question.task:
        case "mark":
            return _marked(question, sent["marked"])
        case "rank":
            if sorted(sent["order"]) != sorted(letters):
                raise ValueError(sent["order"])
            return records.Ranked(tuple(letters[letter] for letter in sent["order"]))
        case "rate":
            return records.Rated(
                tuple(
                    records.Rating(
                        letter, id, int(sent["scores"][letter]["relatedness"]), int(sent["scores"][letter]["fluency"])
                    )
                    for letter, id in letters.items()
                )
            )
        case "read":
            return records.ReadReason(**{question: sent["read"][question] for question in records.READ_QUESTIONS})
        case _:
            given = tuple(_of_method(question, id, sent["given"][letter]) for letter, id in letters.items())
            return given[0] if len(given) == 1 else records.Several(given)


def _of_method(question: TaskQuestion, method: str, sent: Mapping[str, Any]) -> records.OneMethod:
    if question.task == "inspect":
        return _inspected(question, method, sent)
    if question.task == "correct":
        sentence = str(sent["sentence"]).strip()
        if not sentence:
            raise ValueError("no sentence")
        return records.Corrected(method, sentence[:LONGEST_SENTENCE])
    label = int(sent["label"])
    if not 0 <= label < len(question.prepared.labels):
        raise ValueError(label)
    return records.Simulated(method, label)


def _inspected(question: TaskQuestion, method: str, sent: Mapping[str, Any]) -> records.Inspected:
    verdict = cast(records.Verdict, str(sent["verdict"]))
    if verdict != "correct":
        return records.Inspected(method, verdict)
    proposed = suggestion(question.prepared.maps[method])
    if sorted(map(int, sent["marked"])) == proposed:
        raise ValueError("nothing was corrected")
    return records.Inspected(method, verdict, _marked(question, sent["marked"]))


def _marked(question: TaskQuestion, units: list[Any]) -> records.Marked:
    numbers = {int(unit) for unit in units}
    if not numbers <= set(range(len(question.prepared.units))):
        raise IndexError(units)
    return judged.marks_of(numbers, question.prepared.encoding)
