"""The texts that a method learns from: pasted, from a file, with their images, or drawn by the model's generator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import streamlit as st

from app import model_info, plain_text
from app.components import uploaded, uploaded_file
from app.train.column_box import column_box, columns_of, warn_of_numbers
from app.train.state import train_state
from explainers.datasets import tables, user_texts
from explainers.datasets.column_names import guessed, guessed_pair
from explainers.datasets.example import Example, InputImage
from explainers.datasets.images.sets import image_rows
from explainers.errors import DataUnavailable

MEGABYTES = 10
GENERATED = (
    "No texts are needed: for this model, the examples are drawn by its generator with a fixed seed. They differ from "
    "those on which the model was trained and tested."
)
NO_IMAGES = (
    f"No images yet. Give a table with the columns text and image, of at least {user_texts.FEWEST} rows, and its "
    "images."
)
IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
IMAGE_MEGABYTES = 200  # of all files together
TWO_TEXTS = "A charming and often affecting journey.\nThe plot goes nowhere.\n…"
TWO_PAIRS = "Two boys kick a ball.\tChildren are playing.\nA man sleeps.\tA man is running.\n…"


@dataclass(frozen=True)
class SubmittedTexts:
    """The texts, or what is wrong with them. `typed` is false as long as nothing was given; with `generated` the
    model's own data are drawn when the training starts."""

    texts: tuple[Example, ...] = ()
    problem: str = f"No texts yet. Paste at least {user_texts.FEWEST}, one per line, or choose a file."
    typed: bool = False
    generated: bool = False
    left_out: tuple[str, ...] = ()  # what is wrong with rows that are not among the texts
    file: str = ""  # the name of the file that they are from
    columns: user_texts.Columns = ()  # of that file, where they were chosen


def submitted_texts(info: model_info.ModelInfo) -> SubmittedTexts:
    """Texts, or what the model's generator draws."""
    if not info.multimodal:
        return _texts(info)
    if info.generator_noun:
        st.info(GENERATED)
        return SubmittedTexts(problem="", generated=True)
    return _images(info)


def _images(info: model_info.ModelInfo) -> SubmittedTexts:
    """From a table and the files of the images that it names."""
    files = uploaded(
        "A table, and the images that it names",
        [*tables.SUFFIXES, *IMAGES],
        "train images",
        megabytes=IMAGE_MEGABYTES,
        several=True,
        help_text="The table has a column text and a column image with the name of a file. Choose all files at once.",
    )
    submitted = from_images([(file.name, file.getvalue()) for file in files], info.input_names)
    if submitted.texts:
        st.caption(f"**{len(submitted.texts):,} texts with images**. A tenth is held out for validation.")
    st.caption("They are written to the disk of this server, and deleted with the training.")
    _problems(submitted)
    return submitted


def _texts(info: model_info.ModelInfo) -> SubmittedTexts:
    """From the box or from a file, and what is wrong where the model cannot read them."""
    names = info.input_names
    first, second = (plain_text.label(name, "text") for name in names) if info.pairs else ("", "")
    left, right = st.columns([2, 1])
    with left:
        typed = st.text_area(
            f"Pairs, one per line: {first}, tab, {second}" if info.pairs else "Texts, one per line",
            height=232,
            placeholder=TWO_PAIRS if info.pairs else TWO_TEXTS,
            **train_state().widget("train_texts"),
        )
    with right:
        file = uploaded_file(
            "Or a file",
            user_texts.SUFFIXES,
            "train file",
            megabytes=MEGABYTES,
            help_text="A text file with one text per line, or a table with a column of texts; for pairs with two. "
            "UTF-8.",
        )
        submitted = _from_file(file.name, file.getvalue(), names) if file is not None else from_box(typed or "", names)
        if submitted.texts:
            source = "from the file; remove it to use the box" if file is not None else "from the box"
            st.caption(
                f"**{len(submitted.texts):,} {'pairs' if info.pairs else 'texts'}**, each once, {source}. "
                "A tenth is held out for validation."
            )
        st.caption("They are written to the disk of this server, and deleted with the training.")
    _problems(submitted)
    return submitted


def _from_file(name: str, content: bytes, input_names: tuple[str, ...]) -> SubmittedTexts:
    """Draw the choice of a table's columns; return its texts."""
    columns: user_texts.Columns = ()
    if tables.is_table(name) and content.strip():
        try:
            present, longest = columns_of(content, name)
            columns = _column_boxes(present, longest, input_names)
            warn_of_numbers(columns, content, name)
        except DataUnavailable as error:
            return SubmittedTexts(problem=str(error), typed=True)
    return replace(from_file(name, content, input_names, columns), file=name, columns=columns)


def _column_boxes(present: Sequence[str], longest: str, input_names: tuple[str, ...]) -> user_texts.Columns:
    """Return the columns of the texts as they are chosen; none, for those with the usual names, where it is not known
    whether the model reads pairs."""
    if not input_names and user_texts.has_usual_columns(present):
        return ()
    state = train_state()
    if len(input_names) != 2:
        return (column_box(state, "train_column", "Texts", present, guessed("text", present, longest), optional=False),)
    titles, (first, second) = [name.capitalize() for name in input_names], guessed_pair(present, longest)
    text = column_box(state, "train_column", titles[0], present, first, optional=False)
    pair = column_box(state, "train_pair_column", titles[1], present, second, optional=True)
    return (text, pair) if pair else (text,)


def _problems(submitted: SubmittedTexts) -> None:
    """What is wrong with rows, or with all that was given."""
    plain_text.rows_left_out(submitted.left_out)
    if submitted.problem and submitted.typed:
        plain_text.error(submitted.problem)


def from_images(files: Sequence[tuple[str, bytes]], input_names: tuple[str, ...]) -> SubmittedTexts:
    """Return the texts of uploaded files, one of which is the table that names the images."""
    if not files:
        return SubmittedTexts(problem=NO_IMAGES)
    named = [(name, content) for name, content in files if tables.is_table(name)]
    if len(named) != 1:
        return SubmittedTexts(problem=f"Give one table with the images; {len(named)} given.", typed=True)
    contents = {Path(name).name: content for name, content in files}
    bad_rows: list[DataUnavailable] = []

    def parse() -> list[Example]:
        name, content = named[0]
        return [example for row in image_rows(content, name) if (example := _with_image(row, contents, bad_rows))]

    submitted = _checked(parse, input_names)
    return replace(submitted, left_out=tuple(map(str, bad_rows)))


def _with_image(
    row: dict[str, str] | DataUnavailable, contents: Mapping[str, bytes], bad_rows: list[DataUnavailable]
) -> Example | None:
    """The example of a row, or nothing where it cannot be read, which `bad_rows` then says."""
    try:
        if isinstance(row, DataUnavailable):
            raise row
        name = Path(row["image"]).name
        if name not in contents:
            raise DataUnavailable(f"The image {name[:60]!r} was not given.")
        image = InputImage.uploaded(contents[name])
        _ = image.size  # raises where it is no image
        return Example(row["text"], image=image)
    except DataUnavailable as error:
        bad_rows.append(error)
        return None


def from_file(
    name: str, content: bytes, input_names: tuple[str, ...], columns: user_texts.Columns = ()
) -> SubmittedTexts:
    if not content.strip():
        return SubmittedTexts(problem="The file is empty. Choose another one, or remove it to use the box.", typed=True)
    bad_rows: list[DataUnavailable] = []
    submitted = _checked(lambda: user_texts.parse_texts(content, name, bad_rows.append, columns), input_names)
    return replace(submitted, left_out=tuple(map(str, bad_rows)))


def from_box(content: str, input_names: tuple[str, ...]) -> SubmittedTexts:
    if not content.strip():
        return SubmittedTexts()
    parse = pasted_pairs if len(input_names) == 2 else user_texts.parse_lines
    return _checked(lambda: parse(content), input_names)


def _checked(parse: Callable[[], list[Example]], input_names: tuple[str, ...]) -> SubmittedTexts:
    try:
        return SubmittedTexts(user_texts.check_texts(parse(), input_names), "", typed=True)
    except DataUnavailable as error:
        return SubmittedTexts(problem=str(error), typed=True)


def pasted_pairs(content: str) -> list[Example]:
    """A pair per line, as it comes from a spreadsheet: with a tab between the texts."""
    columns = (line.partition("\t") for line in content.splitlines())
    return [Example(first.strip(), second.strip() or None) for first, _, second in columns]
