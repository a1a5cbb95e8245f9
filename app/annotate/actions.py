"""What a button does, and the sentence where that fails."""

from collections.abc import Callable

import streamlit as st

from app import plain_text
from explainers.errors import ExplanationError

PROBLEM = "annotation problem"  # in the session


def attempt(action: Callable[..., object], *arguments: object) -> None:
    """For `on_click`: what fails is told by `tell` on the page that follows."""
    try:
        action(*arguments)
    except ExplanationError as error:
        st.session_state[PROBLEM] = str(error)


def tell() -> None:
    """Once."""
    problem = st.session_state.pop(PROBLEM, "")
    if problem:
        plain_text.error(problem)
