"""Which text pairs are compared: the set, and from it, or typed, a base and a source."""

import streamlit as st

from app import plain_text
from app.interventions.computations import Pair, Pairs
from explainers.datasets.pair_sets import MOST, read_pairs, shipped_pairs
from explainers.datasets.tables import SUFFIXES
from explainers.datasets.user_texts import listed
from explainers.errors import DataUnavailable
from explainers.report.text import one_line

SHIPPED, OWN = "everyday pairs", "your own pairs"
TYPED = "typed below"
SHORT = 34  # characters of each text in a list
MEGABYTES = 5


def chosen(model: str) -> Pairs:
    """The set. As long as there is none, the page says so and stops."""
    shipped = tuple((example.text, example.pair or "") for example in shipped_pairs(model))
    offered = [SHIPPED, OWN] if shipped else [OWN]
    name = st.segmented_control(
        "Set of examples",
        offered,
        default=offered[0],
        required=True,
        key="set",
        bind="query-params",
        persist_state="session",
        help="Sixty short pairs come with the project. They have no labels: the model's own predictions count.",
    )
    return shipped if name == SHIPPED else _uploaded()


def _uploaded() -> Pairs:
    file = st.file_uploader(
        f"A table ({listed(SUFFIXES)}) with the columns premise and hypothesis, or text and text_pair; at most {MOST} "
        "rows",
        type=list(SUFFIXES),
        key="pairs file",
        max_upload_size=MEGABYTES,
    )
    if file is None:
        st.caption("Choose a file to continue. It is kept in the memory of this server and not written to its disk.")
        st.stop()
    try:
        examples = read_pairs(file.getvalue(), file.name)
    except DataUnavailable as error:
        plain_text.error(str(error))
        st.stop()
    st.caption(f"{len(examples)} different pairs.")
    return tuple((example.text, example.pair or "") for example in examples)


def base_and_source(pairs: Pairs) -> tuple[Pair, Pair]:
    """Two examples, side by side."""
    left, right = st.columns(2)
    with left:
        base = _pair_box(pairs, "Base", "This example is changed.", 0)
    with right:
        source = _pair_box(pairs, "Source", "Its neurons are put into the base.", 2 * len(pairs) // 3)
    return base, source


def _pair_box(pairs: Pairs, name: str, help_text: str, first: int) -> Pair:
    names = [list_entry(number, pair) for number, pair in enumerate(pairs, start=1)]
    key = name.lower()
    picked = st.selectbox(
        name, [*names, TYPED], first, key=key, bind="query-params", persist_state="session", help=help_text
    )
    if picked != TYPED and picked in names:
        pair = pairs[names.index(picked)]
        plain_text.paragraph(f"{pair[0]}\n→ {pair[1]}")
        return pair
    premise = st.text_input("Premise", pairs[first][0], key=f"{key} premise", persist_state="session")
    hypothesis = st.text_input("Hypothesis", pairs[first][1], key=f"{key} hypothesis", persist_state="session")
    typed = (premise or "").strip(), (hypothesis or "").strip()
    if not all(typed):
        st.error(f"The {'premise' if not typed[0] else 'hypothesis'} of the {key} is missing. Type at least one word.")
        st.stop()
    return typed


def list_entry(number: int, pair: Pair) -> str:
    """As it stands in the list; the number makes it unique."""
    return f"{number}. {one_line(pair[0], SHORT)} → {one_line(pair[1], SHORT)}"
