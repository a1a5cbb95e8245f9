"""Who gets which item: the ones that the fewest people have, each at most as often as the project's overlap says.

The project's row is locked while an item is given away, so that two people never get the same last slot; the table
refuses it as well.
"""

import time
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from app.annotate.projects import locked
from app.annotate.tables import AnswerRow, AssignmentRow, ItemRow
from app.store import Store


@dataclass(frozen=True)
class Progress:
    """How far one person is: items confirmed, skipped, and in total, with the one begun and those that are free."""

    done: int
    skipped: int
    total: int


def current_item(store: Store, project: int, annotator: int) -> int | None:
    """Return the item on which a person works, a new one if none is open; None where nothing is left for them."""
    with store.read() as session:
        item = _open(session, annotator)
    if item is not None:
        return item
    with store.begin() as session:
        row = locked(session, project)
        item = _open(session, annotator)  # another tab of this person may have been quicker
        if row is None or item is not None:
            return item
        free = _free(session, project, annotator, row.overlap, 1)
        if not free:
            return None
        take(session, free[0], annotator, row.overlap)
        return free[0]


def upcoming(store: Store, project: int, annotator: int, overlap: int, count: int) -> list[int]:
    """Return the items that this person probably gets next."""
    with store.read() as session:
        return _free(session, project, annotator, overlap, count)


def take(session: Session, item: int, annotator: int, overlap: int) -> None:
    """Give the item to a person in the first free slot; without a slot where others have all of them."""
    used = set(session.scalars(select(AssignmentRow.slot).where(AssignmentRow.item == item)))
    slot = next((number for number in range(1, overlap + 1) if number not in used), None)
    row = session.scalar(select(AssignmentRow).where(AssignmentRow.item == item, AssignmentRow.annotator == annotator))
    if row is None:
        row = AssignmentRow(item=item, annotator=annotator)
        session.add(row)
    row.slot, row.status, row.changed = slot, "open", time.time()
    _count(session, item, +1 if slot is not None else 0)
    session.flush()


def release(session: Session, item: int, annotator: int) -> None:
    """Free a skipped item for others; this person does not get it again by themselves."""
    row = assigned(session, item, annotator)
    if row is not None and row.status != "skipped":
        _count(session, item, -1 if row.slot is not None else 0)
        row.slot, row.status, row.changed = None, "skipped", time.time()


def release_open(store: Store, project: int, annotator: int) -> None:
    """Free for others the items that a person has and has not begun; who is at one of them gets another one."""
    with store.begin() as session:
        locked(session, project)
        begun = select(AnswerRow.item).where(AnswerRow.annotator == annotator)
        query = select(AssignmentRow).where(
            AssignmentRow.annotator == annotator, AssignmentRow.status == "open", AssignmentRow.item.not_in(begun)
        )
        for row in list(session.scalars(query)):
            _count(session, row.item, -1 if row.slot is not None else 0)
            session.delete(row)


def assigned(session: Session, item: int, annotator: int) -> AssignmentRow | None:
    return session.scalar(select(AssignmentRow).where(AssignmentRow.item == item, AssignmentRow.annotator == annotator))


def progress(store: Store, project: int, annotator: int, overlap: int) -> Progress:
    with store.read() as session:
        query = select(AssignmentRow.status, func.count()).where(AssignmentRow.annotator == annotator)
        counts = {status: count for status, count in session.execute(query.group_by(AssignmentRow.status))}
        free = session.scalar(select(func.count()).select_from(ItemRow).where(*_is_free(project, annotator, overlap)))
    done, skipped = counts.get("done", 0), counts.get("skipped", 0)
    return Progress(done, skipped, done + skipped + counts.get("open", 0) + (free or 0))


def open_items(store: Store, project: int, overlap: int) -> int:
    """Return how many items of a project fewer people than `overlap` have finished."""
    done = (
        select(AssignmentRow.item)
        .where(AssignmentRow.status == "done")
        .group_by(AssignmentRow.item)
        .having(func.count() >= overlap)
    )
    with store.read() as session:
        query = select(func.count()).select_from(ItemRow).where(ItemRow.project == project, ItemRow.id.not_in(done))
        return session.scalar(query) or 0


def _open(session: Session, annotator: int) -> int | None:
    query = select(AssignmentRow.item).where(AssignmentRow.annotator == annotator, AssignmentRow.status == "open")
    return session.scalar(query.order_by(AssignmentRow.id).limit(1))


def _free(session: Session, project: int, annotator: int, overlap: int, count: int) -> list[int]:
    query = select(ItemRow.id).where(*_is_free(project, annotator, overlap))
    return list(session.scalars(query.order_by(ItemRow.taken, ItemRow.number).limit(count)))


def _is_free(project: int, annotator: int, overlap: int) -> tuple[ColumnElement[bool], ...]:
    own = select(AssignmentRow.item).where(AssignmentRow.annotator == annotator)
    return ItemRow.project == project, ItemRow.taken < overlap, ItemRow.id.not_in(own)


def _count(session: Session, item: int, change: int) -> None:
    row = session.get(ItemRow, item, with_for_update=True)
    if row is not None:
        row.taken += change
