"""The head of the Interventions page: what it is for, and for which model."""

import streamlit as st

from app import speaking
from app.controls import reads_pictures
from app.engine import Engine
from app.safe import markdown
from app.speaking import About, Speaker

NOTHING = (
    "No model here has narrators yet. Fit them to a model of pairs with "
    "`python -m explainers fit cause --model nli --data DIR`, where DIR holds the data set e-SNLI."
)


def title() -> None:
    st.title("Interventions", anchor=False)
    st.write(
        "Sentences can sound right and have nothing to do with the model. Here the model is changed from the inside, "
        "and one sees whether its sentences notice."
    )


def speaker(engine: Engine) -> Speaker:
    """A model that has narrators. Stops the page with what to do where there is none."""
    found = speaking.speakers(engine)
    if not found:
        st.info(NOTHING)
        st.stop()
    chosen = str(st.session_state.get("model") or "")
    if chosen and chosen not in found:
        why = "reads pictures, and interventions are for pairs of texts" if reads_pictures(engine, chosen) else None
        st.caption(f"{markdown(chosen)} {why or 'has no narrators'}; it can be explained on the Compare page.")
    picked = st.selectbox(
        "Model with narrators", list(found), key="speaker", bind="query-params", persist_state="session"
    )
    return found[picked or next(iter(found))]


def about(engine: Engine, chosen: Speaker) -> About:
    """Its classes and layers."""
    with speaking.told("Loads the model"):
        return speaking.about(engine, chosen)
