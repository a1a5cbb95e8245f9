"""Which pairs of texts are put against each other: the set, and from it, or typed, a base and a source."""

import streamlit as st

from app.safe import markdown
from app.speaking import Pair, Pairs
from explainers.datasets.pairs import MOST, of_table, shipped
from explainers.errors import DataUnavailable
from explainers.report.text import one_line

OURS, OWN = "everyday pairs", "your own pairs"
TYPED = "typed below"
SHORT = 34  # characters of each text in a list
MEGABYTES = 5


def chosen(model: str) -> Pairs:
    """The set. Stops the page, after a sentence, as long as there is none."""
    ours = tuple((each.text, each.pair or "") for each in shipped(model))
    offered = [OURS, OWN] if ours else [OWN]
    picked = st.segmented_control(
        "Set of examples",
        offered,
        default=offered[0],
        required=True,
        key="set",
        bind="query-params",
        persist_state="session",
        help="Sixty short pairs come with the project. The model's own answers count; nothing else is known of them.",
    )
    return ours if picked == OURS else _uploaded()


def _uploaded() -> Pairs:
    file = st.file_uploader(
        f"A table (.csv or .tsv) with the columns premise and hypothesis, or text and text_pair; at most {MOST} rows",
        type=["csv", "tsv"],
        key="pairs file",
        max_upload_size=MEGABYTES,
    )
    if file is None:
        st.caption("Choose a file to go on. It is kept in the memory of this server and not written to its disk.")
        st.stop()
    try:
        found = of_table(file.getvalue(), file.name)
    except DataUnavailable as error:
        st.error(markdown(str(error)))
        st.stop()
    st.caption(f"{len(found)} different pairs.")
    return tuple((each.text, each.pair or "") for each in found)


def base_and_source(pairs: Pairs) -> tuple[Pair, Pair]:
    """Two examples, side by side."""
    left, right = st.columns(2)
    with left:
        base = _one(pairs, "Base", "This example is changed.", 0)
    with right:
        source = _one(pairs, "Source", "Its neurons are put into the base.", 2 * len(pairs) // 3)
    return base, source


def _one(pairs: Pairs, name: str, what: str, first: int) -> Pair:
    names = [listed(number, pair) for number, pair in enumerate(pairs, start=1)]
    key = name.lower()
    picked = st.selectbox(
        name, [*names, TYPED], first, key=key, bind="query-params", persist_state="session", help=what
    )
    if picked != TYPED and picked in names:
        found = pairs[names.index(picked)]
        st.markdown(f"{markdown(found[0])}  \n→ {markdown(found[1])}")
        return found
    premise = st.text_input("Premise", pairs[first][0], key=f"{key} premise", persist_state="session")
    hypothesis = st.text_input("Hypothesis", pairs[first][1], key=f"{key} hypothesis", persist_state="session")
    typed = (premise or "").strip(), (hypothesis or "").strip()
    if not all(typed):
        st.error(f"The {'premise' if not typed[0] else 'hypothesis'} of the {key} is missing. Type at least one word.")
        st.stop()
    return typed


def listed(number: int, pair: Pair) -> str:
    """As it stands in the list: its number makes it the only one of its kind."""
    return f"{number}. {one_line(pair[0], SHORT)} → {one_line(pair[1], SHORT)}"
