"""What all sessions share."""

import streamlit as st

from app.model_pool import DRAWN, ModelPool
from explainers.models.bundle_cards import bundle_names


@st.cache_resource(show_spinner=False)
def model_pool() -> ModelPool:
    """One for all sessions. It loads the libraries and the first model as soon as the first page is drawn."""
    pool = ModelPool()
    for name in bundle_names()[:1]:
        pool.warm_up(name, after=DRAWN)
    return pool
