"""The two experiments of the Interventions page: neurons of the source replace the base's, and the class is moved.

A person chooses the narrator, the layer and its neurons. Beside the result stands how many steps of training it takes
until every neuron of a layer took part in an exchange (CAuSE, Appendix C).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import model_pool, plain_text
from app.interventions import computations, conclusions, heading, inputs
from app.interventions.computations import FirstExchange, HeadInfo, NarratedModel
from app.interventions.inputs import PlainInput, PlainInputs
from app.interventions.state import DRAWS, RANDOM, TYPED, interventions_state
from app.plain_text import Bold
from explainers.methods.narrator_specs import narrator_spec
from explainers.report.wording import join_names

if TYPE_CHECKING:
    from explainers.narrative.counterfactual import CounterfactualCheck, NarratorCheck
    from explainers.narrative.recipe import NarratorRecipe

NAMES = ("state", "hidden 1", "hidden 2")  # of the layers
IDEA = (
    "C1 is the model's head. C2 is the second classifier of the narrator's training: it reads the output of the "
    "narrator and nothing else. In both, the same neurons of the base take the values that the source gives them. If "
    "the narrator carries what the model decides by, C2 changes its class when C1 does."
)

LONGER = " So the search did not find the smallest change, which is at most that distance."
ABREAST = 3  # cards of narrators
COUNTERFACTUAL_IDEA = (
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


@dataclass(frozen=True)
class Exchange:
    """What is exchanged, and with which narrator; `draw` is the seed of the neurons, None where they were typed."""

    method: str
    layer: int
    neurons: tuple[int, ...]
    draw: int | None


def show(
    pool: model_pool.ModelPool,
    narrated: NarratedModel,
    head: HeadInfo,
    among: PlainInputs,
    both: tuple[PlainInput, PlainInput],
    opening: FirstExchange,
) -> None:
    """Draw the half; `both` are base and source."""
    st.header("Interchange intervention", anchor=False)
    st.write(IDEA)
    with_reader = [method for method in narrated.methods if narrator_spec(method).has_reader]
    if not with_reader:
        st.info("No narrator of this model has a second classifier. Fit cause_phi_ts or cause.")
        return
    exchange = chosen(with_reader, head, opening)
    method, layer, neurons = exchange.method, exchange.layer, exchange.neurons
    with computations.spinner("Replacing neurons of the base by those of the source"):
        check = computations.interchange(pool, narrated, method, *both, layer, neurons)
    left, right = st.columns(2)
    with left:
        st.markdown("**The model (C1)**, before and after")
        st.html(heading.changed(head.labels, check.model.base, check.model.exchanged))
    with right:
        plain_text.paragraph(Bold(f"C2, reading {narrator_spec(method).name}"), ", before and after")
        st.html(heading.changed(head.labels, check.reader.base, check.reader.exchanged))
    plain_text.paragraph(Bold(conclusions.of_interchange(check, head.labels)))
    changing: tuple[int, ...] = ()
    if exchange.draw is not None:
        with computations.spinner("Trying other draws"):
            changing = computations.changing_draws(pool, narrated, *both, layer)
        at_first = (among[opening.base], among[opening.source], head.first_layer, opening.draw)
        opened = opening.changes and (*both, layer, exchange.draw) == at_first
        plain_text.caption(conclusions.of_draws(exchange.draw, changing, opened=opened))
    if not opening.changes and (exchange.draw is None or not changing):
        plain_text.caption(conclusions.of_no_change(len(among), NAMES[head.first_layer]))
    for name, sentence in zip(("Base", "Source", "The mixed state"), check.sentences, strict=True):
        if sentence:
            plain_text.caption(f"{name}, generated: “{sentence}”")
    plain_text.caption(neuron_coverage(narrated, method, layer, head.sizes))
    _over_set(pool, narrated, exchange, among)


def _over_set(pool: model_pool.ModelPool, narrated: NarratedModel, chosen: Exchange, among: PlainInputs) -> None:
    st.subheader("Over the whole set", anchor=False)
    with computations.spinner(f"Generating sentences for {len(among)} examples, and exchanging neurons among them"):
        rates = computations.interchange_over_set(pool, narrated, chosen.method, among, chosen.layer, chosen.neurons)
    plain_text.paragraph(Bold(conclusions.of_following(rates, narrator_spec(chosen.method).name)))
    st.table(conclusions.over_set(rates), border="horizontal", hide_index=True)
    sample = f"a fixed sample of {rates.sampled:,} of" if rates.sampled < rates.all_pairs else "all"
    st.caption(
        f"Every example as a base with every other as its source, {sample} {rates.all_pairs:,} ordered pairs; "
        f"{len(chosen.neurons)} neurons, the same in each. Intervals: bootstrap over the examples, because "
        "pairs have them in common; where every pair gives the same result, Wilson's. The third row has to beat the "
        "fourth: where an intervention changes little, agreement is no achievement."
    )


def chosen(with_reader: list[str], head: HeadInfo, first: FirstExchange) -> Exchange:
    """Return what a person chose; at first the last narrator, the first hidden layer and the draw of the opening."""
    left, middle, right = st.columns([3, 2, 2])
    names = {narrator_spec(method).name: method for method in with_reader}
    with left:
        name = st.segmented_control(
            "Narrator",
            list(names),
            required=True,
            help="Those that were trained with a second classifier.",
            wrap=True,
            **interventions_state().widget("narrator", options=names, default=list(names)[-1], initial="default"),
        )
    with middle:
        layer = _layer(head)
    with right:
        neurons, draw = _neurons(head.sizes[layer], first.draw)
    return Exchange(names.get(name or "", with_reader[-1]), layer, neurons, draw)


def _layer(head: HeadInfo) -> int:
    layers = NAMES[: len(head.sizes)]  # without their sizes: the choice and its address hold for other models too
    layer = st.segmented_control(
        "Layer",
        layers,
        required=True,
        help="The state, which both the head and the narrator read, or a hidden layer of the head. From a mixed "
        "state the narrator generates a new sentence; for a narrator that reads the tokens too, the last layer's "
        "are shifted by the same change, those of the middle layer stay.",
        **interventions_state().widget("layer", options=layers, default=layers[head.first_layer], initial="default"),
    )
    return layers.index(layer) if layer in layers else head.first_layer


def _neurons(size: int, first: int) -> tuple[tuple[int, ...], int | None]:
    """Return the neurons, and their draw if they were drawn; `first` is the draw that is shown at first."""
    how = st.segmented_control(
        f"Neurons (of {size})",
        (RANDOM, TYPED),
        required=True,
        **interventions_state().widget("which", options=(RANDOM, TYPED), initial="default"),
    )
    return (_typed(size), None) if how == TYPED else _drawn(size, first)


def _typed(size: int) -> tuple[int, ...]:
    from explainers.narrative.interchange import parse_neurons  # brings torch

    numbers = st.text_input(
        "Numbers and ranges",
        max_chars=400,
        help=f"From 0 to {size - 1}.",
        **interventions_state().widget("neurons"),
    )
    with computations.spinner("Reading the numbers"):
        return parse_neurons(numbers or "", size)


def _drawn(size: int, first: int) -> tuple[tuple[int, ...], int]:
    from explainers.narrative.interchange_check import random_neurons  # brings torch

    seed = st.number_input("Seed of the draw", *DRAWS, step=1, **interventions_state().widget("draw", default=first))
    return random_neurons(size, int(seed)), int(seed)


def neuron_coverage(narrated: NarratedModel, method: str, layer: int, sizes: tuple[int, ...]) -> str:
    """Return which neurons took part in the training of these weights; `sizes`: of the state and each hidden layer."""
    return coverage_of(computations.narrator_card(narrated, method), narrator_spec(method).name, layer, sizes)


def coverage_of(card: Mapping[str, Any], name: str, layer: int, sizes: tuple[int, ...]) -> str:
    """Return the same from the weights' card."""
    from explainers.narrative.recipe import NarratorRecipe
    from explainers.training.spec import recipe_on_card

    recipe = recipe_on_card(NarratorRecipe, "cause", card["recipe"])
    if recipe.losses != "cause":
        return f"{name} was trained without exchanges of neurons."
    drawn = _state_sentence(recipe, name) if layer == 0 else _layer_sentences(recipe, name, layer, sizes, card)
    places = ["the head's hidden layers"]
    if recipe.exchanges_in_state:
        places += ["the state", *([f"layer {recipe.layer} of the encoder"] if recipe.layer else [])]
    return f"{drawn} Only neurons of {join_names(places)} were ever changed, none in the rest of the network."


def _state_sentence(recipe: "NarratorRecipe", name: str) -> str:
    if not recipe.exchanges_in_state:
        return f"In the training of {name} the state was never exchanged."
    return (
        f"In the training of {name} the state was moved as exchanges in the first hidden layer require; its own "
        "neurons were not drawn."
    )


def _layer_sentences(
    recipe: "NarratorRecipe", name: str, layer: int, sizes: tuple[int, ...], card: Mapping[str, Any]
) -> str:
    from explainers.narrative.interchange import steps_to_cover  # brings torch

    hidden = len(sizes) - 1
    where = f"one of the head's {hidden} hidden layers" if hidden > 1 else "the head's hidden layer"
    steps = steps_to_cover(sizes[layer], recipe.share / hidden)
    return (
        f"In the training of {name} a step exchanged {recipe.share * 100:.0f} % of the neurons of {where}, so after "
        f"{steps:,} steps all {sizes[layer]} neurons of this layer have taken part with a probability of 99.999 % (the "
        f"paper's Appendix C).{_steps_made(recipe, card)}"
    )


def _steps_made(recipe: "NarratorRecipe", card: Mapping[str, Any]) -> str:
    """Return how many steps had exchanges until the weights were kept; empty where the card has no number of items."""
    if "items" not in card:
        return ""
    epochs = int(card.get("validation", {}).get("epoch", recipe.epochs)) - recipe.phi_epochs
    steps = replace(recipe, epochs=epochs).steps(card["items"]["learned from"])
    return f" These weights had {steps:,} such steps."


def show_counterfactual(
    pool: model_pool.ModelPool, narrated: NarratedModel, head: HeadInfo, among: PlainInputs, base: PlainInput
) -> None:
    st.header("Counterfactual check", anchor=False)
    st.write(COUNTERFACTUAL_IDEA)
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
