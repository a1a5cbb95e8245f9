"""What the Interventions page knows of a model with narrators, and of a set: its states and sentences, once each.

The modules that bring torch with them are imported where they are needed, so that the page is drawn before they load.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import plain_text
from app.interventions.inputs import PlainInputs, example_of
from app.model_info import model_info
from app.model_pool import ModelPool
from explainers.errors import ExplanationError
from explainers.models.bundle_cards import bundle_names
from explainers.narrative.loading import load_narrator
from explainers.training.artifacts import Artifact, available_artifacts

if TYPE_CHECKING:
    from explainers.narrative.narrator import Narrator
    from explainers.narrative.sentence_batches import HeadStates, SentenceBatch

KEPT, SETS_KEPT = 200, 8  # results, and sets of examples with their states


@dataclass(frozen=True)
class NarratedModel:
    """A model with narrators. `weights` are the narrators' ids, files and times, so that fitting again is noticed.

    `generator_noun` names the examples of a model of images, as in "scene 7"; empty for a model of pairs.
    """

    model: str
    version: str
    weights: tuple[tuple[str, str, int], ...]
    generator_noun: str = ""

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(method for method, _, _ in self.weights)


@dataclass(frozen=True)
class HeadInfo:
    """`sizes` are the numbers of neurons: of the state, then of each hidden layer of the head."""

    labels: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def first_layer(self) -> int:
        """The layer with which the page opens: the first hidden one."""
        return min(1, len(self.sizes) - 1)


def narrated_models(pool: ModelPool) -> dict[str, NarratedModel]:
    """The models of pairs, or of generated images with a text, that have narrators, by name: embedded ones, and the one
    chosen on another page."""
    models = {}
    for name in dict.fromkeys([*bundle_names(), str(st.session_state.get("model") or "")]):
        info = model_info(pool, name)
        if info.multimodal and not info.generator_noun:
            continue
        artifacts = available_artifacts(name, info.version, "narrative") if info.version else ()
        weights = tuple((each.method, str(each.path), each.path.stat().st_mtime_ns) for each in artifacts)
        if weights:
            noun = info.generator_noun if info.multimodal else ""
            models[name] = NarratedModel(name, info.version, weights, noun)
    return models


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Says what takes its time, and if the input is wrong what is wrong with it; then the page stops."""
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
    """For narrators that see the tokens of `seen_layer`; 0: what the head reads is all."""
    from explainers.narrative.sentence_batches import head_states

    return head_states(_pool.model(narrated.model), [example_of(each) for each in among], seen_layer)


@st.cache_resource(show_spinner=False, max_entries=2 * SETS_KEPT)
def sentences(_pool: ModelPool, narrated: NarratedModel, method: str, among: PlainInputs) -> "SentenceBatch":
    from explainers.narrative.sentence_batches import generate_batch

    narrator = fitted_narrator(_pool, narrated, method)
    read = states(_pool, narrated, among, narrator.layer).inputs
    return generate_batch(narrator, read, _pool.model(narrated.model).labels)


def narrator_card(narrated: NarratedModel, method: str) -> dict[str, Any]:
    """With what the weights of the page were fitted."""
    path = next(path for each, path, _ in narrated.weights if each == method)
    return Artifact(method, "", Path(path)).card


def fitted_narrator(pool: ModelPool, narrated: NarratedModel, method: str) -> "Narrator":
    return load_narrator(pool.model(narrated.model), method)[1]
