"""What the Interventions page shows until a person chooses: an exchange that changes the model's class."""

from dataclasses import dataclass

import streamlit as st

from app.interventions import checks, computations
from app.interventions.computations import HeadInfo, NarratedModel
from app.interventions.inputs import PlainInputs
from app.model_pool import ModelPool


@dataclass(frozen=True)
class FirstExchange:
    """Numbers of base and source in the set, and a draw; without `changes` none of those tried changes the class."""

    base: int
    source: int
    draw: int
    changes: bool


def find(pool: ModelPool, narrated: NarratedModel, head: HeadInfo, among: PlainInputs) -> FirstExchange:
    with computations.spinner(f"Searching {len(among)} examples for an exchange that changes the model's class"):
        change = checks.first_change(pool, narrated, among, head.first_layer)
    if change is None:
        return FirstExchange(0, 2 * len(among) // 3, 0, changes=False)
    return FirstExchange(change.base, change.source, change.draw, changes=True)


def moved(key: str, first: object) -> bool:
    """Whether the widget `key` was put to `first` just now: the set or the model changed, and what the widget showed
    was the page's own choice. Streamlit keeps a widget's value when only its default changes."""
    kept = f"first {key}"
    before, shown = st.session_state.get(kept), st.session_state.get(key)
    st.session_state[kept] = first
    if before in (None, first) or shown not in (None, before):
        return False
    st.session_state[key] = first
    return True
