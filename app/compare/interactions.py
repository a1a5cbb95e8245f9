"""The section "Which units act together?": arcs between words, and a table of the strongest pairs, on demand."""

import streamlit as st

from app import plain_text
from app.compare import interaction_runs
from app.compare.engine import Engine
from app.compare.interaction_drawing import interactions_html
from app.compare.interaction_runs import MOST_UNITS
from app.compare.runs import Run
from explainers.methods.registry import method_spec
from explainers.report.unit_names import name_of_units, plural

TITLE = "Which units act together?"
WAITING = "They can be computed when all methods are done."
ASKING = "Asking the model …"
IDEA = "An interaction is what two of them do together beyond what each does alone (Faith-Shap of order 2)."
REUSED = "Masks about which LIME, KernelSHAP and the random orders have asked are not asked again."


def show(engine: Engine, run: Run) -> bool:
    """Whether the result was still to come when it was drawn."""
    if run.question is None:
        return False
    units, name = len(run.question.encoding.units), plural(name_of_units(run.question))
    st.header(TITLE, anchor=False)
    if units < 2:
        plain_text.caption(f"Interactions need at least two {name}.")
        return False
    among, method = (None, "") if run.active else interaction_runs.units_among(run)
    if among == ():
        plain_text.caption(f"An input with more than {MOST_UNITS} {name} needs a method that ranks them.")
        return False
    waits, state = interaction_runs.pending(run), run.interactions
    if state is None:
        st.caption(WAITING if run.active else f"{IDEA} {REUSED}" if among is None else IDEA)
        if among is not None:
            plain_text.caption(
                f"This input has {units} {name}. Interactions are computed for the {len(among)} with the largest "
                f"scores of {method_spec(method).name}, of either sign; the others stay in place."
            )
        if st.button("Compute interactions", key="interactions", disabled=run.active):
            interaction_runs.start(engine, run)
            st.rerun(scope="app")
    elif state.active:
        st.caption(ASKING)
    elif state.error:
        plain_text.error(state.error)
    elif state.result is not None:
        st.html(interactions_html(run.comparison(), state.result, state.meter))
    return waits
