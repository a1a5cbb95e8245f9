"""Which narrators put the decision into words: pills in the sidebar, bound to the address."""

import streamlit as st

from explainers.methods.narrator_specs import NARRATORS
from explainers.training.artifacts import available_artifacts

KEY = "narrators"  # in the session and in the address
HELP = "Each generates a sentence from the model's internal states, φ (words) from the words. Three things are checked."


def picked(model: str, version: str) -> tuple[str, ...]:
    """Ids of the chosen narrators, by default all that are fitted to the model; nothing is drawn where none are."""
    fitted = {artifact.method for artifact in available_artifacts(model, version, "narrative")}
    specs = {spec.name: spec for spec in NARRATORS if spec.id in fitted}
    if not specs:
        return ()
    names = st.pills(
        "Narrators",
        list(specs),
        selection_mode="multi",
        default=list(specs),
        key=KEY,
        bind="query-params",
        persist_state="session",
        help=HELP,
    )
    return tuple(specs[name].id for name in specs if name in (names or []))
