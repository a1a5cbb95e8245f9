"""The upper half of the Interventions page: neurons of the source replace those of the base, in the model and in C2."""

import streamlit as st

from app import plain_text
from app.interventions import bars, checks, computations, conclusions, coverage, interchange_controls
from app.interventions.computations import HeadInfo, NarratedModel
from app.interventions.inputs import PlainInput, PlainInputs
from app.interventions.interchange_controls import NAMES, Exchange
from app.interventions.opening import FirstExchange
from app.model_pool import ModelPool
from app.plain_text import Bold
from explainers.methods.narrator_specs import narrator_spec

IDEA = (
    "C1 is the model's head. C2 is the second classifier of the narrator's training: it reads the output of the "
    "narrator and nothing else. In both, the same neurons of the base take the values that the source gives them. If "
    "the narrator carries what the model decides by, C2 changes its class when C1 does."
)


def show(
    pool: ModelPool,
    narrated: NarratedModel,
    head: HeadInfo,
    among: PlainInputs,
    both: tuple[PlainInput, PlainInput],
    opening: FirstExchange,
) -> None:
    """`both` are base and source."""
    st.header("Interchange intervention", anchor=False)
    st.write(IDEA)
    with_reader = [method for method in narrated.methods if narrator_spec(method).has_reader]
    if not with_reader:
        st.info("No narrator of this model has a second classifier. Fit cause_phi_ts or cause.")
        return
    chosen = interchange_controls.chosen(with_reader, head, opening)
    method, layer, neurons = chosen.method, chosen.layer, chosen.neurons
    with computations.spinner("Replacing neurons of the base by those of the source"):
        check = checks.interchange(pool, narrated, method, *both, layer, neurons)
    left, right = st.columns(2)
    with left:
        st.markdown("**The model (C1)**, before and after")
        st.html(bars.changed(head.labels, check.model.base, check.model.exchanged))
    with right:
        plain_text.paragraph(Bold(f"C2, reading {narrator_spec(method).name}"), ", before and after")
        st.html(bars.changed(head.labels, check.reader.base, check.reader.exchanged))
    plain_text.paragraph(Bold(conclusions.of_interchange(check, head.labels)))
    changing: tuple[int, ...] = ()
    if chosen.draw is not None:
        with computations.spinner("Trying other draws"):
            changing = checks.changing_draws(pool, narrated, *both, layer)
        at_first = (among[opening.base], among[opening.source], head.first_layer, opening.draw)
        opened = opening.changes and (*both, layer, chosen.draw) == at_first
        plain_text.caption(conclusions.of_draws(chosen.draw, changing, opened=opened))
    if not opening.changes and (chosen.draw is None or not changing):
        plain_text.caption(conclusions.of_no_change(len(among), NAMES[head.first_layer]))
    for name, sentence in zip(("Base", "Source", "The mixed state"), check.sentences, strict=True):
        if sentence:
            plain_text.caption(f"{name}, generated: “{sentence}”")
    plain_text.caption(coverage.neuron_coverage(narrated, method, layer, head.sizes))
    _over_set(pool, narrated, chosen, among)


def _over_set(pool: ModelPool, narrated: NarratedModel, chosen: Exchange, among: PlainInputs) -> None:
    st.subheader("Over the whole set", anchor=False)
    with computations.spinner(f"Generating sentences for {len(among)} examples, and exchanging neurons among them"):
        rates = checks.interchange_over_set(pool, narrated, chosen.method, among, chosen.layer, chosen.neurons)
    plain_text.paragraph(Bold(conclusions.of_following(rates, narrator_spec(chosen.method).name)))
    st.table(conclusions.over_set(rates), border="horizontal", hide_index=True)
    sample = f"a fixed sample of {rates.sampled:,} of" if rates.sampled < rates.all_pairs else "all"
    st.caption(
        f"Every example as a base with every other as its source, {sample} {rates.all_pairs:,} ordered pairs; "
        f"{len(chosen.neurons)} neurons, the same in each. Intervals: bootstrap over the examples, which pairs share. "
        "The third row has to beat the fourth: where an intervention changes little, agreement is no achievement."
    )
