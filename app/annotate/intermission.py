"""What an annotator sees while there is no item to work on, and what can be downloaded.

An item is being prepared, or nothing is left. One's own work can be downloaded at any time, everybody's once the owner
has opened the results.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from app import plain_text
from app.annotate import answers, disputes, payload, people, preparation, projects
from app.annotate.projects import Project
from app.annotate.state import Reply, annotate_state
from app.store import Store
from explainers.annotations import opinions, records
from explainers.annotations.formats.items_file import EXPORTS, ExportFormat
from explainers.errors import ExplanationError

OWN = "own annotations"
WITHOUT_NAMES = "Methods have stand-in names here, because this project is blind until its results are opened."
MARKS = "Yes, no or ? for each sentence, a table per reader, as the command `study readings-table` reads it."
LOOK = 1.0  # seconds between two looks at an item that is being prepared
SKELETON = 380  # pixels; with the sentence above it as tall as `.crosslight-annotate` is at least
WAITING = "The model is reading this item. It opens by itself; a long text may take some minutes."
WITHOUT_MODEL = "This item is being prepared. It opens by itself."
FINISHED = "All items are done. Thank you."
NO_MORE = "No other item is left for you. Confirmed: {done:,}, skipped: {skipped:,}. Thank you."
BACK = "Returns to your last answer. It stays until you confirm another."
NOTHING = "No item is left for you: others have taken the remaining ones."


def downloads(store: Store, project: Project) -> None:
    """Draw the downloads of everybody's work with the owner's decisions; nothing before the results are opened."""
    if project.opened is None:
        return
    st.subheader("Download", anchor=False)

    def everything() -> tuple[list[records.Item], list[records.Annotation]]:
        known = projects.all_items(store, project.id)
        return [item for _, item, _ in known.values()], all_annotations(store, project, known)

    _buttons("all", project, everything)
    if "read" in project.tasks:
        _marks(
            "all",
            f"marks-{project.id}.zip",
            lambda: opinions.marks_archive(project.spec.name, answers.annotations(store, project)),
        )


def own_download(store: Store, project: Project, annotator: int) -> None:
    """Draw the download of what this person confirmed, with stand-in names for methods while the project is blind."""
    with st.container(key="own-work"), st.popover("Download my annotations", type="tertiary"):
        if project.hides_methods:
            st.caption(WITHOUT_NAMES)
        _buttons(OWN, project, lambda: own_work(store, project, annotator))
        if "read" in project.tasks:
            name = people.names(store, project.id)[annotator]
            _marks(
                OWN,
                opinions.marks_name(project.spec.name, name),
                lambda: opinions.marks_csv(answers.annotations(store, project), name).encode(),
            )


def own_work(store: Store, project: Project, annotator: int) -> tuple[list[records.Item], list[records.Annotation]]:
    """Return what this person may download: the items without their reasons' writers, and the own annotations."""
    name = people.names(store, project.id)[annotator]
    mine = [annotation for annotation in answers.annotations(store, project) if annotation.annotator == name]
    used = {annotation.item for annotation in mine}
    answered = projects.all_items(store, project.id, answered=True)
    listed = [without_writer(item) for id, (_, item, _) in answered.items() if id in used]
    return listed, [without_names(annotation, project) for annotation in mine] if project.hides_methods else mine


def _buttons(
    kind: str, project: Project, content: Callable[[], tuple[list[records.Item], list[records.Annotation]]]
) -> None:
    """Draw a button per format; a file is made when its button is pressed."""
    with st.container(horizontal=True):
        for export in EXPORTS:
            st.download_button(
                export.name,
                lambda export=export: _file(export, content),  # type: ignore[misc]
                f"annotations-{project.id}{_ending(export)}",
                key=f"download {kind} {export.id}",
                on_click="ignore",
            )


def _marks(kind: str, name: str, content: Callable[[], bytes]) -> None:
    """Draw a button for marks of reasons as `study readings-table` reads them."""
    st.download_button("Marks of reasons", content, name, key=f"download {kind} marks", on_click="ignore", help=MARKS)


def without_writer(item: records.Item) -> records.Item:
    """Return the item as its readers may have it."""
    return replace(item, reason=replace(item.reason, writer="")) if item.reason is not None else item


def _ending(format: ExportFormat) -> str:
    """Return the ending of a file's name; formats that share a suffix are told apart."""
    return format.suffix if format.suffix == f".{format.id}" else f"-{format.id}{format.suffix}"


def _file(format: ExportFormat, content: Callable[[], tuple[list[records.Item], list[records.Annotation]]]) -> bytes:
    return format.write(*content())


def all_annotations(
    store: Store, project: Project, known: Mapping[str, tuple[int, records.Item, object]]
) -> list[records.Annotation]:
    """Return everybody's annotations, and all decisions as versions of an annotator of their own."""
    names = {number: name for name, (number, _, _) in known.items()}
    return [
        *answers.annotations(store, project),
        *disputes.as_annotations(project, disputes.histories(store, project), names),
    ]


def without_names(annotation: records.Annotation, project: Project) -> records.Annotation:
    """Return the annotations with stand-in names in place of the methods'."""
    return replace(annotation, answer=_without_names(annotation.answer, project.salt))


def _without_names(answer: records.Answer | None, salt: str) -> records.Answer | None:
    match answer:
        case records.Ranked(methods=methods):
            return records.Ranked(tuple(payload.alias(id, salt) for id in methods))
        case records.Rated(scores=scores):
            return records.Rated(tuple(replace(score, method=payload.alias(score.method, salt)) for score in scores))
        case records.Several(answers=several):
            return records.Several(
                tuple(replace(annotation, method=payload.alias(annotation.method, salt)) for annotation in several)
            )
        case records.Simulated() | records.Inspected() | records.Corrected():
            return replace(answer, method=payload.alias(answer.method, salt))
        case _:
            return answer


def wait(store: Store, preparer: preparation.Preparer, project: Project, annotator: int, item: int) -> None:
    """Wait until the item is prepared, or show the reason why it cannot be."""
    st.fragment(run_every=LOOK)(_look)(store, preparer, project, item)
    skip_button(store, project, annotator, item)


def _look(store: Store, preparer: preparation.Preparer, project: Project, item: int) -> None:
    try:
        known = projects.item(store, item)
    except ExplanationError as error:
        plain_text.error(str(error))
        return
    if known is None or known[1] is not None:
        st.rerun(scope="app")
    problem = preparer.problems.get(item)
    if problem:
        plain_text.error(problem)
        st.button("Try again", key="prepare again", on_click=preparer.try_again, args=(item,))
    else:
        preparer.want([item])
        st.caption(WAITING if project.spec.asks_model else WITHOUT_MODEL)
        st.skeleton(height=SKELETON)


def finished(store: Store, project: Project, annotator: int) -> None:
    """Say that nothing is left, except what was skipped."""
    _last_problem()
    done = people.progress(store, project.id, annotator, project.spec.overlap)
    if done.done and done.done == project.items:
        plain_text.success(FINISHED)
    elif done.done or done.skipped:
        plain_text.success(NO_MORE.format(done=done.done, skipped=done.skipped))
    else:
        st.info(NOTHING)
    state = annotate_state()
    skipped, last = answers.skipped_items(store, annotator), answers.before(store, annotator, None)
    with st.container(horizontal=True):
        if skipped:
            label = f"Go through {len(skipped)} skipped"
            st.button(label, key="skipped items", on_click=state.revisit, args=(skipped[0],))
        if last is not None:
            st.button("Back", help=BACK, key="undo at end", on_click=state.revisit, args=(last,))
            own_download(store, project, annotator)


def skip_button(store: Store, project: Project, annotator: int, item: int) -> None:
    """Draw a button for an item that cannot be shown."""
    st.button("Skip this item", key="skip unread", on_click=_skip, args=(store, project, annotator, item))
    _last_problem()


def _last_problem() -> None:
    reply = annotate_state().reply
    if reply is not None and reply.problem:
        plain_text.error(reply.problem)


def _skip(store: Store, project: Project, annotator: int, item: int) -> None:
    try:
        stored = answers.latest(store, item, annotator)
        task = answers.next_task(stored, project.tasks) or project.tasks[0]
        version = next((annotation.version for annotation in stored if annotation.task == task), 0) + 1
        answers.confirm_new(store, project, annotator, answers.Confirmation(item, task, version, None))
        annotate_state().revisit(None)
    except ExplanationError as error:
        annotate_state().reply = Reply(problem=str(error))
