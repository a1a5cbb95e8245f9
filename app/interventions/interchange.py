"""The upper half of the Interventions page: neurons of the source replace those of the base, in the model and in C2."""

import streamlit as st

from app import plain_text
from app.interventions import bars, computations, conclusions
from app.interventions.computations import HeadInfo, NarratedModel, Pair, Pairs
from app.model_pool import ModelPool
from app.plain_text import Bold
from explainers.methods.narrator_specs import narrator_spec

RANDOM, TYPED = "20 % at random", "typed"
NAMES = ("state", "hidden 1", "hidden 2")
IDEA = (
    "C1 is the model's head. C2 is the second classifier of the training: it reads what the narrator is about to "
    "generate after “The answer is”. In both, the same neurons of the base take the values that the source gives "
    "them. If the narrator carries what the model decides by, C2 changes its class when C1 does."
)


def show(pool: ModelPool, narrated: NarratedModel, head: HeadInfo, pairs: Pairs, base: Pair, source: Pair) -> None:
    st.header("Interchange intervention", anchor=False)
    st.write(IDEA)
    with_reader = [method for method in narrated.methods if narrator_spec(method).has_reader]
    if not with_reader:
        st.info("φ alone has no second classifier. Fit cause_phi_ts or cause.")
        return
    method, layer, neurons = _controls(with_reader, head)
    with computations.spinner("Replacing neurons of the base by those of the source"):
        check = computations.interchange(pool, narrated, method, base, source, layer, neurons)
    left, right = st.columns(2)
    with left:
        st.markdown("**The model (C1)**, before and after")
        st.html(bars.changed(head.labels, check.model.base, check.model.exchanged))
    with right:
        plain_text.paragraph(Bold(f"C2, reading {narrator_spec(method).name}"), ", before and after")
        st.html(bars.changed(head.labels, check.reader.base, check.reader.exchanged))
    plain_text.paragraph(Bold(conclusions.of_interchange(check, head.labels)))
    for name, sentence in zip(("Base", "Source", "The mixed state"), check.sentences, strict=True):
        if sentence:
            plain_text.caption(f"{name}, generated: “{sentence}”")
    _over_set(pool, narrated, method, pairs, layer, neurons)


def _controls(with_reader: list[str], head: HeadInfo) -> tuple[str, int, tuple[int, ...]]:
    """Narrator, number of the layer, and neurons."""
    first, second, third = st.columns([2, 3, 3])
    names = {narrator_spec(method).name: method for method in with_reader}
    layers = [f"{name} ({size})" for name, size in zip(NAMES, head.sizes, strict=False)]
    with first:
        name = st.segmented_control(
            "Narrator",
            list(names),
            default=list(names)[-1],
            required=True,
            key="narrator",
            bind="query-params",
            persist_state="session",
            help="Those that were trained with a second classifier.",
        )
    with second:
        layer = st.segmented_control(
            "Layer",
            layers,
            default=layers[min(1, len(layers) - 1)],
            required=True,
            key="layer",
            bind="query-params",
            persist_state="session",
            help="The state, which both the head and the narrator read, or a hidden layer of the head. From a mixed "
            "state the narrator generates a new sentence. In brackets: the number of neurons.",
        )
    index = layers.index(layer) if layer in layers else 0
    with third:
        neurons = _neurons(head.sizes[index])
    return names.get(name or "", with_reader[-1]), index, neurons


def _neurons(size: int) -> tuple[int, ...]:
    from explainers.narrative.interchange import parse_neurons  # brings torch
    from explainers.narrative.interchange_check import random_neurons

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
        numbers = st.text_input(
            "Numbers and ranges",
            "0-15, 40",
            max_chars=400,
            key="neurons",
            bind="query-params",
            persist_state="session",
            help=f"From 0 to {size - 1}.",
        )
        with computations.spinner("Reading the numbers"):
            return parse_neurons(numbers or "", size)
    seed = st.number_input("Seed of the draw", 0, 9999, 0, 1, key="draw", bind="query-params", persist_state="session")
    return random_neurons(size, int(seed))


def _over_set(
    pool: ModelPool, narrated: NarratedModel, method: str, pairs: Pairs, layer: int, neurons: tuple[int, ...]
) -> None:
    st.subheader("Over the whole set", anchor=False)
    with computations.spinner(f"Encoding {len(pairs)} pairs, generating sentences, and exchanging neurons among them"):
        rates = computations.interchange_over_set(pool, narrated, method, pairs, layer, neurons)
    st.table(conclusions.over_set(rates), border="horizontal", hide_index=True)
    sample = f"a fixed sample of {rates.sampled:,} of" if rates.sampled < rates.all_pairs else "all"
    st.caption(
        f"Every example as a base with every other as its source, {sample} {rates.all_pairs:,} ordered pairs; "
        f"{len(neurons)} neurons, the same in each. Intervals: bootstrap over the examples, which the pairs share. The "
        "third row has to beat the fourth: where an intervention changes little, agreement is no achievement."
    )
