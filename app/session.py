"""What all sessions share."""

import streamlit as st

from app.model_pool import ModelPool
from explainers.models.bundle_cards import bundle_names


@st.cache_resource(show_spinner=False)
def model_pool() -> ModelPool:
    """One for all sessions. It starts at once to load the libraries and the first model."""
    pool = ModelPool()
    for name in bundle_names()[:1]:
        pool.warm_up(name)
    return pool
