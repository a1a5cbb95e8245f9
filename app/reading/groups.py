"""Groups that read a story together: who presents, which step is shown, bets, marks and notes.

All of it is in the store, so that it survives a restart and is the same for several server processes. Looks are
remembered for a moment, so that many phones do not mean many questions to the database.
"""

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Select, case, delete, func, select
from sqlalchemy.orm import Session

from app.reading.group_rules import (
    ALPHABET,
    BET,
    BUSY,
    CODE,
    DAY,
    FULL,
    LENGTH,
    LONGEST_NOTE,
    MARKS,
    MINUTE,
    MISSED_PER_MINUTE,
    MOST_GROUPS,
    MOST_MARKS,
    MOST_NOTES,
    MOST_OF_VISITOR,
    MOST_PEOPLE,
    NOTE,
    NOTES_FULL,
    PARTICIPANT,
    PRESENT,
    REMEMBERED,
    STRANGE,
    TOO_MANY,
    TOO_MANY_OF_VISITOR,
    UNKNOWN,
    UNUSED,
    WRONG_KEY,
    Allowance,
    GroupNote,
    GroupRefused,
    GroupView,
    hashed,
)
from app.reading.group_tables import ReadingEntry, ReadingGroup
from app.store import Store


@dataclass
class Groups:
    """The groups of a store. Every verb may raise `GroupRefused`, or `StoreUnavailable`, with a sentence."""

    store: Store
    looks: dict[str, tuple[float, GroupView]] = field(default_factory=dict)
    starts: Allowance = field(default_factory=lambda: Allowance(MOST_OF_VISITOR, DAY))
    misses: Allowance = field(default_factory=lambda: Allowance(MISSED_PER_MINUTE, MINUTE))

    def start(self, story: str, step: int, visitor: str = "") -> tuple[str, str]:
        """The code of a new group and its presenter's key, which is not kept.

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
        """What is known of a group. A visitor who has tried too many wrong codes is refused for a minute."""
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
        """Shows another step to everybody."""
        self.check_presenter(code, key)
        with self.store.begin() as session:
            group = _locked(session, code)
            if group is not None:
                group.story, group.step, group.moved = story, step, time.time()
        self.looks.pop(code, None)

    def reveal(self, code: str, key: str, place: str) -> None:
        """Shows the answer of a place; bets on it are closed."""
        self.check_presenter(code, key)
        with self.store.begin() as session:
            group = _locked(session, code)
            if group is not None and place not in group.revealed:
                group.revealed = [*group.revealed, place]
        self.looks.pop(code, None)

    def join(self, code: str, participant: str) -> None:
        """Counts a participant once."""
        self._put(code, PRESENT, participant, "", "")

    def bet(self, code: str, participant: str, place: str, choice: int) -> None:
        """Replaces an earlier bet of the same participant. After the reveal nothing changes."""
        self._put(code, BET, participant, place, str(int(choice)))

    def mark(self, code: str, participant: str, place: str, units: tuple[int, ...]) -> None:
        """Replaces earlier marks of the same participant. After the reveal nothing changes."""
        self._put(code, MARKS, participant, place, json.dumps([int(unit) for unit in units[:MOST_MARKS]]))

    def note(self, code: str, participant: str, place: str, text: str) -> None:
        """Adds a note, cut after `LONGEST_NOTE` characters; an empty one is none."""
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
        """By participant, the number of the choice."""
        return {each.participant: int(each.value) for each in self._entries(code, BET, place)}

    def marks(self, code: str, place: str) -> Mapping[str, tuple[int, ...]]:
        """By participant, unit numbers, the most important first."""
        return {each.participant: tuple(json.loads(each.value)) for each in self._entries(code, MARKS, place)}

    def notes(self, code: str) -> tuple[GroupNote, ...]:
        """All notes of the group, the oldest first."""
        return tuple(
            GroupNote(each.participant, each.place, each.value, each.created) for each in self._entries(code, NOTE)
        )

    def _entries(self, code: str, kind: str, place: str | None = None) -> list[ReadingEntry]:
        wanted = select(ReadingEntry).where(ReadingEntry.code == code, ReadingEntry.kind == kind)
        if place is not None:
            wanted = wanted.where(ReadingEntry.place == place)
        with self.store.read() as session:
            return list(session.scalars(wanted.order_by(ReadingEntry.created, ReadingEntry.id)))

    def _require_place(self, code: str, participant: str) -> None:
        """A participant of the right form, in a group with room for it."""
        if not PARTICIPANT.fullmatch(participant):
            raise GroupRefused(STRANGE)
        self.look(code)

    def _put(self, code: str, kind: str, participant: str, place: str, value: str) -> None:
        """One entry per participant and place, whatever arrives at the same time."""
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
    """The group, whose other writers wait until this transaction ends."""
    return session.get(ReadingGroup, code, with_for_update=True)


def _count(session: Session, table: type[ReadingGroup] | type[ReadingEntry], **where: str) -> int:
    return session.scalar(select(func.count()).select_from(table).filter_by(**where)) or 0


def _end_groups(session: Session, codes: Select[Any] | Sequence[str]) -> None:
    """Deletes groups with all that was given in them."""
    session.execute(delete(ReadingEntry).where(ReadingEntry.code.in_(codes)))
    session.execute(delete(ReadingGroup).where(ReadingGroup.code.in_(codes)))


def _longest_unused(session: Session) -> str | None:
    """The group in which nothing has happened for longest, None where something has in all of them lately."""
    entered = select(func.max(ReadingEntry.created)).where(ReadingEntry.code == ReadingGroup.code).scalar_subquery()
    given = func.coalesce(entered, 0.0)
    last = case((given > ReadingGroup.moved, given), else_=ReadingGroup.moved)
    query = select(ReadingGroup.code).where(last < time.time() - UNUSED).order_by(last).limit(1)
    return session.scalar(query)
