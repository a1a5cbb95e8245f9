"""What people confirm: stored in one transaction, counted once however often it is sent.

Of a file only those rows are answers that name known methods, each one once.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.annotate import people, projects
from app.annotate.tables import DECIDED_BY, AnnotatorRow, AnswerRow, ItemRow, method_name
from app.store import Store
from explainers.annotations import record_json, records
from explainers.errors import ExplanationError

LONGEST_COMMENT = 2_000  # characters
LONGEST_TIME = 86_400.0  # seconds for one task
CONFIRMED = "You had already confirmed this item; this answer was not stored. Press Back to change it."
GONE = "This item is not yours any more. Nothing was lost: go on with the next one."


@dataclass(frozen=True)
class Confirmation:
    """What a person sends with an answer.

    `answer` is None where the item is skipped. `own_class` is the name of the class for which evidence was marked, ""
    in other tasks.
    """

    item: int
    task: records.Task
    version: int
    answer: records.Answer | None
    seconds: float = 0.0
    flagged: bool = False
    comment: str = ""
    own_class: str = ""


@dataclass(frozen=True)
class Stored:
    """An answer of a person as it is in the store."""

    id: int
    item: int
    task: records.Task
    version: int
    answer: records.Answer | None
    flagged: bool
    comment: str
    own_class: str = ""


def confirm(store: Store, project: projects.Project, annotator: int, sent: Confirmation) -> bool:
    """Store an answer; return False where the same version was there already, which then stays.

    When this returns, the answer is in the store. Raises `ExplanationError` where the item is not this person's, and
    `StoreUnavailable`.
    """
    with store.begin() as session:
        if projects.locked(session, project.id) is None:
            raise ExplanationError("This project was deleted.")
        people.check_admitted(session, annotator)
        row = people.assigned(session, sent.item, annotator)
        if row is None or sent.task not in project.tasks:
            raise ExplanationError(GONE)
        expected = _versions(session, sent.item, annotator, sent.task) + 1
        if sent.version < expected:
            return False
        if sent.version > expected:
            raise ExplanationError(GONE)
        session.add(_row(project, annotator, sent))
        session.flush()
        _settle(session, project, annotator, sent)
    return True


def confirm_new(store: Store, project: projects.Project, annotator: int, sent: Confirmation) -> None:
    """Store as `confirm` does; raises `ExplanationError` also where this version is there with another content."""
    if confirm(store, project, annotator, sent):
        return
    row = _row(project, annotator, sent)
    with store.read() as session:
        query = select(AnswerRow).where(
            AnswerRow.item == sent.item,
            AnswerRow.annotator == annotator,
            AnswerRow.task == sent.task,
            AnswerRow.version == sent.version,
        )
        stored = session.scalars(query).one_or_none()
        if stored is None or _content(stored) != _content(row):
            raise ExplanationError(CONFIRMED)


def _content(row: AnswerRow) -> tuple[str, str, bool, str]:
    return row.answer, row.own_class, row.flagged, row.comment


def _settle(session: Session, project: projects.Project, annotator: int, sent: Confirmation) -> None:
    """Set the status of the item for this person after an answer."""
    row = people.assigned(session, sent.item, annotator)
    if sent.answer is None:
        people.release(session, sent.item, annotator)
        return
    if row is not None and row.status == "skipped":
        people.take(session, sent.item, annotator, project.spec.overlap)
    if row is not None and next_task(latest_of(session, sent.item, annotator), project.tasks) is None:
        row.status = "done"


def next_task(stored: Sequence[Stored], tasks: Sequence[records.Task]) -> records.Task | None:
    """Return the first task without an answer."""
    answered = {annotation.task for annotation in stored if annotation.answer is not None}
    return next((task for task in tasks if task not in answered), None)


def latest(store: Store, item: int, annotator: int) -> tuple[Stored, ...]:
    """Return the last version of each task that a person answered for an item."""
    with store.read() as session:
        return latest_of(session, item, annotator)


def latest_of(session: Session, item: int, annotator: int) -> tuple[Stored, ...]:
    query = select(AnswerRow).where(AnswerRow.item == item, AnswerRow.annotator == annotator)
    rows = {row.task: row for row in session.scalars(query.order_by(AnswerRow.version))}
    return tuple(_stored(row) for row in rows.values())


def before(store: Store, annotator: int, answer: int | None) -> Stored | None:
    """Return the number of the answer that this person confirmed before this one; of the last one without a number."""
    with store.read() as session:
        newest = (
            select(func.max(AnswerRow.id))
            .where(AnswerRow.annotator == annotator)
            .group_by(AnswerRow.item, AnswerRow.task)
        )
        query = select(AnswerRow).where(AnswerRow.annotator == annotator, AnswerRow.id.in_(newest))
        query = query if answer is None else query.where(AnswerRow.id < answer)
        row = session.scalar(query.order_by(AnswerRow.id.desc()).limit(1))
        return _stored(row) if row is not None else None


def skipped_items(store: Store, annotator: int) -> list[Stored]:
    """Return the answers by which a person has skipped items, the earliest first."""
    with store.read() as session:
        query = select(AnswerRow).where(AnswerRow.annotator == annotator).order_by(AnswerRow.id)
        newest = {row.item: row for row in session.scalars(query)}
        return [_stored(row) for row in sorted(newest.values(), key=lambda row: row.id) if row.skipped]


def annotations(store: Store, project: projects.Project) -> tuple[records.Annotation, ...]:
    """Return everything that was confirmed in a project, all versions, in the order of confirmation."""
    query = (
        select(AnswerRow, ItemRow.name, AnnotatorRow.name)
        .join(ItemRow, ItemRow.id == AnswerRow.item)
        .join(AnnotatorRow, AnnotatorRow.id == AnswerRow.annotator)
        .where(AnswerRow.project == project.id)
        .order_by(AnswerRow.id)
    )
    with store.read() as session:
        return tuple(_annotation(project, *row) for row in session.execute(query))


def _annotation(project: projects.Project, row: AnswerRow, item: str, annotator: str) -> records.Annotation:
    stored = _stored(row)
    return records.Annotation(
        project=project.spec.name,
        item=item,
        annotator=annotator,
        task=stored.task,
        version=row.version,
        seconds=row.seconds,
        confirmed=row.confirmed,
        answer=stored.answer,
        skipped=row.skipped,
        flagged=row.flagged,
        comment=row.comment,
        own_class=row.own_class,
    )


def _versions(session: Session, item: int, annotator: int, task: records.Task) -> int:
    query = select(func.max(AnswerRow.version)).where(
        AnswerRow.item == item, AnswerRow.annotator == annotator, AnswerRow.task == task
    )
    return session.scalar(query) or 0


def _row(project: projects.Project, annotator: int, sent: Confirmation) -> AnswerRow:
    return AnswerRow(**_values(project, annotator, sent))


def _values(project: projects.Project, annotator: int, sent: Confirmation) -> dict[str, Any]:
    """Return the columns of a row."""
    seconds = sent.seconds if math.isfinite(sent.seconds) else 0.0
    return {
        "project": project.id,
        "item": sent.item,
        "annotator": annotator,
        "task": sent.task,
        "version": sent.version,
        "answer": "" if sent.answer is None else json.dumps(record_json.answer_json(sent.answer), ensure_ascii=False),
        "skipped": sent.answer is None,
        "flagged": sent.flagged,
        "comment": sent.comment.replace("\x00", "")[:LONGEST_COMMENT],  # PostgreSQL keeps no zero character
        "own_class": sent.own_class.replace("\x00", ""),
        "seconds": min(max(seconds, 0.0), LONGEST_TIME),
    }


def imported(
    project: projects.Project, annotator: int, given: Confirmation, annotation: records.Annotation
) -> dict[str, Any]:
    """Return the columns of a row, with the moment at which it was confirmed elsewhere."""
    return {**_values(project, annotator, given), "confirmed": annotation.confirmed}


def _stored(row: AnswerRow) -> Stored:
    task = cast(records.Task, row.task)
    content: Any = json.loads(row.answer) if row.answer else None
    answer = record_json.read_answer(task, content) if content is not None else None
    return Stored(row.id, row.item, task, row.version, answer, row.flagged, row.comment, row.own_class)


def usable(given: Sequence[records.Annotation]) -> tuple[tuple[records.Annotation, ...], tuple[str, ...]]:
    """Return the annotations that can be stored, and a sentence for each other one."""
    kept: dict[tuple[str, str, str, int], records.Annotation] = {}
    left_out: list[str] = []
    for annotation in given:
        key = (annotation.item, annotation.annotator, annotation.task, annotation.version)
        fault = "it is there twice; the first one counts." if key in kept else _fault(annotation)
        if fault:
            left_out.append(
                f"Annotation ({annotation.task}) of item {annotation.item[:60]} by {annotation.annotator[:60]}: {fault}"
            )
        else:
            kept[key] = annotation
    return tuple(kept.values()), tuple(left_out)


def _fault(annotation: records.Annotation) -> str:
    if annotation.annotator == DECIDED_BY and annotation.answer is None:
        return "it is an owner's decision without an answer."
    for method in _methods(annotation.answer):
        try:
            method_name(method)
        except ExplanationError:
            return f"it judges {method[:60]!r}, which is no method here. Blind downloads have stand-in names."
    return ""


def _methods(answer: records.Answer | None) -> tuple[str, ...]:
    match answer:
        case records.Ranked(methods=methods):
            return methods
        case records.Rated(scores=scores):
            return tuple(score.method for score in scores)
        case records.Simulated() | records.Inspected() | records.Corrected() | records.Several():
            return tuple(single.method for single in records.one_method_answers(answer))
        case _:
            return ()
