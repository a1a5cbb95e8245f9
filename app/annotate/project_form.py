"""The form for a new project: model, data, tasks and methods, people.

The model decides what people can be asked, and about which methods and narrators. A task that it cannot serve is
disabled with the reason.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import streamlit as st

from app import model_pool, plain_text
from app.annotate import data_files, preparation, projects
from app.annotate.projects import LONGEST_NAME, NEEDS_MAPS, NEEDS_SENTENCES, ORDER, TITLES, Project, ProjectSpec
from app.annotate.state import annotate_state
from app.components import uploaded
from app.model_info import ModelInfo, model_box, model_info
from app.server.login import Account
from app.session import put, value_of
from app.store import Store
from app.train.column_box import column_boxes, warn_of_lost_text, warn_of_unread_pair
from explainers.annotations.formats.tables import Columns
from explainers.annotations.records import Annotation, Item, Task
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS, MethodSpec
from explainers.report.wording import counted, one_line
from explainers.training.artifacts import check_fitted, runnable_narrators

QUESTIONS: dict[Task, str] = {
    "mark": "Which answer is right, and from which words or patches does it follow?",
    "simulate": "What did the model answer? People see a map without the answer.",
    "read": "Does the reason in your file hold: is it grammatical, true, does it support its class?",
    "rank": "Which map convinces most?",
    "rate": "Is the sentence about the input and the answer, is it good language?",
    "inspect": "Are the units in a method's top 20 % the evidence?",
    "correct": "What should the generated sentence say?",
}
NO_NARRATOR = "Not with this model: no narrator is fitted to it, so it has no sentences."
NO_REASONS = "Only with a file of your own that has reasons, in the columns reason and class."
ONLY_READ = "The model cannot read this file. {fault}"
SEVERAL_REASONS = (
    "Not with this file: it has several reasons about one input, so reading them stands alone. Other tasks could give "
    "the model's answer away."
)
ONE_CLASS = "Not with this model: it has a single class, so there is nothing to guess."
UNFITTED = "Not fitted to this model, so without maps: {names}. Fit them on the Train page."
PER_ITEM = (
    "Guessing, checking and correcting ask about so many methods of an item, drawn for every person and item. With all "
    "of them, people judge the same maps, which agreement needs; but a guess may then rest on the maps before it."
)
TO_RANK = "So many maps are drawn for every item, the same for everybody. More of them are hard to keep apart."
FILES = "Files of your own"
FILES_KEY = "project files"
MEGABYTES = 10
SENTENCES_SHOWN = 5  # about rows that are left out
SHOWN = 80  # characters of the first text
OURS = {"pair": "text_pair"}  # columns that records call otherwise
FORMATS = (
    "A table (.csv, .tsv, .parquet) or lines of JSON with a column of texts, for pairs two; ids and labels are kept. "
    "For reasons to read, also reason and class; who wrote them (writer) is never shown to readers. "
    "Also ERASER (.zip, .tar.gz, .tgz or .tar), doccano (.jsonl), Label Studio (.json), and "
    "downloads of this page with all annotations. For images, add their files and a column with their names."
)
BLIND = "Methods appear as letters, shuffled for every person and item, until you open the results."
OVERLAP = "How many people annotate each item. Agreement needs two or more."
GUIDELINE = "What is evidence, and what is not? Shown beside every item, as written here."


@dataclass(frozen=True)
class TaskChoice:
    """The fields of a `ProjectSpec` that the choice of tasks fills in."""

    tasks: tuple[Task, ...]
    methods: tuple[str, ...]
    narrators: tuple[str, ...]
    methods_per_item: int
    maps_to_rank: int


def choose_tasks(model: str, info: ModelInfo, read: data_files.ReadItems) -> TaskChoice:
    """Draw the tasks, and of what they need only what was chosen asks for."""
    runnable = runnable_narrators(model, info.version)
    offered = {spec.name: spec.id for spec in NARRATORS if spec.id in runnable}
    tasks = _tasks(impossible(info, read, narrators=bool(offered)), with_reasons=read.has_reasons)
    methods = _methods(model, info) if set(tasks) & set(NEEDS_MAPS) else ()
    narrators = _picked("Sentences of", "project narrators", offered) if set(tasks) & set(NEEDS_SENTENCES) else ()
    left, right = st.columns(2)
    with left:
        per_item = _methods_per_item(tasks, methods, narrators)
    with right if per_item is not None else left:
        to_rank = _maps_to_rank(methods) if "rank" in tasks else projects.MAPS_TO_RANK
    return TaskChoice(tasks, methods, narrators, per_item or 1, to_rank)


def impossible(info: ModelInfo, read: data_files.ReadItems, *, narrators: bool) -> dict[Task, str]:
    """Return the tasks that a model and the items cannot serve, each with the reason.

    `narrators`: whether one is fitted to the model.
    """
    reasons: dict[Task, str] = {} if narrators else dict.fromkeys(NEEDS_SENTENCES, NO_NARRATOR)
    reasons |= {"simulate": ONE_CLASS} if len(info.labels) == 1 else {}
    if read.several_reasons:
        reasons = dict.fromkeys(ORDER, SEVERAL_REASONS)
    if read.only_read:
        reasons = dict.fromkeys(ORDER, ONLY_READ.format(fault=read.only_read))
    reasons.pop("read", None)
    return reasons if read.has_reasons else {**reasons, "read": NO_REASONS}


def _tasks(reasons: Mapping[Task, str], *, with_reasons: bool) -> tuple[Task, ...]:
    """Return the ticked tasks; a file with reasons has ticks of its own, at first to read them."""
    st.markdown(":small[Tasks, asked in this order, row by row]")
    chosen: list[Task] = []
    default: Task = "read" if with_reasons else "mark"
    for number, task in enumerate(ORDER):
        if number % 2 == 0:
            places = st.columns(2)  # when the row before is there, which would otherwise push them down as it comes
        place = places[number % 2]
        key, reason = f"project task {task}{' of reasons' if with_reasons else ''}", reasons.get(task)
        ticked = value_of(key)
        put(key, not reason and (task == default if ticked is None else ticked))
        with place.container(gap=None):
            if st.checkbox(TITLES[task], key=key, disabled=bool(reason)):
                chosen.append(task)
            st.caption(reason or QUESTIONS[task])
    return tuple(chosen)


def _methods(model: str, info: ModelInfo) -> tuple[str, ...]:
    """Return the ids of the chosen methods, of those that can explain this model."""
    general = [spec for spec in METHODS if not spec.needs]
    unfitted = [spec.name for spec in general if not _is_fitted(spec, model, info.version)]
    offered = {spec.name: spec for spec in general if spec.name not in unfitted}
    default = [name for name, spec in offered.items() if spec.default and not spec.is_control]
    picked = _picked("Maps of", "project methods", {name: spec.id for name, spec in offered.items()}, default)
    if unfitted:
        plain_text.caption(UNFITTED.format(names=", ".join(unfitted)))
    return picked


def _is_fitted(spec: MethodSpec, model: str, version: str) -> bool:
    try:
        check_fitted(model, version, [spec])
    except ExplanationError:
        return False
    return True


def _picked(title: str, key: str, offered: Mapping[str, str], default: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the ids of the chosen names, by default all."""
    chosen = list(offered) if default is None else list(default)
    picked = st.pills(title, list(offered), selection_mode="multi", default=chosen, key=key)
    return tuple(offered[name] for name in picked or ())


def _methods_per_item(tasks: Sequence[Task], methods: Sequence[str], narrators: Sequence[str]) -> int | None:
    """Return about how many methods guessing, checking and correcting ask; None without a choice."""
    maps = len(methods) if set(tasks) & {"simulate", "inspect"} else 0
    most = min(max(maps, len(narrators) if "correct" in tasks else 0), projects.MOST_METHODS)
    if most < 2:
        return None
    return int(st.number_input("Methods per item", 1, most, 1, key="project methods per item", help=PER_ITEM))


def _maps_to_rank(methods: Sequence[str]) -> int:
    most = min(len(methods), projects.MOST_METHODS)
    if most < 3:
        return projects.MAPS_TO_RANK
    default = projects.MAPS_TO_RANK
    return int(st.number_input("Maps to rank per item", 2, most, default, key="project maps to rank", help=TO_RANK))


def new_project(
    store: Store, preparer: preparation.Preparer, pool: model_pool.ModelPool, account: Account
) -> Project | None:
    """Draw the form; return the project once it is made."""
    state = annotate_state()
    left, right = st.columns(2)
    with left:
        name = st.text_input("Name", max_chars=LONGEST_NAME, **state.widget("project_name"))
    with right:
        model = model_box(state)
    state.finish()
    info = model_info(pool, model)
    read = _data(model, info)
    asked = choose_tasks(model, info, read)
    _other_tasks(read.annotations, asked.tasks)
    guideline = st.text_area("Guideline", help=GUIDELINE, height=120, **state.widget("project_guideline"))
    left, right = st.columns(2, vertical_alignment="bottom")
    with left:
        overlap = st.number_input("People per item", 1, projects.MOST_OVERLAP, 2, key="project overlap", help=OVERLAP)
    with right:
        blind = st.toggle("Blind", value=True, key="project blind", help=BLIND)
    problem = st.container()  # above the button, which may be at the lower end of the window
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
            made = data_files.create_with_annotations(store, spec, read.items, read.annotations, account)
    except ExplanationError as error:
        with problem:
            plain_text.error(str(error))
        return None
    return made


def _source(model: str) -> str:
    chosen = str(value_of("project data") or FILES)
    return chosen if chosen == FILES else f"{model}: {chosen}"


def _data(model: str, info: ModelInfo) -> data_files.ReadItems:
    offered = (*data_files.sources(model, info.generator_noun), FILES)
    chosen = st.segmented_control(
        "Data",
        offered,
        required=True,
        **annotate_state().widget("project_data", options=offered, default=offered[0], initial="default"),
    )
    if chosen == FILES:
        return _files(info)
    count = 0
    if chosen == data_files.GENERATED:
        count = int(st.number_input("How many", 1, data_files.MOST_GENERATED, 40, key="project generated"))
    items = _embedded(model, chosen or "", info.labels, info.generator_noun, count)
    st.caption(f"{counted(len(items), 'item')}.")
    return data_files.ReadItems(items)


@st.cache_resource(show_spinner="Reading the examples", max_entries=4)
def _embedded(model: str, source: str, labels: tuple[str, ...], noun: str, count: int) -> tuple[Item, ...]:
    """Return the items of a source; they are never changed, so that all sessions share them."""
    return tuple(data_files.embedded_items(model, source, labels, noun, count))


def _files(info: ModelInfo) -> data_files.ReadItems:
    suffixes = [suffix.removeprefix(".") for suffix in data_files.SUFFIXES]
    given = uploaded("", suffixes, FILES_KEY, megabytes=MEGABYTES, several=True)
    st.caption(FORMATS)
    if not given:
        return data_files.ReadItems()
    try:
        data_files.check_sizes([file.size for file in given])
        files = data_files.by_name([(file.name, file.getvalue()) for file in given])
        parts = _splits(files)
        split = st.selectbox("Part", parts, key="project part") if parts else ""
        present, longest = _columns(files)
        columns = _column_boxes(present, longest, info)
        warn_of_lost_text(columns.get("text", ""), data_files.data_file(files))
        warn_of_unread_pair(columns.get("text", ""), present, info)
        read = _read(files, info.input_names, info.labels, info.multimodal, split or "", columns)
    except ExplanationError as error:
        plain_text.error(str(error))
        return data_files.ReadItems()
    _summary(read)
    return read


def _column_boxes(present: tuple[str, ...], longest: str, info: ModelInfo) -> Columns:
    """Draw a box for each column that is needed or can be there; return what was chosen, by our names."""
    if not present:
        return {}
    chosen = column_boxes(annotate_state(), "annotate_", present, info, longest=longest)
    return {OURS.get(kind, kind): column for kind, column in chosen.items()}


@st.cache_data(show_spinner="Reading the files", max_entries=2, scope="session")
def _read(
    files: data_files.Files,
    input_names: tuple[str, ...],
    classes: tuple[str, ...],
    multimodal: bool,
    split: str,
    columns: Columns,
) -> data_files.ReadItems:
    return data_files.read_items(files, input_names, classes, multimodal=multimodal, split=split, columns=columns)


@st.cache_data(show_spinner=False, max_entries=2, scope="session")
def _columns(files: data_files.Files) -> tuple[tuple[str, ...], str]:
    return data_files.free_columns(files)


@st.cache_data(show_spinner=False, max_entries=2, scope="session")
def _splits(files: data_files.Files) -> tuple[str, ...]:
    return data_files.splits(files)


def _summary(read: data_files.ReadItems) -> None:
    came = f", with {counted(len(read.annotations), 'annotation')}" if read.annotations else ""
    first = f" The first: “{one_line(read.items[0].example.text, SHOWN)}”" if read.items else ""
    plain_text.caption(f"{counted(len(read.items), 'item')}{came}.{first}")
    if read.left_out:
        more = len(read.left_out) - SENTENCES_SHOWN
        count = len(read.left_out)
        head = "1 row is left out:" if count == 1 else f"{count:,} rows are left out:"
        lines = [head, *read.left_out[:SENTENCES_SHOWN]]
        plain_text.warning("\n".join(lines + ([f"and {more:,} more"] if more > 0 else [])))
    for note in read.notes:
        plain_text.warning(note)


def _other_tasks(given: Sequence[Annotation], tasks: tuple[Task, ...]) -> None:
    """Return which annotations of the files are of tasks that are not chosen."""
    counts = Counter(annotation.task for annotation in given if annotation.task not in tasks)
    if counts:
        named = ", ".join(f"{TITLES[task]} ({count:,})" for task, count in counts.items())
        plain_text.warning(f"Annotations of tasks that are not chosen are left out: {named}.")
