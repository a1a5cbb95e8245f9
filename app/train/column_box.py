"""The choice of a column of a person's table, as Evaluate and Train draw it."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from app import plain_text
from app.session import PageState

NO_COLUMN = "none"


def column_box(
    state: PageState[Any], name: str, title: str, present: Sequence[str], guess: str, *, optional: bool
) -> str:
    """Draw the choice among the columns that are present, with `guess` before anybody has chosen; return it, "" for
    none, which only an optional one may be."""
    options = (NO_COLUMN, *present) if optional else tuple(present)
    widget = state.widget(name, options=options, listed=options, default=guess or options[0])
    column = st.selectbox(plain_text.label(title, "Texts"), options, **widget)
    return "" if column is None or (optional and column == NO_COLUMN) else str(column)
