"""The section "Duel": two methods that disagree, and what the model says when the units they claim are removed.

The pair is in the address as `duel=first.second`, by ids; without it, it is the pair at the top of the sheet. The
section has the same height before, while and after the model is asked.
"""

import streamlit as st

from app.compare.duel_drawing import duel_html
from app.compare.duel_runs import DuelState, Pair, duel_state
from app.compare.engine import Engine
from app.compare.runs import Run
from explainers.comparison.claims import can_duel
from explainers.methods.registry import method_spec
from explainers.report.duel import duel_sentence, no_duel_sentence
from explainers.report.text import one_line

PARAMETER = "duel"  # in the address
BOXES = "duel boxes"  # in the session: number, methods and pair of the boxes that are drawn
WAITING = "The duel begins when all methods are done."
CHOOSE = "Choose two methods that disagree: the model is asked without the few units that only one of them ranks high."
TOO_FEW = "A duel needs two methods that rank units for this class."
ASKING = "Asking the model …"


def show(engine: Engine, run: Run, pair: Pair | None) -> bool:
    """Starts the duel of a run that is over, and tells whether its result was still to come when it was drawn. `pair`
    are the methods at the top of the sheet, None if there are none."""
    st.header("Duel", anchor=False)
    methods = contenders(run)
    if len(methods) < 2:
        st.caption(TOO_FEW)
        return False
    chosen, problem = chosen_pair(methods, pair)
    _boxes(methods, chosen, pair, disabled=run.active)
    state = None if run.active or chosen is None else duel_state(engine, run, chosen)
    waits = state is not None and state.active  # before it is drawn: the result may come meanwhile
    st.html(duel_html(run, state, _sentence(run, state), "" if run.active else problem))
    return waits


def contenders(run: Run) -> list[str]:
    """Ids of the methods that rank units for the explained class, in the order of display; at first of all methods."""
    if run.active or run.question is None:
        return [name for name, column in run.columns.items() if column.spec.explains or column.spec.is_given]
    comparison = run.comparison()
    return [name for name in run.columns if can_duel(comparison, name)]


def chosen_pair(methods: list[str], pair: Pair | None) -> tuple[Pair | None, str]:
    """That of the address, or else `pair`; and a sentence where the address asks for what is not possible."""
    default = pair if pair is not None and set(pair) <= set(methods) else None
    address = st.query_params.get(PARAMETER, "")
    if not address:
        return default, ""
    first, _, second = address.partition(".")
    if first in methods and second in methods:
        return (first, second), ""
    return default, f"The address asks for the duel “{one_line(address)}”, which is not possible here."


def _boxes(methods: list[str], chosen: Pair | None, pair: Pair | None, *, disabled: bool) -> None:
    """The two boxes: new ones where what they show has changed, and not because a person chose in them."""
    number, *shown = st.session_state.get(BOXES, (0, [], None))
    if shown != [methods, chosen]:
        number += 1
        st.session_state[BOXES] = (number, methods, chosen)
    keys = (f"duel first {number}", f"duel second {number}")
    with st.container(horizontal=True):
        for label, key, method in zip(("One method", "Another method"), keys, chosen or ("", ""), strict=True):
            st.selectbox(
                label,
                methods,
                index=methods.index(method) if method else None,
                key=key,
                format_func=lambda method: method_spec(method).name,
                on_change=_chosen,
                args=(keys, pair),
                placeholder="Choose a method",
                disabled=disabled,
            )


def _chosen(keys: tuple[str, str], pair: Pair | None) -> None:
    """Writes the pair into the address, unless it is the one that is shown anyway."""
    first, second = (st.session_state[key] for key in keys)
    if first is None or second is None:
        return
    number, methods, _ = st.session_state[BOXES]
    st.session_state[BOXES] = (number, methods, (first, second))
    if (first, second) != pair:
        st.query_params[PARAMETER] = f"{first}.{second}"
    elif PARAMETER in st.query_params:
        del st.query_params[PARAMETER]


def _sentence(run: Run, state: DuelState | None) -> str:
    if run.active or run.question is None:
        return WAITING
    if state is None:
        return CHOOSE
    if state.active or state.error:
        return ASKING if state.active else state.error
    comparison = run.comparison()
    if state.duel is None:
        return no_duel_sentence(comparison, state.methods)
    return duel_sentence(comparison, state.duel)
