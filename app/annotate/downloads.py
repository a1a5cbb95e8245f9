"""What can be downloaded: one's own work at any time, everybody's once the owner has opened the results."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from app.annotate import answers, blinding, items, people
from app.annotate.decisions import as_annotations, histories
from app.annotate.projects import Project
from app.store import Store
from explainers.annotations.formats.items_file import EXPORTS, ExportFormat
from explainers.annotations.records import (
    Annotation,
    Answer,
    Corrected,
    Inspected,
    Item,
    Ranked,
    Rated,
    Several,
    Simulated,
)

OWN = "own annotations"
WITHOUT_NAMES = "Methods have stand-in names here, because this project is blind until its results are opened."


def downloads(store: Store, project: Project) -> None:
    """Of everybody's work, with the owner's decisions; nothing before the results are opened."""
    if project.opened is None:
        return
    st.subheader("Download", anchor=False)

    def everything() -> tuple[list[Item], list[Annotation]]:
        known = items.all_items(store, project.id)
        return [item for _, item, _ in known.values()], all_annotations(store, project, known)

    _buttons("all", project, everything)


def own_download(store: Store, project: Project, annotator: int) -> None:
    """What this person confirmed, with stand-in names for methods while the project is blind."""
    with st.container(key="own-work"), st.popover("Download my annotations", type="tertiary"):
        if project.hides_methods:
            st.caption(WITHOUT_NAMES)

        def own() -> tuple[list[Item], list[Annotation]]:
            name = people.names(store, project.id)[annotator]
            mine = [each for each in answers.annotations(store, project) if each.annotator == name]
            used = {each.item for each in mine}
            listed = [
                item for id, (_, item, _) in items.all_items(store, project.id, answered=True).items() if id in used
            ]
            return listed, [without_names(each, project) for each in mine] if project.hides_methods else mine

        _buttons(OWN, project, own)


def _buttons(kind: str, project: Project, content: Callable[[], tuple[list[Item], list[Annotation]]]) -> None:
    """One per format; a file is made when its button is pressed."""
    with st.container(horizontal=True):
        for each in EXPORTS:
            st.download_button(
                each.name,
                lambda each=each: _file(each, content),  # type: ignore[misc]
                f"annotations-{project.id}{_ending(each)}",
                key=f"download {kind} {each.id}",
                on_click="ignore",
            )


def _ending(format: ExportFormat) -> str:
    """Of a file's name. Formats that share a suffix are told apart."""
    return format.suffix if format.suffix == f".{format.id}" else f"-{format.id}{format.suffix}"


def _file(format: ExportFormat, content: Callable[[], tuple[list[Item], list[Annotation]]]) -> bytes:
    return format.write(*content())


def all_annotations(store: Store, project: Project, known: Mapping[str, tuple[int, Item, object]]) -> list[Annotation]:
    """Everybody's, and all decisions as versions of an annotator of their own."""
    names = {number: name for name, (number, _, _) in known.items()}
    return [*answers.annotations(store, project), *as_annotations(project, histories(store, project), names)]


def without_names(annotation: Annotation, project: Project) -> Annotation:
    """With stand-in names in place of the methods'."""
    return replace(annotation, answer=_without_names(annotation.answer, project.salt))


def _without_names(answer: Answer | None, salt: str) -> Answer | None:
    match answer:
        case Ranked(methods=methods):
            return Ranked(tuple(blinding.alias(id, salt) for id in methods))
        case Rated(scores=scores):
            return Rated(tuple(replace(each, method=blinding.alias(each.method, salt)) for each in scores))
        case Several(answers=several):
            return Several(tuple(replace(each, method=blinding.alias(each.method, salt)) for each in several))
        case Simulated() | Inspected() | Corrected():
            return replace(answer, method=blinding.alias(answer.method, salt))
        case _:
            return answer
