"""The lower half of the Interventions page: the model is brought to another class; do the sentences go along?"""

from typing import TYPE_CHECKING

import streamlit as st

from app import bars, speaking, verdicts
from app.engine import Engine
from app.safe import markdown
from app.speaking import About, Pair, Pairs, Speaker
from explainers.narrative.entries import narrator

if TYPE_CHECKING:
    from explainers.narrative.switching import Spoken, Switch

IDEA = (
    "The nearest example of the set to which the model gives another class says which class to go to. Then the "
    "smallest change ν of the base's state is searched for after which the model answers as it does to that example. "
    "Every narrator speaks from the state before and after; one that puts the model's decision into words "
    "has to state the new class."
)


def show(engine: Engine, speaker: Speaker, known: About, pairs: Pairs, base: Pair) -> None:
    st.header("Change the model's mind", anchor=False)
    st.write(IDEA)
    with speaking.told("Looks for a way to another class, and lets every narrator speak before and after"):
        found = speaking.switch(engine, speaker, base, pairs)
    premise, hypothesis = pairs[found.neighbour]
    st.caption(
        f"Nearest example of another class ({markdown(known.labels[found.target])}): "
        f"{markdown(premise)} → {markdown(hypothesis)}"
    )
    left, right = st.columns(2)
    with left:
        st.markdown("**The model (C1)**, before and after")
        st.html(bars.changed(known.labels, found.before, found.after))
    with right:
        reached = "reached" if found.met else "not reached"
        st.markdown(
            f"The class {markdown(known.labels[found.target])} was **{reached}** with ‖ν‖ = {found.size:.2f}. "
            f"The example of that class lies {found.distance:.2f} away."
        )
        st.markdown(f"**{markdown(verdicts.of_switch(found))}**")
    for place, spoken in zip(st.columns(len(found.spoken)), found.spoken, strict=True):
        with place:
            _card(found, spoken, known)


def _card(found: "Switch", spoken: "Spoken", known: About) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{markdown(narrator(spoken.method).name)}**", width="content")
            st.badge("generated", color="gray")
        after = max(range(len(found.after)), key=lambda index: found.after[index])
        for number, (when, model) in enumerate((("Before", found.label), ("After", after))):
            st.markdown(f"{when}: “{markdown(spoken.sentences[number])}”")
            said = verdicts.of_stated(spoken.stated[number], model, known.labels)
            st.caption(markdown(f"{said}{_reading(spoken.read[number], known)}"))


def _reading(read: tuple[float, ...], known: About) -> str:
    if not read:
        return ""
    likeliest = max(range(len(read)), key=lambda index: read[index])
    return f"; C2 reads {known.labels[likeliest]}, {read[likeliest]:.2f}"
