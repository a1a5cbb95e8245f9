"""The items of a project, from the store."""

import json

from sqlalchemy import select

from app.annotate.prepared import Prepared, read_prepared
from app.annotate.tables import AnswerRow, ItemRow
from app.store import Store
from explainers.annotations.record_json import parse_item
from explainers.annotations.records import Item


def item_of(row: ItemRow) -> Item:
    return parse_item(row.content)


def item(store: Store, number: int) -> tuple[Item, Prepared | None] | None:
    """Return an item and what is prepared about it, which may be nothing yet; None where it was deleted."""
    with store.read() as session:
        row = session.get(ItemRow, number)
    if row is None:
        return None
    return item_of(row), read_prepared(row.prepared) if row.prepared else None


def first_items(store: Store, project: int, count: int) -> list[int]:
    """Return the numbers of the first items."""
    with store.read() as session:
        query = select(ItemRow.id).where(ItemRow.project == project).order_by(ItemRow.number)
        return list(session.scalars(query.limit(count)))


def failures(store: Store, project: int) -> dict[str, dict[str, str]]:
    """Return by the item's id the methods that failed in every attempt, each with the last reason."""
    query = select(ItemRow.name, ItemRow.failed).where(ItemRow.project == project, ItemRow.failed != "")
    with store.read() as session:
        return {name: json.loads(failed) for name, failed in session.execute(query.order_by(ItemRow.number))}


def answered_unprepared(store: Store, project: int) -> list[int]:
    """Return the numbers of items with answers that are not prepared yet, such as imported ones."""
    answered = select(AnswerRow.item).where(AnswerRow.project == project)
    query = select(ItemRow.id).where(ItemRow.project == project, ItemRow.prepared == "", ItemRow.id.in_(answered))
    with store.read() as session:
        return list(session.scalars(query.order_by(ItemRow.number)))


def all_items(store: Store, project: int, *, answered: bool = False) -> dict[str, tuple[int, Item, Prepared | None]]:
    """Return by the item's id its number, the item, and what is prepared about it; or only items with an answer."""
    query = select(ItemRow).where(ItemRow.project == project).order_by(ItemRow.number)
    if answered:
        query = query.where(ItemRow.id.in_(select(AnswerRow.item).where(AnswerRow.project == project)))
    with store.read() as session:
        rows = list(session.scalars(query))
    return {row.name: (row.id, item_of(row), read_prepared(row.prepared) if row.prepared else None) for row in rows}
