"""The head of the Interventions page: what it is for, and for which model."""

import streamlit as st

from app import plain_text
from app.interventions import computations
from app.interventions.computations import HeadInfo, NarratedModel
from app.model_info import model_info
from app.model_pool import ModelPool

NO_NARRATORS = (
    "No model here has narrators yet. Fit one with "
    "`python -m explainers fit cause --model nli --data DIR`, where DIR holds the data set e-SNLI."
)


def title() -> None:
    st.title("Interventions", anchor=False)
    st.write(
        "A sentence can sound right and have nothing to do with the model. Here the model's internal states are "
        "changed, to see whether its sentences follow."
    )


def narrated_model(pool: ModelPool) -> NarratedModel:
    """A model that has narrators. Where there is none, the page says what to do and stops."""
    models = computations.narrated_models(pool)
    if not models:
        st.info(NO_NARRATORS)
        st.stop()
    asked = st.query_params.get("model", "")  # as in an address of the Compare page
    chosen = asked if asked in models else str(st.session_state.get("model") or "")
    if chosen and chosen not in models:
        info = model_info(pool, chosen)
        no_set = info.multimodal and not info.generator_noun
        why = "reads images, of which there is no set here" if no_set else "has no narrators"
        plain_text.caption(f"{chosen} {why}. The Compare page can explain it.")
    first = list(models).index(chosen) if chosen in models else 0
    name = st.selectbox(
        "Model with narrators", list(models), first, key="speaker", bind="query-params", persist_state="session"
    )
    return models[name or next(iter(models))]


def head_info(pool: ModelPool, narrated: NarratedModel) -> HeadInfo:
    """The model's classes and layers."""
    with computations.spinner("Loading the model"):
        return computations.head_info(pool, narrated)
