"""The lower half of the Interventions page: the model is moved to another class; do the sentences follow?"""

from typing import TYPE_CHECKING

import streamlit as st

from app import plain_text
from app.interventions import (
    computations,
    conclusions,
    heading,
    inputs,
)
from app.interventions.computations import HeadInfo, NarratedModel
from app.interventions.inputs import PlainInput, PlainInputs
from app.model_pool import ModelPool
from app.plain_text import Bold
from explainers.methods.narrator_specs import narrator_spec

if TYPE_CHECKING:
    from explainers.narrative.counterfactual import CounterfactualCheck, NarratorCheck

LONGER = " So the search did not find the smallest change, which is at most that distance."
ABREAST = 3  # cards of narrators
IDEA = (
    "The target class is that of the nearest example of the set that the model puts into another class. ν is a change "
    "of the base's state after which the model predicts what it predicts for that example; a search keeps it small. "
    "Every narrator generates a sentence before and after the change. A narrator that reports the model's decision has "
    "to state the new class."
)
OF_TOKENS = (
    "A narrator that also reads the tokens finds those of the last layer shifted by ν, so that c + ν is their mean. "
    "Those of the middle layer stay as they are."
)
OF_WORDS = "For a narrator that reads the words of the input nothing has changed."


def show(pool: ModelPool, narrated: NarratedModel, head: HeadInfo, among: PlainInputs, base: PlainInput) -> None:
    st.header("Counterfactual check", anchor=False)
    st.write(IDEA)
    read = {spec.reads for spec in map(narrator_spec, narrated.methods) if spec.reads_tokens}
    if "states" in read:
        st.caption(OF_TOKENS)
    if "words" in read:
        st.caption(OF_WORDS)
    with computations.spinner("Searching for the change, and generating sentences before and after it"):
        check = computations.counterfactual(pool, narrated, base, among)
    target = head.labels[check.target]
    neighbour = among[check.neighbour]
    plain_text.caption(f"Nearest example of another class ({target}): {inputs.in_line(neighbour)}")
    inputs.show_image(neighbour)
    left, right = st.columns(2)
    with left:
        st.markdown("**The model (C1)**, before and after")
        st.html(heading.changed(head.labels, check.before, check.after))
    with right:
        reached = "reached" if check.met else "not reached"
        plain_text.paragraph(
            f"The class {target} was ",
            Bold(reached),
            f" with ‖ν‖ = {check.size:.2f}. The distance to the example of that class is {check.distance:.2f}.",
            LONGER if check.size > check.distance else "",
        )
        plain_text.paragraph(Bold(conclusions.of_counterfactual(check)))
    for first in range(0, len(check.narrators), ABREAST):
        row = check.narrators[first : first + ABREAST]
        for column, narrator in zip(st.columns(min(ABREAST, len(check.narrators))), row, strict=False):
            with column:
                _card(check, narrator, head)


def _card(check: "CounterfactualCheck", narrator: "NarratorCheck", head: HeadInfo) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            plain_text.paragraph(Bold(narrator_spec(narrator.method).name), width="content")
            st.badge("generated", color="gray")
        after = max(range(len(check.after)), key=lambda index: check.after[index])
        for number, (when, model) in enumerate((("Before", check.label), ("After", after))):
            plain_text.paragraph(f"{when}: “{narrator.sentences[number]}”")
            stated = conclusions.of_stated(narrator.stated[number], model, head.labels)
            plain_text.caption(f"{stated}{_reading(narrator.read[number], head)}")


def _reading(read: tuple[float, ...], head: HeadInfo) -> str:
    if not read:
        return ""
    best = max(range(len(read)), key=lambda index: read[index])
    return f"; C2 reads {head.labels[best]}, {read[best]:.2f}"
