"""Rows from a person's file: scores that another program made, and the marks of people that came with texts.

A row appears where the input that is explained is one of the file's. The file stays with the session, also while
another page is shown, until it is replaced or removed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from app import plain_text
from app.compare import url_state
from explainers.annotations.foreign_attributions import people_spec
from explainers.annotations.formats.archives import is_archive, read_archive
from explainers.annotations.formats.items_file import parse_items
from explainers.annotations.formats.scores_file import read_scores
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.methods.spec import MethodSpec

TYPES = ["jsonl", "json", "csv", "tsv", "parquet", "zip", "gz", "tgz"]
PART, INPUT, STATE = "row part", "row input", "file rows"  # in the session
UPLOADERS = "row uploaders"  # how many were emptied: only another key empties one
PREFERRED_PART, NAME_LENGTH, LISTED = "test", 60, 3
LABEL = "Scores or marks"
HELP = (
    "Scores that another program made (JSON lines, or ERASER's results with their documents), or texts with people's "
    "marks (ERASER, doccano, Label Studio, tables). They become rows where the input is one of the file's."
)
NONE_HERE = "The input above is not in the file. Choose one of its inputs."
NOTHING = "The file has no scores, and no texts with marks."
Input = tuple[str, str]  # both texts, the second empty where there is none


@dataclass(frozen=True)
class FileRows:
    """The rows of every input of a file, its parts if it is an archive with several, and sentences about bad rows."""

    rows: Mapping[Input, tuple[MethodSpec, ...]]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class RowFile:
    """An uploaded file; `problem` is a sentence where it cannot be used."""

    name: str
    content: bytes
    parts: tuple[str, ...] = ()
    part: str = ""
    read: FileRows | None = None
    problem: str = ""


def controls() -> None:
    """The uploader, and which input of the file to explain."""
    with st.expander("Rows from a file"):
        st.file_uploader(LABEL, TYPES, key=_uploader(), on_change=_uploaded, help=HELP)
        file: RowFile | None = st.session_state.get(STATE)
        if file is None:
            return
        if file.parts:
            st.selectbox("Part", file.parts, index=file.parts.index(file.part), key=PART, on_change=_part_chosen)
        if file.problem:
            plain_text.error(file.problem)
        if file.read is not None:
            _inputs(file.read)
        st.button("Remove the file", key="remove row file", on_click=_removed)


def rows(example: Example) -> tuple[MethodSpec, ...]:
    """The rows of the file for this input."""
    file: RowFile | None = st.session_state.get(STATE)
    if file is None or file.read is None:
        return ()
    return file.read.rows.get((example.text, example.pair or ""), ())


def read_rows(name: str, content: bytes, part: str = "") -> FileRows:
    """Raises `DataUnavailable` for a file that has neither scores nor marks."""
    collected: dict[Input, tuple[MethodSpec, ...]] = {}
    scores = read_scores(content, name, part)
    if scores is not None:
        problems = scores.problems()
        pairs = [(each.example, each.spec) for each in scores.attributions]
    else:
        imported = parse_items(content, name, part)
        problems = imported.problems()
        specs = [(item.example, people_spec(item.example, item.rationale or ())) for item in imported.items]
        pairs = [(example, spec) for example, spec in specs if spec is not None]
    for example, spec in pairs:
        key = example.text, example.pair or ""
        collected[key] = (*collected.get(key, ()), spec)
    if not collected:
        raise DataUnavailable(" ".join([NOTHING, *problems[:1]]))
    return FileRows(collected, problems)


def opened(name: str, content: bytes, part: str = "") -> RowFile:
    """The file as it is read, or with the sentence why it cannot be."""
    parts: tuple[str, ...] = ()
    try:
        if is_archive(name):
            parts = tuple(sorted(read_archive(content, name).splits))
            part = part or (PREFERRED_PART if PREFERRED_PART in parts else parts[0])
        return RowFile(name, content, parts, part, read_rows(name, content, part))
    except DataUnavailable as error:
        return RowFile(name, content, parts, part, problem=str(error))


def _inputs(read: FileRows) -> None:
    inputs = list(read.rows)
    names = [" / ".join(filter(None, each)).replace("\n", " ") for each in inputs]
    st.selectbox(
        "Input",
        range(len(inputs)),
        format_func=lambda number: f"{number + 1}. {names[number][:NAME_LENGTH]}",
        key=INPUT,
    )
    st.button("Explain this input", key="explain row input", on_click=_input_chosen)
    text, pair = (st.session_state.get(name, "") for name in url_state.TEXTS)
    if (text, pair) not in read.rows and (text, "") not in read.rows:
        st.caption(NONE_HERE)
    if read.problems:
        plain_text.bullets((*read.problems[:LISTED], *(["…"] if len(read.problems) > LISTED else [])))


def _uploader() -> str:
    return f"row file {st.session_state.get(UPLOADERS, 0)}"


def _uploaded() -> None:
    file = st.session_state[_uploader()]
    _forget()
    if file is not None:
        st.session_state[STATE] = opened(file.name, file.getvalue())


def _part_chosen() -> None:
    file: RowFile = st.session_state[STATE]
    st.session_state[STATE] = opened(file.name, file.content, st.session_state[PART])


def _input_chosen() -> None:
    file: RowFile = st.session_state[STATE]
    if file.read is not None:
        url_state.own_texts(list(file.read.rows)[st.session_state[INPUT]])


def _removed() -> None:
    _forget()
    st.session_state[UPLOADERS] = st.session_state.get(UPLOADERS, 0) + 1


def _forget() -> None:
    for name in (STATE, PART, INPUT):
        st.session_state.pop(name, None)
