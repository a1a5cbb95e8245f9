"""Text of a person, of a model's author or of a library, on the page exactly as it is.

Streamlit's Markdown cannot be escaped completely: it makes links, icons and arrows of text whose escapes are already
resolved. So such text is written here as HTML, of which every sign is escaped, and never through `st.error`,
`st.caption`, `st.markdown` and the like. Boxes, `st.selectbox`, `st.multiselect`, `st.code`, `st.json` and
`st.dataframe` know no Markdown either; labels, `st.pills`, `st.segmented_control` and `st.table` do.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import streamlit as st

from explainers.errors import without_folders
from explainers.report.wording import counted, escaped

LABEL = re.compile(r"[^\W_]+(?:[ -][^\W_]+)*")
BOX = (
    "padding: 0.9rem 1rem; border-radius: 0.5rem; border-left: 0.25rem solid {0}; "
    "background: color-mix(in srgb, {0} 12%, transparent);"
)
STYLES = {
    "paragraph": "",
    "caption": "font-size: 0.875rem; opacity: 0.7;",
    "error": BOX.format("#d92d3a"),
    "warning": BOX.format("#d9a400"),
    "success": BOX.format("#21a35b"),
    "info": BOX.format("#2f7fc4"),
}

LISTED = 5  # bad rows that are named one by one
Kind = Literal["paragraph", "caption", "error", "warning", "success", "info"]
Width = Literal["stretch", "content"]


class Bold(str):
    """A piece of text that is set in bold."""

    __slots__ = ()


def error(text: str) -> None:
    """Without the folders of this machine, which libraries and trainings name."""
    _draw("error", without_folders(text))


def warning(text: str) -> None:
    """Without the folders of this machine, too."""
    _draw("warning", without_folders(text))


def rows_left_out(problems: Sequence[str], count: int | None = None) -> None:
    """Warn of the rows of a table that cannot be read: the sentences about the first ones, and how many more there are.

    `count` is the number of all of them, where not every one has a sentence.
    """
    more = (len(problems) if count is None else count) - LISTED
    rest = f"{counted(more, 'more row')} {'is' if more == 1 else 'are'} left out." if more > 0 else ""
    if problems:
        warning("\n".join(filter(None, (*problems[:LISTED], rest))))


def success(*pieces: str) -> None:
    _draw("success", *pieces)


def info(*pieces: str) -> None:
    _draw("info", *pieces)


def caption(*pieces: str, tooltip: str = "") -> None:
    """Small and pale. `tooltip` appears where the pointer rests."""
    _draw("caption", *pieces, tooltip=tooltip)


def paragraph(*pieces: str, width: Width = "stretch") -> None:
    _draw("paragraph", *pieces, width=width)


def bullets(lines: Iterable[str]) -> None:
    items = "".join(f"<li>{escaped(line)}</li>" for line in lines)
    st.html(f'<ul class="plain-bullets">{items}</ul>')


def label(name: str, otherwise: str) -> str:
    """A name for a place that does know Markdown: as it is where it is nothing but words, else another one."""
    return name if LABEL.fullmatch(name) else otherwise


def _draw(kind: Kind, *pieces: str, tooltip: str = "", width: Width = "stretch") -> None:
    content = "".join(f"<b>{escaped(piece)}</b>" if isinstance(piece, Bold) else escaped(piece) for piece in pieces)
    role = ' role="alert"' if kind in ("error", "warning", "success", "info") else ""
    title = f' title="{escaped(tooltip)}"' if tooltip else ""
    style = f"{STYLES[kind]} overflow-wrap: anywhere; white-space: pre-line; unicode-bidi: isolate;".strip()
    st.html(f'<div class="plain-{kind}"{role}{title} style="{style}">{content}</div>', width=width)
