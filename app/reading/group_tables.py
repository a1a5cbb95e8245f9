"""The tables of reading groups in the store."""

import time

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.store import Base


class ReadingGroup(Base):
    """A group that reads a story together. `key_hash` is the SHA-256 of the presenter's key, `revealed` are the places
    whose answers are shown. Moments are seconds since 1970."""

    __tablename__ = "reading_groups"

    code: Mapped[str] = mapped_column(primary_key=True)
    key_hash: Mapped[str]
    created: Mapped[float] = mapped_column(default=time.time)
    story: Mapped[str]
    step: Mapped[int]
    moved: Mapped[float] = mapped_column(default=time.time)
    revealed: Mapped[list[str]] = mapped_column(default=list)


class ReadingEntry(Base):
    """What a participant has given: that they are there, a bet, marks, or a note. One of a kind for each place, except
    notes, which are numbered. `participant` is random and tells nothing about the person."""

    __tablename__ = "reading_entries"
    __table_args__ = (UniqueConstraint("code", "kind", "participant", "place", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    code: Mapped[str] = mapped_column(ForeignKey("reading_groups.code"), index=True)
    kind: Mapped[str]
    participant: Mapped[str]
    place: Mapped[str] = mapped_column(default="")
    number: Mapped[int] = mapped_column(default=0)
    value: Mapped[str] = mapped_column(default="")
    created: Mapped[float] = mapped_column(default=time.time)
