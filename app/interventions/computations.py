"""What the Interventions page computes, once per question: the states and sentences of a set, the interventions, and
the exchange with which it opens, one that changes the model's class. The caches go by plain values.

The modules that bring torch with them are imported where they are needed, so that the page is drawn before they load.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import plain_text
from app.interventions.inputs import PlainInput, PlainInputs, example_of
from app.model_info import model_info
from app.model_pool import ModelPool
from app.session import visit
from explainers.errors import ExplanationError
from explainers.models.bundle_cards import bundle_names
from explainers.training.artifacts import Artifact, available_artifacts, waiting_narrators

if TYPE_CHECKING:
    from explainers.narrative.counterfactual import ChangingExchange, CounterfactualCheck
    from explainers.narrative.interchange_check import InterchangeCheck, InterchangeRates
    from explainers.narrative.narrator import Narrator
    from explainers.narrative.sentences import HeadStates, SentenceBatch

KEPT, SETS_KEPT = 200, 8  # results, and sets of examples with their states


@dataclass(frozen=True)
class NarratedModel:
    """A model with narrators; `weights` are the narrators' ids, files and times, so that fitting again is noticed.

    `generator_noun` names the generated examples of a model of images, as in "scene 7"; empty if there are none.
    """

    model: str
    version: str
    weights: tuple[tuple[str, str, int], ...]
    images: bool = False
    generator_noun: str = ""

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(method for method, _, _ in self.weights)


@dataclass(frozen=True)
class HeadInfo:
    """A model's head; `sizes` are the numbers of neurons of the state, and then of each of its hidden layers."""

    labels: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def first_layer(self) -> int:
        """Return the layer with which the page opens: the first hidden one."""
        return min(1, len(self.sizes) - 1)


@dataclass(frozen=True)
class FirstExchange:
    """Where the page opens: base and source by number in the set, and a draw; `changes`: the class changes by it."""

    base: int
    source: int
    draw: int
    changes: bool


def narrated_models(pool: ModelPool) -> dict[str, NarratedModel]:
    """Return the models that have narrators, by name.

    They are embedded ones and the one that was chosen on another page.
    """
    models = {}
    for name in dict.fromkeys([*bundle_names(), visit().model]):
        info = model_info(pool, name)
        waiting = waiting_narrators(name, info.version)
        artifacts = available_artifacts(name, info.version, "narrative") if info.version else ()
        weights = tuple(
            (artifact.method, str(artifact.path), artifact.path.stat().st_mtime_ns)
            for artifact in artifacts
            if artifact.method not in waiting
        )
        if weights:
            noun = info.generator_noun if info.multimodal else ""
            models[name] = NarratedModel(name, info.version, weights, info.multimodal, noun)
    return models


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Say what takes its time; where the input is wrong, say so and stop the page."""
    try:
        with st.spinner(text, show_time=True):
            yield
    except ExplanationError as error:
        plain_text.error(str(error))
        st.stop()


@st.cache_resource(show_spinner=False, max_entries=SETS_KEPT)
def head_info(_pool: ModelPool, narrated: NarratedModel) -> HeadInfo:
    from explainers.models.internals import classifier_head
    from explainers.narrative.interchange import layer_sizes

    model = _pool.model(narrated.model)
    return HeadInfo(model.labels, layer_sizes(classifier_head(model)))


@st.cache_resource(show_spinner=False, max_entries=SETS_KEPT)
def states(_pool: ModelPool, narrated: NarratedModel, among: PlainInputs, seen_layer: int = 0) -> "HeadStates":
    """Return the states for narrators that see the tokens of `seen_layer`; 0: only what the head reads."""
    from explainers.narrative.sentences import head_states

    return head_states(_pool.model(narrated.model), [example_of(row) for row in among], seen_layer)


@st.cache_resource(show_spinner=False, max_entries=2 * SETS_KEPT)
def sentences(_pool: ModelPool, narrated: NarratedModel, method: str, among: PlainInputs) -> "SentenceBatch":
    from explainers.narrative.sentences import generate_batch

    narrator = fitted_narrator(_pool, narrated, method)
    read = states(_pool, narrated, among, narrator.layer).inputs
    return generate_batch(narrator, read, _pool.model(narrated.model).labels)


def narrator_card(narrated: NarratedModel, method: str) -> dict[str, Any]:
    """Return the card of the weights that the page uses: with what they were fitted."""
    path = next(path for narrator, path, _ in narrated.weights if narrator == method)
    return Artifact(method, "", Path(path)).card


def fitted_narrator(pool: ModelPool, narrated: NarratedModel, method: str) -> "Narrator":
    from explainers.narrative.narrate import load_narrator

    return load_narrator(pool.model(narrated.model), method)[1]


@st.cache_data(show_spinner=False, max_entries=SETS_KEPT)
def first_change(
    _pool: ModelPool, narrated: NarratedModel, among: PlainInputs, layer: int
) -> "ChangingExchange | None":
    """Return the exchange with which the page opens; None where none of those tried changes the model's class."""
    from explainers.models.internals import classifier_head
    from explainers.narrative import counterfactual

    head = classifier_head(_pool.model(narrated.model))
    return counterfactual.first_change(head, states(_pool, narrated, among).states, layer)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def changing_draws(
    _pool: ModelPool, narrated: NarratedModel, base: PlainInput, source: PlainInput, layer: int
) -> tuple[int, ...]:
    """Return the seeds of the draws that change the class that the model gives to the base."""
    from explainers.models.internals import classifier_head
    from explainers.narrative import counterfactual
    from explainers.narrative.sentences import head_states

    model = _pool.model(narrated.model)
    both = head_states(model, [example_of(base), example_of(source)]).states
    return counterfactual.changing_draws(classifier_head(model), both, layer)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def interchange(
    _pool: ModelPool,
    narrated: NarratedModel,
    method: str,
    base: PlainInput,
    source: PlainInput,
    layer: int,
    neurons: tuple[int, ...],
) -> "InterchangeCheck":
    from explainers.narrative.interchange_check import check_interchange

    model, narrator = _pool.model(narrated.model), fitted_narrator(_pool, narrated, method)
    return check_interchange(model, narrator, example_of(base), example_of(source), layer, neurons)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def interchange_over_set(
    _pool: ModelPool, narrated: NarratedModel, method: str, among: PlainInputs, layer: int, neurons: tuple[int, ...]
) -> "InterchangeRates":
    from explainers.narrative.interchange_check import interchange_rates

    narrator = fitted_narrator(_pool, narrated, method)
    read, batch = states(_pool, narrated, among, narrator.layer), sentences(_pool, narrated, method, among)
    return interchange_rates(_pool.model(narrated.model), narrator, read, batch, layer, neurons)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def counterfactual(
    _pool: ModelPool, narrated: NarratedModel, base: PlainInput, among: PlainInputs
) -> "CounterfactualCheck":
    from explainers.narrative.counterfactual import check_counterfactual

    narrators = {method: fitted_narrator(_pool, narrated, method) for method in narrated.methods}
    read = states(_pool, narrated, among)
    return check_counterfactual(_pool.model(narrated.model), narrators, example_of(base), read)


def find(pool: ModelPool, narrated: NarratedModel, head: HeadInfo, among: PlainInputs) -> FirstExchange:
    with spinner(f"Searching {len(among)} examples for an exchange that changes the model's class"):
        change = first_change(pool, narrated, among, head.first_layer)
    if change is None:
        return FirstExchange(0, 2 * len(among) // 3, 0, changes=False)
    return FirstExchange(change.base, change.source, change.draw, changes=True)
