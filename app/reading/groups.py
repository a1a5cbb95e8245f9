"""Groups that read a story together: who presents, which step is shown, bets, marks and notes.

All of it is in the store, so that it survives a restart and is the same for several server processes. Looks are
remembered for a moment, so that many phones do not mean many questions to the database.
"""

import hashlib
import json
import re
import secrets
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from sqlalchemy import ForeignKey, Select, UniqueConstraint, case, delete, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.store import Base, Store
from explainers.errors import ExplanationError

ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # without letters that look like digits
LENGTH = 8  # of a code: one of 31⁸ ≈ 8.5 · 10¹¹, so that 1,000 guesses a second meet one of 500 groups once in 20 days
DAY = 24 * 3600.0  # seconds after which a group ends
MOST_GROUPS, MOST_PEOPLE, MOST_NOTES = 500, 200, 20  # groups at a time; people in one; notes of a person
MOST_OF_VISITOR = 20  # groups that may be begun from one address within a day
UNUSED = 15 * 60.0  # seconds without a step or a participant, after which a group may give its place to another
LONGEST_NOTE = 500  # characters
MOST_MARKS = 200  # units of one person
REMEMBERED = 0.3  # seconds for which a look is remembered
MINUTE, MISSED_PER_MINUTE = 60.0, 20  # wrong codes of one visitor
CODE, PARTICIPANT = re.compile(f"[{ALPHABET}]{{{LENGTH}}}"), re.compile("[0-9a-f]{32}")
LEFT = "left"  # among the revealed places as long as the presenter has left
PRESENT, BET, MARKS, NOTE = "present", "bet", "marks", "note"  # kinds of entries

UNKNOWN = "There is no group {}. Check the code; a group ends after a day."
TOO_MANY = "Too many wrong codes came from this browser. Wait a minute."
BUSY = "Too many groups are open. Try again later."
TOO_MANY_OF_VISITOR = "{} groups were begun from your address today. Go on with one of them, or read alone."
FULL = "This group has {} people and takes no more."
NOTES_FULL = "You have written {} notes, and no more are kept."
STRANGE = "The browser has sent no valid participant. Reload the page."
WRONG_KEY = "The key in this address is not that of the group's presenter."


class GroupRefused(ExplanationError):
    """What was asked of a group is not possible; the sentence says why."""


@dataclass(frozen=True)
class GroupNote:
    participant: str
    place: str
    text: str
    created: float


@dataclass(frozen=True)
class GroupView:
    """What is known of a group at a moment: the place that is shown, the revealed places, the number of people."""

    code: str
    story: str
    step: int
    revealed: frozenset[str]
    people: int
    created: float

    @property
    def place(self) -> str:
        return place_name(self.story, self.step)

    @property
    def left(self) -> bool:
        """Return whether the presenter has left, and nobody leads the group."""
        return LEFT in self.revealed


@dataclass
class Allowance:
    """How much one visitor may do: at most `most` events within `seconds`; those of others do not count."""

    most: int
    seconds: float
    moments: dict[str, deque[float]] = field(default_factory=dict)
    changing: Lock = field(default_factory=Lock)

    def exhausted(self, visitor: str) -> bool:
        with self.changing:
            self._forget()
            return len(self.moments.get(visitor, ())) >= self.most

    def spend(self, visitor: str) -> None:
        with self.changing:
            self.moments.setdefault(visitor, deque()).append(time.monotonic())

    def _forget(self) -> None:
        before = time.monotonic() - self.seconds
        for visitor, moments in list(self.moments.items()):
            while moments and moments[0] < before:
                moments.popleft()
            if not moments:
                del self.moments[visitor]


def place_name(story: str, step: int) -> str:
    return f"{story}/{step}"


def hashed(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


class ReadingGroup(Base):
    """A group that reads a story together; moments are seconds since 1970.

    `key_hash` is the SHA-256 of the presenter's key, `revealed` are the places whose answers are shown.
    """

    __tablename__ = "reading_groups"

    code: Mapped[str] = mapped_column(primary_key=True)
    key_hash: Mapped[str]
    created: Mapped[float] = mapped_column(default=time.time)
    story: Mapped[str]
    step: Mapped[int]
    moved: Mapped[float] = mapped_column(default=time.time)
    revealed: Mapped[list[str]] = mapped_column(default=list)


class ReadingEntry(Base):
    """What a participant has given: that they are there, a bet, marks, or a note.

    There is one of a kind for each place, except notes, which are numbered. `participant` is random and tells nothing
    about the person.
    """

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


@dataclass
class Groups:
    """The groups of a store; every verb may raise `GroupRefused`, or `StoreUnavailable`, with a sentence."""

    store: Store
    looks: dict[str, tuple[float, GroupView]] = field(default_factory=dict)
    starts: Allowance = field(default_factory=lambda: Allowance(MOST_OF_VISITOR, DAY))
    misses: Allowance = field(default_factory=lambda: Allowance(MISSED_PER_MINUTE, MINUTE))

    def start(self, story: str, step: int, visitor: str = "") -> tuple[str, str]:
        """Return the code of a new group and its presenter's key, which is not kept.

        Where all places are taken, the group that has been without a step and a participant for longest gives its own,
        if that is longer than `UNUSED`. `visitor` tells browsers apart.
        """
        if self.starts.exhausted(visitor):
            raise GroupRefused(TOO_MANY_OF_VISITOR.format(self.starts.most))
        key, code = secrets.token_urlsafe(16), "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
        with self.store.begin() as session:
            _end_groups(session, select(ReadingGroup.code).where(ReadingGroup.created < time.time() - DAY))
            if _count(session, ReadingGroup) >= MOST_GROUPS:
                unused = _longest_unused(session)
                if unused is None:
                    raise GroupRefused(BUSY)
                _end_groups(session, [unused])
            session.add(ReadingGroup(code=code, key_hash=hashed(key), story=story, step=step, revealed=[]))
        self.starts.spend(visitor)
        return code, key

    def look(self, code: str, visitor: str = "") -> GroupView:
        """Return what is known of a group; who has tried too many wrong codes is refused for a minute."""
        code = code.upper()
        known = self.looks.get(code)
        if known is not None and time.monotonic() - known[0] < REMEMBERED:
            return known[1]
        if not CODE.fullmatch(code):
            raise GroupRefused(UNKNOWN.format(f"“{code[:12]}”"))
        if known is None and self.misses.exhausted(visitor):
            raise GroupRefused(TOO_MANY)
        with self.store.read() as session:
            group = session.get(ReadingGroup, code)
            if group is None or time.time() - group.created > DAY:
                self.misses.spend(visitor)
                raise GroupRefused(UNKNOWN.format(code))
            people = _count(session, ReadingEntry, code=code, kind=PRESENT)
            view = GroupView(code, group.story, group.step, frozenset(group.revealed), people, group.created)
        if len(self.looks) > 2 * MOST_GROUPS:
            self.looks.clear()
        self.looks[code] = (time.monotonic(), view)
        return view

    def check_presenter(self, code: str, key: str) -> None:
        with self.store.read() as session:
            group = session.get(ReadingGroup, code)
            right = group.key_hash if group is not None else ""
        if not secrets.compare_digest(hashed(key), right):
            raise GroupRefused(WRONG_KEY)

    def move(self, code: str, key: str, story: str, step: int) -> None:
        """Show another step to everybody."""
        self.check_presenter(code, key)
        with self.store.begin() as session:
            group = _locked(session, code)
            if group is not None:
                group.story, group.step, group.moved = story, step, time.time()
        self.looks.pop(code, None)

    def reveal(self, code: str, key: str, place: str) -> None:
        """Show the answer of a place; bets on it are closed."""
        self.check_presenter(code, key)
        with self.store.begin() as session:
            group = _locked(session, code)
            if group is not None and place not in group.revealed:
                group.revealed = [*group.revealed, place]
        self.looks.pop(code, None)

    def leave(self, code: str, key: str) -> None:
        """Tell those who follow that the presenter has left."""
        self.reveal(code, key, LEFT)

    def come_back(self, code: str, key: str) -> None:
        """Lead the group again."""
        self.check_presenter(code, key)
        with self.store.begin() as session:
            group = _locked(session, code)
            if group is not None:
                group.revealed = [place for place in group.revealed if place != LEFT]
        self.looks.pop(code, None)

    def join(self, code: str, participant: str) -> None:
        """Count a participant, once."""
        self._put(code, PRESENT, participant, "", "")

    def bet(self, code: str, participant: str, place: str, choice: int) -> None:
        """Store a bet in place of an earlier one of the same participant; after the reveal nothing changes."""
        self._put(code, BET, participant, place, str(int(choice)))

    def mark(self, code: str, participant: str, place: str, units: tuple[int, ...]) -> None:
        """Store marks in place of earlier ones of the same participant; after the reveal nothing changes."""
        self._put(code, MARKS, participant, place, json.dumps([int(unit) for unit in units[:MOST_MARKS]]))

    def note(self, code: str, participant: str, place: str, text: str) -> None:
        """Add a note, cut after `LONGEST_NOTE` characters; an empty one is none."""
        text = text.strip()[:LONGEST_NOTE]
        if not text:
            return
        self._require_place(code, participant)
        with self.store.begin() as session:
            _locked(session, code)
            written = _count(session, ReadingEntry, code=code, kind=NOTE, participant=participant)
            if written >= MOST_NOTES:
                raise GroupRefused(NOTES_FULL.format(MOST_NOTES))
            session.add(
                ReadingEntry(code=code, kind=NOTE, participant=participant, place=place, number=written + 1, value=text)
            )

    def bets(self, code: str, place: str) -> Mapping[str, int]:
        """Return by participant the number of the choice."""
        return {entry.participant: int(entry.value) for entry in self._entries(code, BET, place)}

    def marks(self, code: str, place: str) -> Mapping[str, tuple[int, ...]]:
        """Return by participant unit numbers, the most important first."""
        return {entry.participant: tuple(json.loads(entry.value)) for entry in self._entries(code, MARKS, place)}

    def notes(self, code: str) -> tuple[GroupNote, ...]:
        """Return all notes of the group, the oldest first."""
        return tuple(
            GroupNote(entry.participant, entry.place, entry.value, entry.created) for entry in self._entries(code, NOTE)
        )

    def _entries(self, code: str, kind: str, place: str | None = None) -> list[ReadingEntry]:
        wanted = select(ReadingEntry).where(ReadingEntry.code == code, ReadingEntry.kind == kind)
        if place is not None:
            wanted = wanted.where(ReadingEntry.place == place)
        with self.store.read() as session:
            return list(session.scalars(wanted.order_by(ReadingEntry.created, ReadingEntry.id)))

    def _require_place(self, code: str, participant: str) -> None:
        """Raise `GroupRefused` unless the participant's name has the right form and the group has room."""
        if not PARTICIPANT.fullmatch(participant):
            raise GroupRefused(STRANGE)
        self.look(code)

    def _put(self, code: str, kind: str, participant: str, place: str, value: str) -> None:
        """Store one entry per participant and place, whatever arrives at the same time."""
        self._require_place(code, participant)
        with self.store.begin() as session:
            group = _locked(session, code)
            if group is None or (place and place in group.revealed):
                return
            there = {"code": code, "kind": kind, "participant": participant, "place": place}
            entry = session.scalars(select(ReadingEntry).filter_by(**there)).first()
            if entry is not None:
                entry.value = value
                return
            newcomer = not _count(session, ReadingEntry, code=code, kind=PRESENT, participant=participant)
            if newcomer and _count(session, ReadingEntry, code=code, kind=PRESENT) >= MOST_PEOPLE:
                raise GroupRefused(FULL.format(MOST_PEOPLE))
            if newcomer and kind != PRESENT:
                session.add(ReadingEntry(code=code, kind=PRESENT, participant=participant))
            session.add(ReadingEntry(**there, value=value))


def _locked(session: Session, code: str) -> ReadingGroup | None:
    """Return the group, whose other writers wait until this transaction ends."""
    return session.get(ReadingGroup, code, with_for_update=True)


def _count(session: Session, table: type[ReadingGroup] | type[ReadingEntry], **where: str) -> int:
    return session.scalar(select(func.count()).select_from(table).filter_by(**where)) or 0


def _end_groups(session: Session, codes: Select[Any] | Sequence[str]) -> None:
    """Delete groups with all that was given in them."""
    session.execute(delete(ReadingEntry).where(ReadingEntry.code.in_(codes)))
    session.execute(delete(ReadingGroup).where(ReadingGroup.code.in_(codes)))


def _longest_unused(session: Session) -> str | None:
    """Return the group in which nothing has happened for longest; None where something has in all of them."""
    entered = select(func.max(ReadingEntry.created)).where(ReadingEntry.code == ReadingGroup.code).scalar_subquery()
    given = func.coalesce(entered, 0.0)
    last = case((given > ReadingGroup.moved, given), else_=ReadingGroup.moved)
    query = select(ReadingGroup.code).where(last < time.time() - UNUSED).order_by(last).limit(1)
    return session.scalar(query)
