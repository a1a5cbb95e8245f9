"""What a person chooses for an interchange intervention: the narrator, the layer and its neurons."""

from dataclasses import dataclass
from typing import Literal

import streamlit as st

from app.interventions import computations, opening
from app.interventions.computations import HeadInfo
from app.interventions.opening import FirstExchange
from explainers.methods.narrator_specs import narrator_spec

RANDOM, TYPED = "20 % at random", "typed"
NAMES = ("state", "hidden 1", "hidden 2")


@dataclass(frozen=True)
class Exchange:
    """`draw` is the seed of the neurons, None where they were typed."""

    method: str
    layer: int
    neurons: tuple[int, ...]
    draw: int | None


def chosen(with_reader: list[str], head: HeadInfo, first: FirstExchange) -> Exchange:
    """What a person chose; at first the last narrator, the first hidden layer and the draw of the opening."""
    left, middle, right = st.columns([3, 2, 2])
    names = {narrator_spec(method).name: method for method in with_reader}
    with left:
        name = st.segmented_control(
            "Narrator",
            list(names),
            default=list(names)[-1],
            required=True,
            key="narrator",
            bind="query-params",
            persist_state="session",
            help="Those that were trained with a second classifier.",
            wrap=True,
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
        default=layers[head.first_layer],
        required=True,
        key="layer",
        bind="query-params",
        persist_state="session",
        help="The state, which both the head and the narrator read, or a hidden layer of the head. From a mixed "
        "state the narrator generates a new sentence; for a narrator that reads the tokens too, the last layer's "
        "are shifted by the same change, those of the middle layer stay.",
    )
    return layers.index(layer) if layer in layers else head.first_layer


def _neurons(size: int, first: int) -> tuple[tuple[int, ...], int | None]:
    """The neurons, and their draw if they were drawn; `first` is the draw that is shown at first."""
    how = st.segmented_control(
        f"Neurons (of {size})",
        (RANDOM, TYPED),
        default=RANDOM,
        required=True,
        key="which",
        bind="query-params",
        persist_state="session",
    )
    return (_typed(size), None) if how == TYPED else _drawn(size, first)


def _typed(size: int) -> tuple[int, ...]:
    from explainers.narrative.interchange import parse_neurons  # brings torch

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


def _drawn(size: int, first: int) -> tuple[tuple[int, ...], int]:
    from explainers.narrative.interchange_check import random_neurons  # brings torch

    start: int | Literal["min"] = "min" if opening.moved("draw", first) else first
    seed = st.number_input(
        "Seed of the draw", 0, 9999, start, 1, key="draw", bind="query-params", persist_state="session"
    )
    return random_neurons(size, int(seed)), int(seed)
