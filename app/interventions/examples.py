"""Which examples are compared: the set, and from it, or typed, a base and a source."""

from functools import lru_cache
from pathlib import PurePosixPath

import streamlit as st

from app import plain_text
from app.components import uploaded_file
from app.interventions import computations, inputs
from app.interventions.inputs import OwnImages, PlainInput, PlainInputs
from app.interventions.state import LAST, SETS, interventions_state
from app.train.column_box import column_box, columns_of, warn_of_numbers
from explainers.datasets import labelled_rows, tables
from explainers.datasets.column_names import guessed, guessed_pair
from explainers.datasets.example import Example
from explainers.datasets.images.files import ZippedTable, zipped_table
from explainers.datasets.user_texts import FEWEST_PAIRS, MOST_PAIRS, listed, read_pairs, shipped_pairs
from explainers.errors import DataUnavailable

SHIPPED, OWN = "everyday pairs", "your own pairs"
TYPED = "typed below"
MEGABYTES, IMAGE_MEGABYTES = 5, 25
NO_FILE = "Choose a file to continue. It is kept in the memory of this server and not written to its disk."
MOST_BYTES = 100_000_000  # of the images of a set, in memory
GENERATED = 60  # examples of a generated set


def chosen(narrated: computations.NarratedModel) -> PlainInputs:
    """Return the set of examples; as long as there is none, say so and stop the page."""
    if narrated.generator_noun:
        among = _generated(narrated.generator_noun)
    else:
        among = _images() if narrated.images else _pairs(narrated.model)
    if not among[0].own:
        interventions_state().own_images = None  # decoded anew when that set is looked at again
    return among


def _generated(noun: str) -> PlainInputs:
    first = st.number_input(
        f"First of {GENERATED} generated examples",
        *SETS,
        step=GENERATED,
        width=260,
        help="The generator draws every example from its number. Another number gives another set. The examples are "
        "taken without their labels: the model's own predictions count.",
        **interventions_state().widget("set_from"),
    )
    return inputs.generated_inputs(noun, int(first), GENERATED)


def _pairs(model: str) -> PlainInputs:
    shipped = tuple(PlainInput(example.text, example.pair or "") for example in shipped_pairs(model))
    offered = [SHIPPED, OWN] if shipped else [OWN]
    name = st.segmented_control(
        "Set of examples",
        offered,
        required=True,
        help="Sixty short pairs come with the project. They have no labels: the model's own predictions count.",
        **interventions_state().widget("set_", options=offered, default=offered[0], initial="default"),
    )
    return shipped if name == SHIPPED else _uploaded()


def _uploaded() -> PlainInputs:
    file = uploaded_file(
        f"A table ({listed(tables.SUFFIXES)}) with a column for each text of a pair; at most {MOST_PAIRS} rows",
        tables.SUFFIXES,
        "pairs file",
        megabytes=MEGABYTES,
    )
    interventions_state().give(file.file_id if file else "")
    if file is None:
        st.caption(NO_FILE)
        st.stop()
    try:
        examples = _read(file.getvalue(), file.name, _pair_columns(file.getvalue(), file.name))
    except DataUnavailable as error:
        plain_text.error(str(error))
        st.stop()
    st.caption(f"{len(examples)} different pairs.")
    return tuple(PlainInput(example.text, example.pair or "", own=True) for example in examples)


def _pair_columns(content: bytes, name: str) -> tuple[str, ...]:
    """Draw the choice of both columns; return them, or none where the file is no table that has two. Raises
    `DataUnavailable` if its columns cannot be read."""
    present, longest = columns_of(content, name) if tables.is_table(name) and content.strip() else ((), "")
    if len(present) < 2:
        return ()
    first, second = guessed_pair(present, longest)
    if not second:  # no name tells them: in the order of the file
        second = guessed("text", [column for column in present if column != first])
        first, second = sorted((first, second), key=present.index)
    chosen = _two_boxes(present, ("Premise", first), ("Hypothesis", second))
    warn_of_numbers(chosen, content, name)
    return chosen


def _two_boxes(present: tuple[str, ...], first: tuple[str, str], second: tuple[str, str]) -> tuple[str, str]:
    """Draw two boxes side by side, each with its title and the column that is guessed; return both columns."""
    state = interventions_state()
    left, right = st.columns(2)
    with left:
        one = column_box(state, "first_column", first[0], present, first[1], optional=False)
    with right:
        other = column_box(state, "second_column", second[0], present, second[1], optional=False)
    return one, other


@lru_cache(maxsize=2)
def _read(content: bytes, name: str, columns: tuple[str, ...]) -> tuple[Example, ...]:
    return read_pairs(content, name, columns)


def _images() -> PlainInputs:
    file = uploaded_file(
        f"A ZIP file with images and a table ({listed(tables.SUFFIXES)}) that has a column of texts and one of images; "
        f"at most {MOST_PAIRS} rows",
        ["zip"],
        "images file",
        megabytes=IMAGE_MEGABYTES,
        help_text="The column of images has the names of files beside the table, or in folders below it. No labels are "
        "needed: the model's own predictions count.",
    )
    state = interventions_state()
    state.give(file.file_id if file else "")
    if file is None:
        st.caption(NO_FILE)
        st.stop()
    try:
        zipped = zipped_table(file.getvalue(), file.name, tables.SUFFIXES)
        columns = _image_columns(zipped)
        if state.own_images is None or state.own_images.columns != columns:
            state.own_images = own_images(zipped, columns)
        read = state.own_images
    except DataUnavailable as error:
        plain_text.error(str(error))
        st.stop()
    plain_text.rows_left_out(read.problems, read.left_out)
    st.caption(f"{len(read.rows)} different texts with images.")
    return read.rows


def _image_columns(zipped: ZippedTable) -> tuple[str, str]:
    """Draw the choice of the columns of texts and images; return them. Raises `DataUnavailable` if the table's columns
    cannot be read."""
    present, longest = columns_of(zipped.content, zipped.name)
    if len(present) < 2:
        return ("text", "image")
    image = guessed("image", present)
    text = guessed("text", [column for column in present if column != image], longest)
    image = image or next(column for column in present if column != text)
    chosen = _two_boxes(present, ("Texts", text), ("Images", image))
    warn_of_numbers(chosen[:1], zipped.content, zipped.name)
    return chosen


def own_images(zipped: ZippedTable, columns: tuple[str, str]) -> OwnImages:
    """Read the texts of a table, and the images that it names, from a ZIP file; `columns` are those of texts and
    images. Labels are not read.

    Every image is decoded once. Raises `DataUnavailable` if the file cannot be used, has too few or too many different
    rows, or images of more than `MOST_BYTES`, each counted for every row that names it.
    """
    named = labelled_rows.Columns(columns[0], image=columns[1])
    read = labelled_rows.read_rows(zipped.content, zipped.name, named, (), most=MOST_PAIRS + 1, images=zipped)
    if read.usable > MOST_PAIRS:
        raise DataUnavailable(f"A set has at most {MOST_PAIRS} texts with images; these are {read.usable:,}.")
    contents: dict[str, bytes | DataUnavailable] = {}
    rows: dict[PlainInput, None] = {}
    problems, size = list(read.problems), 0
    for row in read.rows:
        image = str(PurePosixPath(row.image))
        if image not in contents:
            contents[image] = _decoded(zipped, image)
        file = contents[image]
        if isinstance(file, DataUnavailable):
            problems.append(f"Line {row.line:,}, image {image[:60]!r}: {file} The row is left out.")
            continue
        size += len(file)
        if size > MOST_BYTES:
            raise DataUnavailable(f"The images of all rows have more than {MOST_BYTES // 10**6} MB. Give fewer rows.")
        rows[PlainInput(row.text, image=image, content=file, own=True)] = None
    if len(rows) < FEWEST_PAIRS:
        first = f" {problems[0]}" if problems else ""
        raise DataUnavailable(
            f"A set has at least {FEWEST_PAIRS} different texts with images; this is {len(rows)}.{first}"
        )
    return OwnImages(tuple(rows), tuple(problems), read.left_out + len(problems) - len(read.problems), columns)


def _decoded(zipped: ZippedTable, image: str) -> bytes | DataUnavailable:
    """Return the content of an image's file, or what is wrong with it, also behind its header."""
    try:
        file = zipped.image(image)
        file.pixels()
    except DataUnavailable as error:
        return error
    return file.content


def base_and_source(among: PlainInputs, first: tuple[int, int]) -> tuple[PlainInput, PlainInput]:
    """Return two examples, chosen side by side; `first` are the numbers in the set of those shown at first."""
    left, right = st.columns(2)
    with left:
        base = _box(among, "Base", "This example is changed.", first[0])
    with right:
        source = _box(among, "Source", "Its neurons are put into the base.", first[1])
    return base, source


def _box(among: PlainInputs, name: str, help_text: str, first: int) -> PlainInput:
    names = [inputs.list_entry(number, plain) for number, plain in enumerate(among, start=1)]
    kind = (
        "_own" if among[0].own else "_image" if among[0].image else ""
    )  # a choice in one kind of set is none in another
    key, offered = name.lower(), [*names, TYPED]
    widget = interventions_state().widget(f"{key}{kind}", options=offered, default=names[first], listed=offered)
    picked = st.selectbox(name, offered, help=help_text, **widget)
    plain = among[names.index(picked)] if picked in names else _typed(key, among, first)
    if picked != TYPED or plain.image:
        inputs.show(plain)
    return plain


def _typed(key: str, among: PlainInputs, first: int) -> PlainInput:
    if among[first].content:
        return _typed_text_of_file(key, among, first)
    return _typed_text(key, among[first]) if among[first].image else _typed_pair(key, among[first])


def _typed_pair(key: str, first: PlainInput) -> PlainInput:
    state = interventions_state()
    premise = st.text_input("Premise", **state.widget(f"{key}_premise", default=first.text))
    hypothesis = st.text_input("Hypothesis", **state.widget(f"{key}_hypothesis", default=first.pair))
    return PlainInput(_required(premise, "premise", key), _required(hypothesis, "hypothesis", key))


def _typed_text(key: str, first: PlainInput) -> PlainInput:
    """Return another text about a generated image."""
    noun, _, seed = first.image.rpartition(" ")
    state = interventions_state()
    number = st.number_input(
        "Number of the generated image",
        0,
        LAST + GENERATED - 1,
        step=1,
        **state.widget(f"{key}_number", default=int(seed)),
    )
    text = st.text_input("Text about the image", **state.widget(f"{key}_text", default=first.text))
    return PlainInput(_required(text, "text", key), image=f"{noun} {int(number)}")


def _typed_text_of_file(key: str, among: PlainInputs, first: int) -> PlainInput:
    """Return another text about one of the images of a person's set."""
    state, files = interventions_state(), {plain.image: plain.content for plain in among}
    widget = state.widget(f"{key}_file", options=list(files), default=among[first].image, listed=list(files))
    image = st.selectbox("Image", list(files), **widget)
    text = st.text_input("Text about the image", **state.widget(f"{key}_file_text", default=among[first].text))
    return PlainInput(_required(text, "text", key), image=image, content=files[image])


def _required(typed: str | None, what: str, key: str) -> str:
    """Return the text without spaces around it; where there is none, say so and stop the page."""
    text = (typed or "").strip()
    if not text:
        st.error(f"The {what} of the {key} is missing. Type at least one word.")
        st.stop()
    return text
