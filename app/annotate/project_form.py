"""The form for a new project: model, data, tasks and methods, people."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import streamlit as st

from app import plain_text
from app.annotate import embedded_data, projects
from app.annotate.data_files import SUFFIXES, Files, ReadItems, by_name, check_sizes, read_items, splits
from app.annotate.past_work import create_with_annotations
from app.annotate.preparation import Preparer
from app.annotate.projects import LONGEST_NAME, TITLES, Project, ProjectSpec
from app.annotate.task_form import choose_tasks
from app.login.account import Account
from app.model_info import ModelInfo, model_box, model_info
from app.model_pool import ModelPool
from app.store import Store
from explainers.annotations.records import Annotation, Item, Task
from explainers.errors import ExplanationError

FILES = "Files of your own"
MEGABYTES = 10
SENTENCES_SHOWN = 5  # about rows that are left out
FORMATS = (
    "A table (.csv, .tsv, .parquet) or lines of JSON with a column text, for pairs premise and hypothesis; id and "
    "label are kept. Also ERASER (.zip, .tar.gz, .tgz or .tar), doccano (.jsonl), Label Studio (.json), and "
    "downloads of this page with all annotations. For images, add their files and a column image with their names."
)
BLIND = "Methods appear as letters, shuffled for every person and item, until you open the results."
OVERLAP = "How many people annotate each item. Agreement needs two or more."
GUIDELINE = "What is evidence, and what is not? Shown beside every item, as written here."


def new_project(store: Store, preparer: Preparer, pool: ModelPool, account: Account) -> Project | None:
    """Draws the form; returns the project once it is made."""
    left, right = st.columns(2)
    with left:
        name = st.text_input("Name", key="project name", max_chars=LONGEST_NAME)
    with right:
        model = model_box()
    info = model_info(pool, model)
    read = _data(model, info)
    asked = choose_tasks(model, info)
    _other_tasks(read.annotations, asked.tasks)
    guideline = st.text_area("Guideline", key="project guideline", help=GUIDELINE, height=120)
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        overlap = st.number_input("People per item", 1, projects.MOST_OVERLAP, 2, key="project overlap", help=OVERLAP)
    with right:
        blind = st.toggle("Blind", value=True, key="project blind", help=BLIND)
    if not st.button("Create the project", type="primary", key="create project"):
        return None
    try:
        spec = ProjectSpec(
            name or "",
            model,
            guideline or "",
            overlap=int(overlap),
            blind=blind,
            source=_source(model),
            **asdict(asked),
        )
        with st.spinner("Storing the items"):
            made = create_with_annotations(store, spec, read.items, read.annotations, account)
    except ExplanationError as error:
        plain_text.error(str(error))
        return None
    return made


def _source(model: str) -> str:
    chosen = str(st.session_state.get("project data", FILES))
    return chosen if chosen == FILES else f"{model}: {chosen}"


def _data(model: str, info: ModelInfo) -> ReadItems:
    offered = (*embedded_data.sources(model, info.generator_noun), FILES)
    if st.session_state.get("project data") not in offered:
        st.session_state["project data"] = offered[0]
    chosen = st.segmented_control("Data", offered, required=True, key="project data")
    if chosen == FILES:
        return _files(info)
    count = 0
    if chosen == embedded_data.GENERATED:
        count = int(st.number_input("How many", 1, embedded_data.MOST_GENERATED, 40, key="project generated"))
    items = _embedded(model, chosen or "", info.labels, info.generator_noun, count)
    st.caption(f"{len(items):,} items.")
    return ReadItems(items)


@st.cache_resource(show_spinner="Reading the examples", max_entries=4)
def _embedded(model: str, source: str, labels: tuple[str, ...], noun: str, count: int) -> tuple[Item, ...]:
    """Items are never changed, so that all sessions share them."""
    return tuple(embedded_data.embedded_items(model, source, labels, noun, count))


def _files(info: ModelInfo) -> ReadItems:
    given = st.file_uploader(
        "Files",
        type=[suffix.removeprefix(".") for suffix in SUFFIXES],
        accept_multiple_files=True,
        key="project files",
        max_upload_size=MEGABYTES,
        label_visibility="collapsed",
    )
    st.caption(FORMATS)
    if not given:
        return ReadItems()
    try:
        check_sizes([file.size for file in given])
        files = by_name([(file.name, file.getvalue()) for file in given])
        parts = _splits(files)
        split = st.selectbox("Part", parts, key="project part") if parts else ""
        read = _read(files, info.input_names, info.labels, info.multimodal, split or "")
    except ExplanationError as error:
        plain_text.error(str(error))
        return ReadItems()
    _summary(read)
    return read


@st.cache_data(show_spinner="Reading the files", max_entries=2, scope="session")
def _read(
    files: Files, input_names: tuple[str, ...], classes: tuple[str, ...], multimodal: bool, split: str
) -> ReadItems:
    return read_items(files, input_names, classes, multimodal=multimodal, split=split)


@st.cache_data(show_spinner=False, max_entries=2, scope="session")
def _splits(files: Files) -> tuple[str, ...]:
    return splits(files)


def _summary(read: ReadItems) -> None:
    came = f", with {len(read.annotations):,} annotations" if read.annotations else ""
    st.caption(f"{len(read.items):,} items{came}.")
    if read.left_out:
        more = len(read.left_out) - SENTENCES_SHOWN
        count = len(read.left_out)
        head = "1 row is left out:" if count == 1 else f"{count:,} rows are left out:"
        lines = [head, *read.left_out[:SENTENCES_SHOWN]]
        plain_text.warning("\n".join(lines + ([f"and {more:,} more"] if more > 0 else [])))


def _other_tasks(given: Sequence[Annotation], tasks: tuple[Task, ...]) -> None:
    """Which annotations of the files are of tasks that are not chosen."""
    counts = Counter(each.task for each in given if each.task not in tasks)
    if counts:
        named = ", ".join(f"{TITLES[task]} ({count:,})" for task, count in counts.items())
        plain_text.warning(f"Annotations of tasks that are not chosen are left out: {named}.")
