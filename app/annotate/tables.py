"""The tables of annotation projects: projects, items, people, invitations, who has which item, and what was confirmed.

Nothing that was confirmed is changed or deleted by a later confirmation: that is a further row with the next version.
Moments are seconds since 1970.
"""

import time

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.store import Base
from explainers.methods.narrator_specs import NARRATORS, narrator_spec
from explainers.methods.registry import method_spec

DECIDED_BY = "decision"  # the annotator's name of what an owner decided, in downloads


class ProjectRow(Base):
    """A project; `owner` is the id of an account, empty without login.

    `opened` is when the owner asked for the agreement, `revision` counts how often something was prepared.
    """

    __tablename__ = "annotation_projects"

    id: Mapped[int] = mapped_column(primary_key=True)
    created: Mapped[float] = mapped_column(default=time.time)
    owner: Mapped[str] = mapped_column(default="")
    name: Mapped[str]
    model: Mapped[str]
    guideline: Mapped[str]
    tasks: Mapped[list[str]]
    methods: Mapped[list[str]]  # ids of methods and of narrators
    overlap: Mapped[int]
    blind: Mapped[bool]
    salt: Mapped[str]  # from which the letters of the methods are drawn; never leaves the server
    source: Mapped[str]  # of the items, for people
    opened: Mapped[float | None]
    methods_per_item: Mapped[int] = mapped_column(default=1, server_default="1")
    maps_to_rank: Mapped[int] = mapped_column(default=3, server_default="26")  # earlier projects rank all maps
    revision: Mapped[int] = mapped_column(default=0, server_default="0")


class ItemRow(Base):
    """An item; `content` is an `Item` as JSON, `taken` how many people have it.

    `prepared` is the prediction and the explanations, as JSON, empty before they are computed; `failed` the methods
    that failed for good, as JSON.
    """

    __tablename__ = "annotation_items"
    __table_args__ = (
        UniqueConstraint("project", "name"),
        UniqueConstraint("project", "taken", "number"),  # the index by which the next item is looked up
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project: Mapped[int] = mapped_column(ForeignKey("annotation_projects.id"))
    number: Mapped[int]
    name: Mapped[str]
    content: Mapped[str]
    taken: Mapped[int] = mapped_column(default=0)
    prepared: Mapped[str] = mapped_column(default="")
    failed: Mapped[str] = mapped_column(default="", server_default="")


class InviteRow(Base):
    """An invitation; `digest` is the SHA-256 of the token, which itself is kept until somebody opens the link."""

    __tablename__ = "annotation_invites"
    __table_args__ = (UniqueConstraint("digest"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project: Mapped[int] = mapped_column(ForeignKey("annotation_projects.id"))
    created: Mapped[float] = mapped_column(default=time.time)
    digest: Mapped[str]
    name: Mapped[str]  # for whom, as the owner calls them
    role: Mapped[str]
    revoked: Mapped[float | None]
    token: Mapped[str] = mapped_column(default="", server_default="")


class PassRow(Base):
    """A browser in which an invitation was opened; it ends with the invitation, or when it expires."""

    __tablename__ = "annotation_passes"
    __table_args__ = (UniqueConstraint("digest"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    invite: Mapped[int] = mapped_column(ForeignKey("annotation_invites.id"))
    digest: Mapped[str]
    expires: Mapped[float]


class AnnotatorRow(Base):
    """A person in a project. `person` tells who: "account …" or "invite …"; `name` is the pseudonym."""

    __tablename__ = "annotation_people"
    __table_args__ = (UniqueConstraint("project", "person"), UniqueConstraint("project", "name"))

    id: Mapped[int] = mapped_column(primary_key=True)
    project: Mapped[int] = mapped_column(ForeignKey("annotation_projects.id"))
    person: Mapped[str]
    name: Mapped[str]


class AssignmentRow(Base):
    """That a person has an item: in a slot from 1 to the project's overlap, or in none where the item was skipped."""

    __tablename__ = "annotation_assignments"
    __table_args__ = (UniqueConstraint("annotator", "item"), UniqueConstraint("item", "slot"))

    id: Mapped[int] = mapped_column(primary_key=True)
    annotator: Mapped[int] = mapped_column(ForeignKey("annotation_people.id"))
    item: Mapped[int] = mapped_column(ForeignKey("annotation_items.id"))
    slot: Mapped[int | None]
    status: Mapped[str] = mapped_column(default="open")  # open, done or skipped
    changed: Mapped[float] = mapped_column(default=time.time)


class AnswerRow(Base):
    """One confirmation; `answer` is JSON, empty where the item was skipped.

    `own_class` is the name of the class that the marks are evidence for, empty where none was asked for.
    """

    __tablename__ = "annotation_answers"
    __table_args__ = (
        UniqueConstraint("item", "annotator", "task", "version"),
        UniqueConstraint("annotator", "id"),  # the indexes by which one's own answers and a project's are looked up
        UniqueConstraint("project", "id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project: Mapped[int] = mapped_column(ForeignKey("annotation_projects.id"))
    item: Mapped[int] = mapped_column(ForeignKey("annotation_items.id"))
    annotator: Mapped[int] = mapped_column(ForeignKey("annotation_people.id"))
    task: Mapped[str]
    version: Mapped[int]
    answer: Mapped[str]
    skipped: Mapped[bool] = mapped_column(default=False)
    flagged: Mapped[bool] = mapped_column(default=False)
    comment: Mapped[str] = mapped_column(default="")
    seconds: Mapped[float]
    confirmed: Mapped[float] = mapped_column(default=time.time)
    own_class: Mapped[str] = mapped_column(default="", server_default="")


class DecisionRow(Base):
    """What an owner decided where annotators differ; the newest one of an item and task counts.

    `decided_by` is the name of the owner, empty without login; `own_class` is as in `AnswerRow`.
    """

    __tablename__ = "annotation_decisions"

    id: Mapped[int] = mapped_column(primary_key=True)
    project: Mapped[int] = mapped_column(ForeignKey("annotation_projects.id"))
    item: Mapped[int] = mapped_column(ForeignKey("annotation_items.id"))
    task: Mapped[str]
    answer: Mapped[str]
    origin: Mapped[str]  # whose answer was taken, or how it was made
    decided: Mapped[float] = mapped_column(default=time.time)
    decided_by: Mapped[str] = mapped_column(default="", server_default="")
    own_class: Mapped[str] = mapped_column(default="", server_default="")


def method_name(id: str) -> str:
    return narrator_spec(id).name if id in NARRATORS.ids else method_spec(id).name
