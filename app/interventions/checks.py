"""The interventions of the page, each computed once per question; the cache goes by plain values.

The modules that bring torch with them are imported where they are needed, so that the page is drawn before they load.
"""

from typing import TYPE_CHECKING

import streamlit as st

from app.interventions.computations import KEPT, SETS_KEPT, NarratedModel, fitted_narrator, sentences, states
from app.interventions.inputs import PlainInput, PlainInputs, example_of
from app.model_pool import ModelPool

if TYPE_CHECKING:
    from explainers.narrative.changing_draws import ChangingExchange
    from explainers.narrative.counterfactual_check import CounterfactualCheck
    from explainers.narrative.interchange_check import InterchangeCheck
    from explainers.narrative.interchange_rates import InterchangeRates


@st.cache_data(show_spinner=False, max_entries=SETS_KEPT)
def first_change(
    _pool: ModelPool, narrated: NarratedModel, among: PlainInputs, layer: int
) -> "ChangingExchange | None":
    """The exchange with which the page opens; None where none of those that are tried changes the model's class."""
    from explainers.models.internals import classifier_head
    from explainers.narrative import changing_draws

    head = classifier_head(_pool.model(narrated.model))
    return changing_draws.first_change(head, states(_pool, narrated, among).states, layer)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def changing_draws(
    _pool: ModelPool, narrated: NarratedModel, base: PlainInput, source: PlainInput, layer: int
) -> tuple[int, ...]:
    """The draws that change the model's class of the base."""
    from explainers.models.internals import classifier_head
    from explainers.narrative import changing_draws
    from explainers.narrative.sentence_batches import head_states

    model = _pool.model(narrated.model)
    both = head_states(model, [example_of(base), example_of(source)]).states
    return changing_draws.changing_draws(classifier_head(model), both, layer)


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
    from explainers.narrative.interchange_rates import interchange_rates

    narrator = fitted_narrator(_pool, narrated, method)
    read, batch = states(_pool, narrated, among, narrator.layer), sentences(_pool, narrated, method, among)
    return interchange_rates(_pool.model(narrated.model), narrator, read, batch, layer, neurons)


@st.cache_data(show_spinner=False, max_entries=KEPT)
def counterfactual(
    _pool: ModelPool, narrated: NarratedModel, base: PlainInput, among: PlainInputs
) -> "CounterfactualCheck":
    from explainers.narrative.counterfactual_check import check_counterfactual

    narrators = {method: fitted_narrator(_pool, narrated, method) for method in narrated.methods}
    read = states(_pool, narrated, among)
    return check_counterfactual(_pool.model(narrated.model), narrators, example_of(base), read)
