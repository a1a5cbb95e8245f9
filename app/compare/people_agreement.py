"""How far each method agrees with people's marks on this input, beside what a random order is expected to reach."""

import streamlit as st

from app.compare.runs import Run
from explainers.methods.given_specs import PEOPLE
from explainers.metrics.plausibility import PLAUSIBILITY, is_defined, plausibility, plausibility_by_chance

TITLE = "Agreement with people's marks"
CAPTION = (
    "Higher is closer to the units that at least half of the people marked. This says how plausible a map is, not how "
    "faithful: people may look at other units than the model."
)
CHANCE = "Random order, expected"


def show(run: Run) -> None:
    """Nothing without people's marks, and where all units are marked or none."""
    rows = run.view("people agreement", run.settled, lambda: table(run))
    if rows:
        st.subheader(TITLE, anchor=False)
        columns = {name: st.column_config.NumberColumn(format="%.3f") for name in rows[0] if name != "method"}
        st.dataframe(rows, hide_index=True, column_config=columns, width="content", key="people agreement")
        st.caption(CAPTION)


def table(run: Run) -> list[dict[str, str | float]]:
    """A row per finished method, and the chance values last."""
    people = run.columns.get(PEOPLE.id)
    if people is None or people.attribution is None:
        return []
    import numpy as np

    truth = np.array(people.attribution.scores) >= 0.5
    if not is_defined(truth):
        return []
    finished = [each for each in run.columns.values() if each.result is not None and each.spec.id != PEOPLE.id]
    values = [
        (each.spec.display_name, plausibility(truth, each.result.attribution.scores))
        for each in finished
        if each.result
    ]
    named = [*values, (CHANCE, plausibility_by_chance(truth))]
    return [{"method": name, **{metric.name: own[metric.id] for metric in PLAUSIBILITY}} for name, own in named]
