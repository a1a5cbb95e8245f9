"""The rows that are evaluated: a person's table with a choice of its columns, an ERASER data set, or embedded examples;
and a preview."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import pandas as pd
import streamlit as st

from app import plain_text
from app.components import uploaded_file
from app.evaluate.state import EXAMPLES, FILE, SOURCES, evaluate_state
from app.model_info import ModelInfo
from app.train.column_box import column_boxes, columns_of, warn_of_lost_text, warn_of_numbers, warn_of_unread_pair
from explainers.annotations.formats import archives
from explainers.annotations.formats.items_file import NO_DOCUMENTS
from explainers.datasets import cells, labelled_rows
from explainers.datasets.column_names import labelled_column
from explainers.datasets.curated_examples import curated_examples
from explainers.datasets.images.files import ZippedTable, zipped_table
from explainers.datasets.line_files import is_text_file
from explainers.errors import DataUnavailable
from explainers.evaluation import eraser_rows, set_spec
from explainers.report.wording import counted, one_line

IMAGE_MEGABYTES = 100
MEGABYTES = 10  # larger tables on the command line
PREVIEW = 5  # rows
LEFT_OUT = "– left out –"
MOST_UNKNOWN = 12  # labels without a class; with more it is probably no column of labels
ABOUT_IDS = (
    "By default ids follow from the texts. What is random about a row, such as the samples of LIME, follows from its "
    "id: other ids give slightly other numbers."
)
NO_DATA = "No data yet. Choose a file, or the embedded examples."


@dataclass(frozen=True)
class SubmittedData:
    """A file as it was given, which columns or part of an ERASER data set are read, and the rows; or what is wrong."""

    name: str = ""
    content: bytes = b""
    columns: labelled_rows.Columns = field(default_factory=labelled_rows.Columns)
    rows: tuple[labelled_rows.InputRow, ...] = ()
    problem: str = ""
    format: str = set_spec.TABLE
    split: str = ""
    zipped: ZippedTable | None = None  # where the file holds a table and its images

    @property
    def table(self) -> str:
        """Return the name of the table, or of the data set."""
        return self.zipped.name if self.zipped else self.name


def submitted_data(model: str, info: ModelInfo) -> SubmittedData:
    """Draw the choice of the data; return what is chosen."""
    state = evaluate_state()
    examples = _examples(model)
    sources = SOURCES if examples and not info.multimodal else (FILE,)
    source = st.segmented_control(
        "Data", sources, required=True, **state.widget("evaluate_source", options=sources, initial="default")
    )
    if info.multimodal:
        data = _from_images(info)
    elif source == EXAMPLES:
        data = _parsed("examples.jsonl", examples, labelled_rows.Columns("text", "pair" if info.pairs else ""), info)
    else:
        data = _from_file(info)
    _preview(data, info.labels)
    return data


def _from_file(info: ModelInfo) -> SubmittedData:
    file = uploaded_file(
        "A table with a row per text, a .txt file with a text per line, or an ERASER data set",
        [suffix.removeprefix(".").removeprefix("tar.") for suffix in (*labelled_rows.SUFFIXES, *archives.SUFFIXES)],
        "evaluate file",
        megabytes=MEGABYTES,
        help_text="CSV, TSV, JSON lines or Parquet, UTF-8, with a column of texts; labels, ids and what people marked "
        "([[0, 4], [9, 12]]) are optional. Or documents and annotations of an ERASER data set in one .zip or .tar.gz. "
        "For larger files: python -m explainers evaluate.",
    )
    if file is None:
        return SubmittedData()
    content = file.getvalue()
    if archives.is_archive(file.name):
        return _from_eraser(content, file.name, info)
    try:
        present, longest = columns_of(content, file.name)
        if not present:
            raise DataUnavailable(
                f"No row of {file.name} can be read. Is it cut off, or not the table that its name says?"
                if content.strip()
                else f"{file.name} is empty. Choose another file."
            )
        if {"evidences", "annotation_id"} <= set(present):
            raise DataUnavailable(NO_DOCUMENTS)
    except DataUnavailable as error:
        return SubmittedData(problem=str(error), name=file.name)
    if is_text_file(file.name):
        return _parsed(file.name, content, labelled_rows.Columns(), info)
    columns = _column_boxes(present, longest, _labelled(content, file.name, info.labels), info)
    warn_of_lost_text(columns.text, file.name)
    warn_of_numbers((columns.text, columns.pair), content, file.name)
    warn_of_unread_pair(columns.text, present, info)
    return _parsed(file.name, content, replace(columns, classes=_class_boxes(content, file.name, columns, info)), info)


def _from_images(info: ModelInfo) -> SubmittedData:
    file = uploaded_file(
        "A ZIP file with a table and the images that it names",
        ["zip"],
        "evaluate images",
        megabytes=IMAGE_MEGABYTES,
        help_text="The table has a column of texts and one of the names of image files, beside it or in folders below "
        "it.",
    )
    if file is None:
        return SubmittedData()
    content = file.getvalue()
    try:
        zipped = _zipped(content, file.name)
        labelled = _labelled(zipped.content, zipped.name, info.labels)
        columns = _column_boxes(*columns_of(zipped.content, zipped.name), labelled, info)
        warn_of_lost_text(columns.text, zipped.name)
        warn_of_numbers((columns.text,), zipped.content, zipped.name)
        classes = _class_boxes(zipped.content, zipped.name, columns, info)
        columns = replace(columns, classes=classes)
        if not columns.image:
            raise DataUnavailable("Choose the column with the names of the images.")
        checkable = columns if info.labels else replace(columns, label="", classes=())
        read = _image_rows(zipped, checkable, info.labels, info.input_names)
    except DataUnavailable as error:
        return SubmittedData(file.name, problem=str(error))
    plain_text.rows_left_out(read.problems, read.left_out)
    return SubmittedData(file.name, b"", columns, read.rows, zipped=zipped)


def _from_eraser(content: bytes, name: str, info: ModelInfo) -> SubmittedData:
    try:
        part = _part(content, name, "")
        if len(part.parts) > 1:
            chosen = st.selectbox("Part", part.parts, index=part.parts.index(part.split), key="eraser part")
            part = _part(content, name, chosen or part.split)
        unknown = part.unknown_labels(info.labels, info.input_names) if info.labels else ()
        columns = labelled_rows.Columns(
            label="label", rationale="rationale", classes=_boxes(unknown, name, info.labels)
        )
        read = _eraser_rows(content, name, part.split, columns.classes, info.labels, info.input_names)
    except DataUnavailable as error:
        return SubmittedData(name, content, problem=str(error))
    plain_text.rows_left_out(read.problems, read.left_out)
    return SubmittedData(name, content, columns, read.rows, format=set_spec.ERASER, split=part.split)


def _column_boxes(present: tuple[str, ...], longest: str, labelled: str, info: ModelInfo) -> labelled_rows.Columns:
    chosen = column_boxes(
        evaluate_state(),
        "",
        present,
        info,
        longest=longest,
        labelled=labelled,
        rationale=not info.multimodal,
        about_ids=ABOUT_IDS,
    )
    if not info.labels and chosen["label"]:
        st.caption("The labels are checked when the model is loaded.")
    return labelled_rows.Columns(
        chosen["text"],
        chosen.get("pair", ""),
        chosen["label"],
        chosen["id"],
        rationale=chosen.get("rationale", ""),
        image=chosen.get("image", ""),
    )


def _class_boxes(
    content: bytes, name: str, columns: labelled_rows.Columns, info: ModelInfo
) -> tuple[tuple[str, str], ...]:
    """Draw a box for each label that the model calls otherwise; return those that have a class."""
    if not columns.label or not info.labels:
        return ()
    try:
        unknown = _unknown(content, name, columns.label, info.labels)
    except DataUnavailable:  # said where the rows are read
        return ()
    return _boxes(unknown, columns.label, info.labels)


def _boxes(unknown: Sequence[str], column: str, labels: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    if not 0 < len(unknown) <= MOST_UNKNOWN:
        return ()
    st.caption("These labels name no class of the model for sure. Check the class of each:")
    unknown = sorted(unknown, key=int) if all(label.isdecimal() for label in unknown) else unknown
    chosen = {}
    for start in range(0, len(unknown), 3):
        for cell, label in zip(st.columns(3), unknown[start : start + 3], strict=False):
            with cell:
                probable = cells.probable_class(label, labels)
                plain_text.caption(f"“{one_line(label, 30)}” is")
                chosen[label] = st.selectbox(
                    plain_text.label(f"The label {label} is", "The label is"),
                    (LEFT_OUT, *labels),
                    index=labels.index(probable) + 1 if probable else 0,
                    label_visibility="collapsed",
                    key=f"class {column} {label}",
                )
    return tuple((label, called) for label, called in chosen.items() if called != LEFT_OUT)


def _parsed(name: str, content: bytes, columns: labelled_rows.Columns, info: ModelInfo) -> SubmittedData:
    labelled = columns if info.labels else replace(columns, label="", classes=())
    try:
        read = _rows(content, name, labelled, info.labels, info.input_names)
    except DataUnavailable as error:
        return SubmittedData(name, content, columns, problem=str(error))
    plain_text.rows_left_out(read.problems, read.left_out)
    return SubmittedData(name, content, columns, read.rows)


def _preview(data: SubmittedData, labels: Sequence[str]) -> None:
    if data.problem:
        plain_text.error(data.problem)
    if not data.rows:
        return
    labelled = sum(row.label is not None for row in data.rows)
    marked = sum(any(map(any, row.rationale)) for row in data.rows)
    marks = f", {marked:,} with marks of people" if data.columns.rationale else ""
    st.caption(
        f"**{counted(len(data.rows), 'row')}**, {labelled:,} with a label{marks}. "
        f"The first {min(PREVIEW, len(data.rows))}:"
    )
    columns = ["id", "text", *(name for name in ("pair", "image", "label") if getattr(data.columns, name))]
    shown = [{**vars(row), "label": None if row.label is None else labels[row.label]} for row in data.rows[:PREVIEW]]
    frame = pd.DataFrame(shown, columns=columns)
    st.dataframe(frame, hide_index=True, key="preview", alt="The first rows")


def _examples(model: str) -> bytes:
    """Return the embedded examples of a model as JSON lines; empty where there are none of texts alone."""
    chosen = [
        example for example in curated_examples() if example.model == model and example.text and not example.image
    ]
    lines = [
        json.dumps({"text": example.text, **({"pair": example.pair} if example.pair else {})}) for example in chosen
    ]
    return "\n".join(lines).encode()


@lru_cache(maxsize=4)
def _labelled(content: bytes, name: str, labels: tuple[str, ...]) -> str:
    return labelled_column(content, name, labels)


@lru_cache(maxsize=4)
def _unknown(content: bytes, name: str, column: str, labels: tuple[str, ...]) -> tuple[str, ...]:
    return labelled_rows.unknown_labels(content, name, column, labels)


@lru_cache(maxsize=2)
def _zipped(content: bytes, name: str) -> ZippedTable:
    return zipped_table(content, name, labelled_rows.TABLES)


@lru_cache(maxsize=2)
def _image_rows(
    zipped: ZippedTable, columns: labelled_rows.Columns, labels: tuple[str, ...], input_names: tuple[str, ...]
) -> labelled_rows.ReadRows:
    return labelled_rows.read_rows(zipped.content, zipped.name, columns, labels, input_names, images=zipped)


@lru_cache(maxsize=4)
def _part(content: bytes, name: str, split: str) -> eraser_rows.EraserPart:
    return eraser_rows.eraser_part(content, name, split)


@lru_cache(maxsize=4)
def _eraser_rows(
    content: bytes,
    name: str,
    split: str,
    classes: tuple[tuple[str, str], ...],
    labels: tuple[str, ...],
    input_names: tuple[str, ...],
) -> labelled_rows.ReadRows:
    return _part(content, name, split).rows(labels, input_names, classes)


@lru_cache(maxsize=4)
def _rows(
    content: bytes, name: str, columns: labelled_rows.Columns, labels: tuple[str, ...], input_names: tuple[str, ...]
) -> labelled_rows.ReadRows:
    return labelled_rows.read_rows(content, name, columns, labels, input_names)
