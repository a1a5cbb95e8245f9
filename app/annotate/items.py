"""The items of a project, from the store, each with its prediction and explanations, computed ahead and kept with it as
JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter
from sqlalchemy import select

from app.annotate.tables import AnswerRow, ItemRow
from app.store import Store
from explainers.annotations.judged import word_encoding
from explainers.annotations.record_json import parse_item
from explainers.annotations.records import Item
from explainers.datasets.example import Example
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.models.inputs.requirements import display_input_names

CHANGED_MODEL = "The model has changed since the other methods explained this item."


@dataclass(frozen=True)
class PreparedMap:
    """One method's scores of the units, and by metric id how faithful they are."""

    scores: tuple[float, ...]
    signed: bool
    metrics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Prepared:
    """What is known of an item: the model's class `label`, `names` of the texts, the model's `version`.

    Without `labels`, no model has read the item.
    A method that failed is missing in `maps` or `sentences`, and has its reason in `failures`; `attempts` were made.
    """

    texts: tuple[str, ...] = ()
    units: tuple[Unit, ...] = ()
    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    label: int = 0
    probabilities: tuple[float, ...] = ()
    version: str = ""
    maps: dict[str, PreparedMap] = field(default_factory=dict)
    sentences: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    attempts: int = 1

    def missing(self, methods: Sequence[str]) -> tuple[str, ...]:
        """Return those of these methods and narrators that have no explanation."""
        return tuple(id for id in methods if id not in self.maps and id not in self.sentences)

    def joined(self, later: "Prepared") -> "Prepared":
        """Return this with the explanations of a later attempt; those that are there stay.

        An attempt with another version of the model counts, and adds nothing: its maps may be of other units.
        """
        if (later.version, later.units) != (self.version, self.units) and (later.maps or later.sentences):
            reasons = {id: CHANGED_MODEL for id in (*later.maps, *later.sentences)}
            return self.joined(replace(self, maps={}, sentences={}, failures=reasons))
        failures = {**self.failures, **later.failures}
        maps, sentences = {**later.maps, **self.maps}, {**later.sentences, **self.sentences}
        return replace(
            self,
            maps=maps,
            sentences=sentences,
            failures={id: reason for id, reason in failures.items() if id not in maps and id not in sentences},
            attempts=self.attempts + 1,
        )

    @property
    def encoding(self) -> Encoding:
        """Return the texts and units, without what the model reads."""
        return Encoding(self.texts, self.units, (), (), ())

    def as_json(self) -> str:
        return JSON.dump_json(self).decode()


def without_model(example: Example, input_names: Sequence[str]) -> Prepared:
    """Return the texts alone, for tasks that ask nothing about a model."""
    encoding = word_encoding(example)
    names = display_input_names(input_names, len(encoding.texts))
    return Prepared(encoding.texts, encoding.units, names)


JSON = TypeAdapter(Prepared)


def read_prepared(content: str) -> Prepared:
    """Return what `as_json` has written."""
    return JSON.validate_json(content)


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
