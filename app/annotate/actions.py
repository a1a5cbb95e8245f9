"""What a button does, and the sentence where that fails."""

from collections.abc import Callable

import streamlit as st

from app import plain_text
from app.annotate import session
from explainers.errors import ExplanationError

PROBLEM = "annotation problem"  # in the session


def attempt(action: Callable[..., object], *arguments: object) -> None:
    """For `on_click`: `show_problem` shows afterwards why it failed. An ended pass does nothing."""
    try:
        session.check_pass()
        action(*arguments)
    except ExplanationError as error:
        st.session_state[PROBLEM] = str(error)


def show_problem() -> None:
    """Once."""
    problem = st.session_state.pop(PROBLEM, "")
    if problem:
        plain_text.error(problem)
