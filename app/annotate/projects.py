"""Annotation projects: what one consists of, how it is made, listed and opened; and its items.

Items come from the store, each with its prediction and explanations, computed ahead and kept with it as JSON.
"""

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic import TypeAdapter
from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from app.annotate import tables as store_tables
from app.annotate.tables import AnswerRow, ItemRow
from app.server.login import Account
from app.store import Store
from explainers.annotations import judged, record_json
from explainers.annotations.records import TASKS, Item, Task
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable, ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.models.inputs.requirements import display_input_names

MOST_OVERLAP = 20
MAPS_TO_RANK = 3  # unless an owner asks for more
MOST_METHODS = 26  # per item: as many as there are letters
MOST_ITEMS = 100_000
LONGEST_NAME, LONGEST_GUIDELINE = 80, 20_000  # characters
NEEDS_MAPS: tuple[Task, ...] = ("rank", "simulate", "inspect")
ONE_BY_ONE: tuple[Task, ...] = ("simulate", "inspect", "correct")  # tasks about one method at a time
NEEDS_SENTENCES: tuple[Task, ...] = ("rate", "correct")
ORDER: tuple[Task, ...] = (  # nothing gives later ones away
    "mark",
    "simulate",
    "read",
    "rank",
    "rate",
    "inspect",
    "correct",
)
TITLES: dict[Task, str] = {
    "mark": "Mark the evidence",
    "simulate": "Guess the model's answer from a map",
    "read": "Read a reason",
    "rank": "Rank maps",
    "rate": "Rate sentences",
    "inspect": "Check a suggestion",
    "correct": "Correct a sentence",
}
CHANGED_MODEL = "The model has changed since the other methods explained this item."
GONE = "This project was deleted by its owner."
CHANGED_GUIDELINE = "Another owner has changed the guideline meanwhile. Press again to replace theirs, shown above."
assert set(ORDER) == set(TASKS)


@dataclass(frozen=True)
class ProjectSpec:
    """What a project asks, of which methods, and of how many people; raises `ExplanationError` if it cannot be.

    `methods` are ids of methods, `narrators` of narrators; `overlap` is how many people annotate each item, and
    `methods_per_item` about how many methods the tasks `ONE_BY_ONE` ask for each, `maps_to_rank` how many maps of an
    item are ranked at most.
    """

    name: str
    model: str
    guideline: str = ""
    tasks: tuple[Task, ...] = ("mark",)
    methods: tuple[str, ...] = ()
    narrators: tuple[str, ...] = ()
    overlap: int = 2
    blind: bool = True
    source: str = ""
    methods_per_item: int = 1
    maps_to_rank: int = MAPS_TO_RANK

    def __post_init__(self) -> None:
        for holds, sentence in self._faults():
            if holds:
                raise ExplanationError(sentence)

    @property
    def asks_model(self) -> bool:
        """Return whether a task needs the model; reading given reasons does not."""
        return set(self.tasks) != {"read"}

    def _faults(self) -> list[tuple[bool, str]]:
        maps, sentences = set(self.tasks) & set(NEEDS_MAPS), set(self.tasks) & set(NEEDS_SENTENCES)
        return [
            (not self.name.strip(), "The project needs a name."),
            (len(self.name) > LONGEST_NAME, f"The name of a project has at most {LONGEST_NAME} characters."),
            (not self.model, "The project needs a model."),
            (
                len(self.guideline) > LONGEST_GUIDELINE,
                f"A guideline has at most {LONGEST_GUIDELINE:,} characters; this one has {len(self.guideline):,}.",
            ),
            (not self.tasks, "Choose at least one task."),
            (bool(maps) and not self.methods, "Ranking, guessing and checking need maps. Choose at least one method."),
            ("rank" in maps and len(self.methods) < 2, "Ranking needs maps of at least two methods."),
            (
                bool(sentences) and not self.narrators,
                "Rating and correcting need sentences of a narrator. Choose one, or "
                "leave these tasks out if none is fitted to this model.",
            ),
            (
                not 1 <= self.methods_per_item <= MOST_METHODS,
                f"Guessing, checking and correcting ask about 1 to {MOST_METHODS} methods per item.",
            ),
            (
                not 2 <= self.maps_to_rank <= MOST_METHODS,
                f"People rank 2 to {MOST_METHODS} maps of an item, not {self.maps_to_rank}.",
            ),
            (not 1 <= self.overlap <= MOST_OVERLAP, f"Each item is annotated by 1 to {MOST_OVERLAP} people."),
        ]


@dataclass(frozen=True)
class Project:
    """A project as it is stored. `salt` never leaves the server."""

    id: int
    owner: str
    spec: ProjectSpec
    salt: str
    created: float
    opened: float | None
    items: int

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Return the tasks in the order in which they are asked."""
        return tuple(task for task in ORDER if task in self.spec.tasks)

    @property
    def hides_methods(self) -> bool:
        """Return whether nobody may see yet which method is which."""
        return self.spec.blind and self.opened is None


def create(store: Store, spec: ProjectSpec, items: Sequence[Item], account: Account) -> Project:
    """Store the project with its items; raises `ExplanationError` if there are none, or too many."""
    with store.begin() as session:
        return added(session, spec, items, account)


def added(session: Session, spec: ProjectSpec, items: Sequence[Item], account: Account) -> Project:
    """Do as `create` within a transaction."""
    if not items:
        raise DataUnavailable("The project has no data. Give at least one example.")
    if len(items) > MOST_ITEMS:
        raise DataUnavailable(f"A project has at most {MOST_ITEMS:,} items; these are {len(items):,}.")
    names = _unique_names(items)
    row = store_tables.ProjectRow(
        owner=account.id,
        name=spec.name.strip(),
        model=spec.model,
        guideline=spec.guideline,
        tasks=list(spec.tasks),
        methods=[*spec.methods, *spec.narrators],
        overlap=spec.overlap,
        blind=spec.blind,
        salt=secrets.token_hex(16),
        source=spec.source,
        methods_per_item=spec.methods_per_item,
        maps_to_rank=spec.maps_to_rank,
    )
    session.add(row)
    session.flush()
    session.execute(
        insert(store_tables.ItemRow),
        [
            {
                "project": row.id,
                "number": number,
                "name": name,
                "content": record_json.item_line(replace(item, id=name)),
            }
            for number, (name, item) in enumerate(zip(names, items, strict=True))
        ],
    )
    return _project(row, len(items))


def projects(store: Store, account: Account) -> list[Project]:
    """Return the projects of an account, the newest first."""
    with store.read() as session:
        counted: Any = session.execute(
            select(store_tables.ItemRow.project, func.count()).group_by(store_tables.ItemRow.project)
        )
        counts = dict(iter(counted))
        rows = session.scalars(select(store_tables.ProjectRow).order_by(store_tables.ProjectRow.id.desc()))
        return [_project(row, counts.get(row.id, 0)) for row in rows if account.may_see(row.owner)]


def project(store: Store, number: int) -> Project | None:
    """Return the project; None where it was deleted."""
    with store.read() as session:
        row = session.get(store_tables.ProjectRow, number)
        count = session.scalar(select(func.count()).where(store_tables.ItemRow.project == number)) or 0
        return _project(row, count) if row is not None else None


def open_results(store: Store, number: int) -> None:
    """Let the owner see everybody's work from now on, and which method is which."""
    with store.begin() as session:
        row = session.get(store_tables.ProjectRow, number, with_for_update=True)
        if row is not None and row.opened is None:
            row.opened = time.time()


def change_guideline(store: Store, project: Project, guideline: str) -> None:
    """Raise `ExplanationError` if it is too long, and if it is no longer the one of `project`."""
    spec = replace(project.spec, guideline=guideline)
    with store.begin() as session:
        row = locked(session, project.id)
        if row is None or row.guideline != project.spec.guideline:
            raise ExplanationError(CHANGED_GUIDELINE if row is not None else GONE)
        row.guideline = spec.guideline


def remove(store: Store, number: int) -> None:
    """Delete the project with everything that was confirmed in it."""
    with store.begin() as session:
        locked(session, number)
        people = select(store_tables.AnnotatorRow.id).where(store_tables.AnnotatorRow.project == number)
        invites = select(store_tables.InviteRow.id).where(store_tables.InviteRow.project == number)
        session.execute(delete(store_tables.AssignmentRow).where(store_tables.AssignmentRow.annotator.in_(people)))
        session.execute(delete(store_tables.PassRow).where(store_tables.PassRow.invite.in_(invites)))
        for table in (
            store_tables.AnswerRow,
            store_tables.DecisionRow,
            store_tables.InviteRow,
            store_tables.AnnotatorRow,
            store_tables.ItemRow,
        ):
            session.execute(delete(table).where(table.project == number))
        session.execute(delete(store_tables.ProjectRow).where(store_tables.ProjectRow.id == number))


def locked(session: Session, number: int) -> store_tables.ProjectRow | None:
    """Return the project's row; until the transaction that writes ends, nobody else gets an item of it."""
    return session.get(store_tables.ProjectRow, number, with_for_update=True)


def _project(row: store_tables.ProjectRow, items: int) -> Project:
    narrators = tuple(id for id in row.methods if id in NARRATORS.ids)
    spec = ProjectSpec(
        row.name,
        row.model,
        row.guideline,
        tuple(cast(Task, task) for task in row.tasks),
        tuple(id for id in row.methods if id not in narrators),
        narrators,
        row.overlap,
        row.blind,
        row.source,
        row.methods_per_item,
        row.maps_to_rank,
    )
    return Project(row.id, row.owner, spec, row.salt, row.created, row.opened, items)


def _unique_names(items: Sequence[Item]) -> list[str]:
    """Return the ids of the items as they came; one that comes twice gets a number."""
    given = {item.id for item in items}
    taken: set[str] = set()
    names: list[str] = []
    for item in items:
        name, count = item.id, 1
        while name in taken or (count > 1 and name in given):
            count += 1
            name = f"{item.id} ({count})"
        taken.add(name)
        names.append(name)
    return names


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
    encoding = judged.word_encoding(example)
    names = display_input_names(input_names, len(encoding.texts))
    return Prepared(encoding.texts, encoding.units, names)


JSON = TypeAdapter(Prepared)


def read_prepared(content: str) -> Prepared:
    """Return what `as_json` has written."""
    return JSON.validate_json(content)


def item_of(row: ItemRow) -> Item:
    return record_json.parse_item(row.content)


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
    answered = select(AnswerRow.item).where(AnswerRow.project == project, ~AnswerRow.skipped)
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
