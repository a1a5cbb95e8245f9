"""Files that open on the Compare page: rows of scores and of people's marks, and the view in an export.

A row appears where the input that is explained is one of the file's. The file stays with the session, also while
another page is shown, until it is replaced or removed.

The content of the file may be pasted as the text, or the file given where rows from a file are.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from app import plain_text
from app.compare.row_file import FileRows, RowFile
from app.compare.state import OWN_IMAGE, CompareState, compare_state
from app.compare.stored_results import OWN_TEXT, is_image_name, named
from app.session import value_of
from explainers.annotations.formats.archives import is_archive, read_archive
from explainers.annotations.formats.attributions_file import people_spec, read_scores
from explainers.annotations.formats.items_file import parse_items
from explainers.datasets.example import Example
from explainers.datasets.tables import parsed_json
from explainers.errors import DataUnavailable
from explainers.methods.registry import MethodSpec
from explainers.results.manifest import strict_json

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

TYPES = ["jsonl", "json", "csv", "tsv", "parquet", "zip", "gz", "tgz"]
PREFERRED_PART, NAME_LENGTH, LISTED = "test", 60, 3
LABEL = "Scores, marks, or a JSON export"
HELP = (
    "Scores that another program made (JSON lines, or ERASER's results with their documents), or texts with people's "
    "marks (ERASER, doccano, Label Studio, tables). They become rows where the input is one of the file's. The JSON "
    "export of this page opens the page that it was saved from."
)
NONE_HERE = "The input above is not in the file. Choose one of its inputs."
NOTHING = "The file has no scores, and no texts with marks."

JSON = re.compile(r'\s*[\[{]\s*(["\[{]|-?\d[\d.]*\s*(,|\]\s*$))')  # how lists and objects begin
JSON_AS_TEXT = "The text is JSON and is explained as it stands. A JSON export opens its page only where it is whole."
NO_IMAGE = "The JSON export does not hold your own image. Give the image again."


def controls() -> None:
    """The uploader, and which input of the file to explain."""
    with st.expander("Rows from a file"):
        state = compare_state()
        st.file_uploader(LABEL, TYPES, key=_uploader(state), on_change=_uploaded, help=HELP)
        file = state.row_file
        if file is None:
            return
        if file.parts:
            st.selectbox(
                "Part", file.parts, index=file.parts.index(file.part), key=_part(state), on_change=_part_chosen
            )
        if file.problem:
            plain_text.error(file.problem)
        if file.read is not None:
            _inputs(file.read, state)
        st.button("Remove the file", key="remove row file", on_click=_removed)


def rows(example: Example) -> tuple[MethodSpec, ...]:
    """The rows of the file for this input."""
    file = compare_state().row_file
    if file is None or file.read is None:
        return ()
    return file.read.rows.get((example.text, example.pair or ""), ())


def read_rows(name: str, content: bytes, part: str = "") -> FileRows:
    """Raises `DataUnavailable` for a file that has neither scores nor marks."""
    collected: dict[tuple[str, str], tuple[MethodSpec, ...]] = {}
    scores = read_scores(content, name, part)
    if scores is not None:
        problems = scores.problems()
        pairs = [(attribution.example, attribution.spec) for attribution in scores.attributions]
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


def _inputs(read: FileRows, state: CompareState) -> None:
    inputs = list(read.rows)
    names = [" / ".join(filter(None, texts)).replace("\n", " ") for texts in inputs]
    st.selectbox(
        "Input",
        range(len(inputs)),
        format_func=lambda number: f"{number + 1}. {names[number][:NAME_LENGTH]}",
        key=_input(state),
    )
    st.button("Explain this input", key="explain row input", on_click=_input_chosen)
    text, pair = state.controls.texts
    if (text, pair) not in read.rows and (text, "") not in read.rows:
        st.caption(NONE_HERE)
    if read.problems:
        plain_text.bullets((*read.problems[:LISTED], *(["…"] if len(read.problems) > LISTED else [])))


def _uploader(state: CompareState) -> str:
    return f"row file {state.row_files_removed}"


def _part(state: CompareState) -> str:
    return f"row part {state.row_files}"


def _input(state: CompareState) -> str:
    return f"row input {state.row_files}"


def _uploaded() -> None:
    state = compare_state()
    file = value_of(_uploader(state))
    is_json = file is not None and file.name.lower().endswith(".json")
    view = view_of(file.getvalue().decode("utf-8", "replace")) if is_json else None
    if view is not None:
        open_view(state, view)
        state.row_files_removed += 1  # the box is empty again
        return
    state.row_file = opened(file.name, file.getvalue()) if file is not None else None
    state.row_files += 1


def _part_chosen() -> None:
    state = compare_state()
    if state.row_file is not None:
        state.row_file = opened(state.row_file.name, state.row_file.content, value_of(_part(state)))


def _input_chosen() -> None:
    state = compare_state()
    if state.row_file is not None and state.row_file.read is not None:
        state.own_texts(list(state.row_file.read.rows)[value_of(_input(state))])


def _removed() -> None:
    state = compare_state()
    state.row_file = None
    state.row_files_removed += 1


def json_with_view(comparison: "Comparison", view: dict[str, Any]) -> str:
    """Return the comparison as JSON, with the controls of the page as `view`."""
    return strict_json({**comparison.as_dict(), "view": view})


def view_of(content: str) -> Mapping[str, Any] | None:
    """Return the `view` of a JSON export; None for everything else."""
    if not content.lstrip().startswith("{") or '"view"' not in content:
        return None
    try:
        read = parsed_json(content)
    except DataUnavailable:
        return None
    view = read.get("view")
    return view if isinstance(view, dict) and isinstance(view.get("text"), str) else None


def open_view(state: CompareState, view: Mapping[str, Any]) -> None:
    """Bring back the page with these controls; what is not available here is named, as it is for an address."""
    model, image = state.controls.model, state.controls.picture
    state.restore(view)
    controls, curated = state.controls, named(state.controls.example)
    own = curated is None or curated.texts != controls.texts
    state.change(
        model=controls.model or model,
        example=OWN_TEXT if own else controls.example,
        picture=controls.picture if is_image_name(controls.picture) else image,
    )
    if controls.picture == OWN_IMAGE:
        state.note("picture", NO_IMAGE)


def text_changed(state: CompareState) -> None:
    """Takes what a person wrote: a text, or the content of a JSON export."""
    view = next(filter(None, map(view_of, state.controls.texts)), None)
    if view is not None:
        open_view(state, view)
        return
    state.text_changed()
    if any(map(JSON.match, state.controls.texts)):
        state.note("text", JSON_AS_TEXT)
