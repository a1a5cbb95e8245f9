"""Which examples are compared: the set, and from it, or typed, a base and a source."""

import streamlit as st

from app import plain_text
from app.interventions import inputs, opening
from app.interventions.computations import NarratedModel
from app.interventions.inputs import PlainInput, PlainInputs
from explainers.datasets.pair_sets import MOST, read_pairs, shipped_pairs
from explainers.datasets.tables import SUFFIXES
from explainers.datasets.user_texts import listed
from explainers.errors import DataUnavailable

SHIPPED, OWN = "everyday pairs", "your own pairs"
TYPED = "typed below"
MEGABYTES = 5
GENERATED, FIRST, LAST = 60, 101, 999_000  # examples of a generated set, and the numbers it may begin with


def chosen(narrated: NarratedModel) -> PlainInputs:
    """The set. As long as there is none, the page says so and stops."""
    return _generated(narrated.generator_noun) if narrated.generator_noun else _pairs(narrated.model)


def _generated(noun: str) -> PlainInputs:
    first = st.number_input(
        f"First of {GENERATED} generated examples",
        0,
        LAST,
        FIRST,
        GENERATED,
        key="set from",
        bind="query-params",
        persist_state="session",
        width=260,
        help="The generator draws every example from its number. Another number gives another set. The examples are "
        "taken without their labels: the model's own predictions count.",
    )
    return inputs.generated_inputs(noun, int(first), GENERATED)


def _pairs(model: str) -> PlainInputs:
    shipped = tuple(PlainInput(example.text, example.pair or "") for example in shipped_pairs(model))
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


def _uploaded() -> PlainInputs:
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
    return tuple(PlainInput(example.text, example.pair or "") for example in examples)


def base_and_source(among: PlainInputs, first: tuple[int, int]) -> tuple[PlainInput, PlainInput]:
    """Two examples, side by side; `first` are the numbers in the set of those that are shown at first."""
    left, right = st.columns(2)
    with left:
        base = _box(among, "Base", "This example is changed.", first[0])
    with right:
        source = _box(among, "Source", "Its neurons are put into the base.", first[1])
    return base, source


def _box(among: PlainInputs, name: str, help_text: str, first: int) -> PlainInput:
    names = [inputs.list_entry(number, plain) for number, plain in enumerate(among, start=1)]
    kind = " image" if among[0].image else ""  # the choice for one kind of models is none for the other
    key = name.lower()
    widget = f"{key}{kind}"
    start = 0 if opening.moved(widget, names[first]) else first
    picked = st.selectbox(
        name, [*names, TYPED], start, key=widget, bind="query-params", persist_state="session", help=help_text
    )
    if picked != TYPED and picked in names:
        plain = among[names.index(picked)]
    else:
        plain = _typed_text(key, among[first]) if kind else _typed_pair(key, among[first])
    if picked != TYPED or kind:
        inputs.show(plain)
    return plain


def _typed_pair(key: str, first: PlainInput) -> PlainInput:
    premise = st.text_input("Premise", first.text, key=f"{key} premise", persist_state="session")
    hypothesis = st.text_input("Hypothesis", first.pair, key=f"{key} hypothesis", persist_state="session")
    return PlainInput(_required(premise, "premise", key), _required(hypothesis, "hypothesis", key))


def _typed_text(key: str, first: PlainInput) -> PlainInput:
    """Another text about a generated image."""
    noun, _, seed = first.image.rpartition(" ")
    number = st.number_input(
        "Number of the generated image",
        0,
        LAST + GENERATED - 1,
        int(seed),
        1,
        key=f"{key} number",
        persist_state="session",
    )
    text = st.text_input("Text about the image", first.text, key=f"{key} text", persist_state="session")
    return PlainInput(_required(text, "text", key), image=f"{noun} {int(number)}")


def _required(typed: str | None, what: str, key: str) -> str:
    """Without spaces around it. Where there is nothing the page says so and stops."""
    text = (typed or "").strip()
    if not text:
        st.error(f"The {what} of the {key} is missing. Type at least one word.")
        st.stop()
    return text
