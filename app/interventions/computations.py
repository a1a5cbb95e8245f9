"""What the Interventions page computes, once per question: everything is cached by plain values.

The modules that bring torch with them are imported where they are needed, so that the page is drawn before they load.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from app import plain_text
from app.model_info import model_info
from app.model_pool import ModelPool
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.models.bundle_cards import bundle_names
from explainers.narrative.loading import load_narrator
from explainers.training.artifacts import available_artifacts

if TYPE_CHECKING:
    from explainers.narrative.cause import Narrator
    from explainers.narrative.counterfactual_check import CounterfactualCheck
    from explainers.narrative.interchange_check import InterchangeCheck
    from explainers.narrative.interchange_rates import InterchangeRates
    from explainers.narrative.sentence_batches import HeadStates, SentenceBatch

KEPT, SETS_KEPT = 200, 8  # results, and sets of examples with their states
Pair = tuple[str, str]
Pairs = tuple[Pair, ...]


@dataclass(frozen=True)
class NarratedModel:
    """A model with narrators. `weights` are the narrators' ids, files and times, so that fitting again is noticed."""

    model: str
    version: str
    weights: tuple[tuple[str, str, int], ...]

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(method for method, _, _ in self.weights)


@dataclass(frozen=True)
class HeadInfo:
    """`sizes` are the numbers of neurons: of the state, then of each hidden layer of the head."""

    labels: tuple[str, ...]
    sizes: tuple[int, ...]


def narrated_models(pool: ModelPool) -> dict[str, NarratedModel]:
    """The models of pairs that have narrators, by name: embedded ones, and the one chosen on another page."""
    models = {}
    for name in dict.fromkeys([*bundle_names(), str(st.session_state.get("model") or "")]):
        info = model_info(pool, name)
        if info.multimodal:
            continue
        artifacts = available_artifacts(name, info.version, "narrative") if info.version else ()
        weights = tuple((each.method, str(each.path), each.path.stat().st_mtime_ns) for each in artifacts)
        if weights:
            models[name] = NarratedModel(name, info.version, weights)
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
def states(_pool: ModelPool, narrated: NarratedModel, pairs: Pairs) -> "HeadStates":
    from explainers.narrative.sentence_batches import head_states

    return head_states(_pool.model(narrated.model), [Example(*pair) for pair in pairs])


@st.cache_resource(show_spinner=False, max_entries=2 * SETS_KEPT)
def sentences(_pool: ModelPool, narrated: NarratedModel, method: str, pairs: Pairs) -> "SentenceBatch":
    from explainers.narrative.sentence_batches import generate_batch

    head_states = states(_pool, narrated, pairs).states
    return generate_batch(_narrator(_pool, narrated, method), head_states, _pool.model(narrated.model).labels)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def interchange(
    _pool: ModelPool,
    narrated: NarratedModel,
    method: str,
    base: Pair,
    source: Pair,
    layer: int,
    neurons: tuple[int, ...],
) -> "InterchangeCheck":
    from explainers.narrative.interchange_check import check_interchange

    narrator = _narrator(_pool, narrated, method)
    return check_interchange(_pool.model(narrated.model), narrator, Example(*base), Example(*source), layer, neurons)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def interchange_over_set(
    _pool: ModelPool, narrated: NarratedModel, method: str, pairs: Pairs, layer: int, neurons: tuple[int, ...]
) -> "InterchangeRates":
    from explainers.narrative.interchange_rates import interchange_rates

    narrator, head_states = _narrator(_pool, narrated, method), states(_pool, narrated, pairs)
    batch = sentences(_pool, narrated, method, pairs)
    return interchange_rates(_pool.model(narrated.model), narrator, head_states, batch, layer, neurons)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def counterfactual(_pool: ModelPool, narrated: NarratedModel, base: Pair, pairs: Pairs) -> "CounterfactualCheck":
    from explainers.narrative.counterfactual_check import check_counterfactual

    narrators = {method: _narrator(_pool, narrated, method) for method in narrated.methods}
    head_states = states(_pool, narrated, pairs)
    return check_counterfactual(_pool.model(narrated.model), narrators, Example(*base), head_states)


def _narrator(pool: ModelPool, narrated: NarratedModel, method: str) -> "Narrator":
    return load_narrator(pool.model(narrated.model), method)[1]
