"""What an address asks for and the page does not have, in a sentence, instead of dropping it in silence."""

from collections.abc import Collection

import streamlit as st

from app import plain_text
from explainers.report.text import one_line

PROBLEMS, EARLIER = "address problems", "earlier address problems"  # in the session: sentences by parameter
LONGEST = 60  # characters of a value


def begin() -> None:
    """Called first in a run of the page."""
    st.session_state[EARLIER] = tuple(st.session_state.get(PROBLEMS, ()))


def check(parameter: str, offered: Collection[str], noun: str) -> None:
    """Called before the control that is bound to the parameter is drawn, which drops what it does not offer."""
    wrong = [value for value in st.query_params.get_all(parameter) if value and value not in offered]
    if wrong:
        names = ", ".join(f"“{one_line(value, LONGEST)}”" for value in wrong[:3])
        note(parameter, f"The address names the {noun} {names}, which is not available here. Choose another one.")


def note(parameter: str, sentence: str) -> None:
    st.session_state[PROBLEMS] = {**st.session_state.get(PROBLEMS, {}), parameter: sentence}
    st.session_state[EARLIER] = tuple(each for each in st.session_state.get(EARLIER, ()) if each != parameter)


def show() -> None:
    """Until the question changes."""
    for sentence in st.session_state.get(PROBLEMS, {}).values():
        plain_text.warning(sentence)


def forget() -> None:
    """What earlier runs of the page noted."""
    earlier = st.session_state.get(EARLIER, ())
    st.session_state[PROBLEMS] = {
        parameter: sentence
        for parameter, sentence in st.session_state.get(PROBLEMS, {}).items()
        if parameter not in earlier
    }
