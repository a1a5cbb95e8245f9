"""The choice of the columns of a person's table, as Evaluate, Train and Annotate draw it."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any

import streamlit as st

from app import plain_text
from app.model_info import ModelInfo
from app.session import PageState
from explainers.datasets import labelled_rows
from explainers.datasets.column_names import guessed, guessed_pair, longest_column, number_columns, usual_pair
from explainers.datasets.tables import DELIMITERS
from explainers.report.wording import one_line

NO_COLUMN = "none"
SENTENCE = 4  # words of a name that is probably a text
PAIR_UNREAD = "This table has pairs, and the model reads one text: “{}” is read, “{}” is not."
NUMBERS = "“{}” holds numbers alone. Is it the column of the texts?"
LOST = (
    "The first line names the columns, so “{}” is not read. If it is one of your texts, add a line with names above it."
)


@lru_cache(maxsize=8)
def columns_of(content: bytes, name: str) -> tuple[tuple[str, ...], str]:
    """Return the columns of a table that have names, each once, and the one with the longest cells. Raises
    `DataUnavailable` if it is no table."""
    names = labelled_rows.column_names(content, name)
    return tuple(dict.fromkeys(filter(str.strip, names))), longest_column(content, name)


def column_box(
    state: PageState[Any],
    name: str,
    title: str,
    present: Sequence[str],
    guess: str,
    *,
    optional: bool,
    help_text: str | None = None,
) -> str:
    """Draw the choice among the columns that have names, with `guess` before anybody has chosen; return it, "" for
    none, which only an optional one may be."""
    present = [column for column in present if column.strip()]
    options = (NO_COLUMN, *present) if optional else tuple(present)
    widget = state.widget(name, options=options, listed=options, default=guess or options[0])
    column = st.selectbox(plain_text.label(title, "Texts"), options, help=help_text, **widget)
    return "" if column is None or (optional and column == NO_COLUMN) else str(column)


def column_boxes(
    state: PageState[Any],
    prefix: str,
    present: Sequence[str],
    info: ModelInfo,
    *,
    longest: str = "",
    labelled: str = "",
    rationale: bool = False,
    about_ids: str | None = None,
) -> dict[str, str]:
    """Draw a box for each kind of column that a model's examples have; return the chosen columns by kind, "" for none.
    Where no name tells the column of texts, it is the `longest` one unless a person chooses, and that of labels the
    `labelled` one.

    The controls of the state are called `prefix`, the kind and "_column". `rationale`: whether one may hold marks.
    `about_ids` is the help of the column of ids.
    """
    text, pair = guessed_pair(present, longest) if info.pairs else (guessed("text", present, longest), "")
    first, second = (name.capitalize() for name in info.input_names) if info.pairs else ("Texts", "")
    titles = {"text": first, "pair": second, "image": "Images", "label": "Labels", "id": "Ids"}
    titles |= {"rationale": "Marks of people"} if rationale else {}
    absent = {"pair": not info.pairs, "image": not info.multimodal}
    kinds = [kind for kind in titles if not absent.get(kind)]
    guesses = {"text": text, "pair": pair, "label": guessed("label", present) or labelled}
    chosen: dict[str, str] = {}
    for cell, kind in zip(st.columns(len(kinds)), kinds, strict=True):
        with cell:
            guess = guesses[kind] if kind in guesses else guessed(kind, present)
            name = f"{prefix}{kind}_column"
            about = about_ids if kind == "id" else None
            chosen[kind] = column_box(
                state, name, titles[kind], present, guess, optional=kind != "text", help_text=about
            )
    return chosen


def warn_of_unread_pair(column: str, present: Sequence[str], info: ModelInfo) -> None:
    """Warn where the second text of pairs would not be read; `column` is that of the texts."""
    pair = usual_pair(present) if len(info.input_names) == 1 else None
    if pair is not None and column in pair:
        plain_text.warning(PAIR_UNREAD.format(column, *(name for name in pair if name != column)))


def warn_of_numbers(chosen: Sequence[str], content: bytes, file_name: str) -> None:
    """Warn of each of the columns chosen for texts that holds numbers alone."""
    for column in sorted(set(chosen) & _number_columns(content, file_name)):
        plain_text.warning(NUMBERS.format(one_line(column)))


@lru_cache(maxsize=8)
def _number_columns(content: bytes, name: str) -> frozenset[str]:
    return number_columns(content, name)


def warn_of_lost_text(column: str, file_name: str) -> None:
    """Warn where the first line of a table without names would be lost unseen; `column` is that of the texts."""
    if PurePath(file_name).suffix.lower() in DELIMITERS and len(column.split()) >= SENTENCE:
        plain_text.warning(LOST.format(one_line(column)))
