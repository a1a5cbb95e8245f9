"""The upper half of the Interventions page: neurons of the source go into the base, in the model and in C2."""

import streamlit as st

from app import bars, speaking, verdicts
from app.engine import Engine
from app.safe import markdown
from app.speaking import About, Pair, Pairs, Speaker
from explainers.narrative.entries import narrator

RANDOM, TYPED = "20 % at random", "typed"
NAMES = ("state", "hidden 1", "hidden 2")
IDEA = (
    "C1 is the model's head. C2 is the second classifier of the training: it reads what the narrator is about to say "
    "after “The answer is”. Some neurons of the base take the values that the source gives them, the same ones in "
    "both. If the narrator carries what the model decides by, C2 changes its mind when C1 does."
)


def show(engine: Engine, speaker: Speaker, known: About, pairs: Pairs, base: Pair, source: Pair) -> None:
    st.header("Exchange neurons", anchor=False)
    st.write(IDEA)
    reading = [method for method in speaker.methods if narrator(method).losses != "phi"]
    if not reading:
        st.info("φ alone has no second classifier. Fit cause_phi_ts or cause to see one.")
        return
    method, layer, neurons = _controls(reading, known)
    with speaking.told("Puts neurons of the source into the base"):
        found = speaking.exchange(engine, speaker, method, base, source, layer, neurons)
    left, right = st.columns(2)
    with left:
        st.markdown("**The model (C1)**, before and after")
        st.html(bars.changed(known.labels, found.model.base, found.model.exchanged))
    with right:
        st.markdown(f"**What {markdown(narrator(method).name)} is about to say, as C2 reads it**, before and after")
        st.html(bars.changed(known.labels, found.reader.base, found.reader.exchanged))
    st.markdown(f"**{markdown(verdicts.of_exchange(found, known.labels))}**")
    for what, said in zip(("Base", "Source", "The mixed state"), found.sentences, strict=True):
        if said:
            st.caption(f"{what}, generated: “{markdown(said)}”")
    _over_set(engine, speaker, method, pairs, layer, neurons)


def _controls(reading: list[str], known: About) -> tuple[str, int, tuple[int, ...]]:
    first, second, third = st.columns([2, 3, 3])
    names = {narrator(method).name: method for method in reading}
    layers = [f"{name} ({size})" for name, size in zip(NAMES, known.sizes, strict=False)]
    with first:
        named = st.segmented_control(
            "Narrator",
            list(names),
            default=list(names)[-1],
            required=True,
            key="narrator",
            bind="query-params",
            persist_state="session",
            help="Only those that were trained with a second classifier.",
        )
    with second:
        layer = st.segmented_control(
            "Where",
            layers,
            default=layers[min(1, len(layers) - 1)],
            required=True,
            key="layer",
            bind="query-params",
            persist_state="session",
            help="The state is what the head reads and what the narrator speaks from; when it is mixed, the narrator "
            "speaks anew. Then the head's hidden layers. In brackets: how many neurons there are.",
        )
    place = layers.index(layer) if layer in layers else 0
    with third:
        neurons = _neurons(known.sizes[place])
    return names.get(named or "", reading[-1]), place, neurons


def _neurons(size: int) -> tuple[int, ...]:
    from explainers.narrative.interchange import numbers  # brings torch
    from explainers.narrative.intervening import random_neurons

    how = st.segmented_control(
        "Neurons",
        (RANDOM, TYPED),
        default=RANDOM,
        required=True,
        key="which",
        bind="query-params",
        persist_state="session",
    )
    if how == TYPED:
        typed = st.text_input(
            "Numbers and ranges",
            "0-15, 40",
            max_chars=400,
            key="neurons",
            bind="query-params",
            persist_state="session",
            help=f"From 0 to {size - 1}.",
        )
        with speaking.told("Reads the numbers"):
            return numbers(typed or "", size)
    seed = st.number_input("Draw number", 0, 9999, 0, 1, key="draw", bind="query-params", persist_state="session")
    return random_neurons(size, int(seed))


def _over_set(
    engine: Engine, speaker: Speaker, method: str, pairs: Pairs, layer: int, neurons: tuple[int, ...]
) -> None:
    st.subheader("Over the whole set", anchor=False)
    with speaking.told(f"Reads {len(pairs)} pairs, lets the narrator speak of each, and exchanges neurons among them"):
        found = speaking.over_set(engine, speaker, method, pairs, layer, neurons)
    st.table(verdicts.over_set(found), border="horizontal", hide_index=True)
    sample = f"a fixed sample of {found.looked:,} of" if found.looked < found.possible else "all"
    st.caption(
        f"Every example as a base with every other as its source, {sample} {found.possible:,} ordered pairs; "
        f"{len(neurons)} neurons, the same in each. Intervals: bootstrap over the examples, which the pairs share. The "
        "fourth row is what the third has to beat: where an exchange changes little, agreement comes by itself."
    )
