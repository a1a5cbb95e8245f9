"""Who annotates: invitations, browsers and the people of a project, and which of them gets which item.

An invitation is a random token in a link, which the owner can copy until somebody opens it. From then on only the
SHA-256 of the token is stored, from which 256 random bits cannot be guessed. Opening the link gives the browser a pass,
which ends when the invitation is revoked.

The project's row is locked while an item is given away, so that two people never get the same last slot; the table
refuses it as well.
"""

import hashlib
import secrets
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from app.annotate.projects import locked
from app.annotate.tables import DECIDED_BY, AnnotatorRow, AnswerRow, AssignmentRow, InviteRow, ItemRow, PassRow
from app.store import Store
from explainers.errors import ExplanationError

Role = Literal["annotator", "owner"]
PASS_DAYS = 30
MOST_TRIES, TRY_SECONDS = 10, 600.0  # wrong tokens of one address, within so many seconds
UNKNOWN = (
    "This invitation is not valid: it was revoked, or the link is mistyped or incomplete. Ask the person who sent it "
    "for a new one."
)
ENDED = (
    "Your invitation has ended: it was revoked or is too old, and what you confirmed is kept, or the project was "
    "deleted. Ask who invited you."
)
LEFT = "You have left. What you confirmed is kept. Open the link of your invitation to come back."
TOO_MANY = "Too many invalid invitations came from your address. Try again in ten minutes."


@dataclass(frozen=True)
class Invite:
    """An invitation; from when somebody has `opened` it, or it was revoked, `token` is ""."""

    id: int
    name: str
    role: Role
    created: float
    revoked: bool
    opened: bool
    token: str = ""


@dataclass(frozen=True)
class Guest:
    """Who came by an invitation."""

    project: int
    invite: int
    name: str
    role: Role


@dataclass
class Tries:
    """How often each address has given an invalid token lately."""

    by_address: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))
    changing: Lock = field(default_factory=Lock)

    def note(self, address: str) -> None:
        """Count one more; raises `ExplanationError` where the address has tried too often. Old tries are forgotten."""
        now = time.monotonic()
        with self.changing:
            for old in [address for address, tries in self.by_address.items() if tries[-1] < now - TRY_SECONDS]:
                del self.by_address[old]
            tries = self.by_address[address]
            while tries and tries[0] < now - TRY_SECONDS:
                tries.popleft()
            if len(tries) >= MOST_TRIES:
                raise ExplanationError(TOO_MANY)
            tries.append(now)


def digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def invite(store: Store, project: int, name: str, role: Role = "annotator") -> str:
    """Make an invitation and return its token; others stay. Raises `ExplanationError` for a used name."""
    name, token = name.strip(), secrets.token_urlsafe(32)
    if not name:
        raise ExplanationError("Say for whom the invitation is, such as A1. The name stands beside the annotations.")
    if name == DECIDED_BY:
        raise ExplanationError(f"{name!r} stands for the owner's decisions in downloads. Choose another name.")
    with store.begin() as session:
        if locked(session, project) is None:
            raise ExplanationError("This project was deleted.")
        if session.scalar(select(InviteRow.id).where(InviteRow.project == project, InviteRow.name == name)):
            raise ExplanationError(f"There is an invitation for {name!r} already. Choose another name.")
        if session.scalar(select(AnnotatorRow.id).where(AnnotatorRow.project == project, AnnotatorRow.name == name)):
            raise ExplanationError(f"{name!r} already annotates here. Choose another name.")
        session.add(InviteRow(project=project, digest=digest(token), token=token, name=name, role=role))
    return token


def invites(store: Store, project: int) -> list[Invite]:
    with store.read() as session:
        used = set(session.scalars(select(PassRow.invite)))
        rows = session.scalars(select(InviteRow).where(InviteRow.project == project).order_by(InviteRow.id))
        return [
            Invite(row.id, row.name, _role(row), row.created, row.revoked is not None, row.id in used, row.token)
            for row in rows
        ]


def revoke(store: Store, project: int, number: int) -> None:
    """End an invitation; what was confirmed with it stays."""
    with store.begin() as session:
        row = session.get(InviteRow, number, with_for_update=True)
        if row is not None and row.project == project:
            row.revoked, row.token = row.revoked or time.time(), ""


def renew(store: Store, project: int, number: int) -> None:
    """Give the invitation another link in place of the one before, for the same person; one that was revoked holds
    again, without the browsers that had opened it."""
    token = secrets.token_urlsafe(32)
    with store.begin() as session:
        row = session.get(InviteRow, number, with_for_update=True)
        if row is not None and row.project == project:
            if row.revoked is not None:
                session.execute(delete(PassRow).where(PassRow.invite == number))
            row.revoked, row.token, row.digest = None, token, digest(token)


def exchange(store: Store, token: str, tries: Tries, address: str) -> str:
    """Return the pass that a browser gets for a token.

    Raises `ExplanationError` for an invalid or revoked token, with another sentence for an address that has given too
    many of them; many people may share one.
    """
    secret = secrets.token_urlsafe(32)
    with store.begin() as session:
        row = session.scalar(select(InviteRow).where(InviteRow.digest == digest(token)))
        if row is not None and row.revoked is None:
            expires = time.time() + PASS_DAYS * 86_400
            row.token = ""
            session.add(PassRow(invite=row.id, digest=digest(secret), expires=expires))
            return secret
    tries.note(address)
    raise ExplanationError(UNKNOWN)


def guest(store: Store, secret: str) -> Guest | None:
    """Return who has this pass; None where it has ended."""
    with store.read() as session:
        own_pass = session.scalar(select(PassRow).where(PassRow.digest == digest(secret)))
        if own_pass is None or own_pass.expires < time.time():
            return None
        row = session.get(InviteRow, own_pass.invite)
        if row is None or row.revoked is not None:
            return None
        return Guest(row.project, row.id, row.name, _role(row))


def annotator(store: Store, project: int, person: str, name: str = "") -> int:
    """Return the number of a person in a project, who joins it now if necessary.

    Without a name they get the next free one.
    """
    with store.read() as session:
        known = _known(session, project, person)
    if known is not None:
        return known
    with store.begin() as session:
        if locked(session, project) is None:
            raise ExplanationError("This project was deleted.")
        known = _known(session, project, person)
        if known is not None:
            return known
        row = AnnotatorRow(project=project, person=person, name=name or _free_name(session, project))
        session.add(row)
        session.flush()
        return row.id


def check_admitted(session: Session, annotator: int) -> None:
    """Raise `ExplanationError` where this person's invitation was revoked; in the transaction that writes."""
    person = session.scalar(select(AnnotatorRow.person).where(AnnotatorRow.id == annotator)) or ""
    kind, _, number = person.partition(" ")
    if kind == "invite":
        row = session.get(InviteRow, int(number), with_for_update=True)
        if row is None or row.revoked is not None:
            raise ExplanationError(ENDED)


def has_joined(store: Store, project: int, person: str) -> bool:
    with store.read() as session:
        return _known(session, project, person) is not None


def names(store: Store, project: int) -> dict[int, str]:
    """Return the pseudonyms of a project's people, by their number."""
    with store.read() as session:
        rows = session.execute(select(AnnotatorRow.id, AnnotatorRow.name).where(AnnotatorRow.project == project))
        return {number: name for number, name in rows}


def _known(session: Session, project: int, person: str) -> int | None:
    return session.scalar(select(AnnotatorRow.id).where(AnnotatorRow.project == project, AnnotatorRow.person == person))


def _free_name(session: Session, project: int) -> str:
    taken = {
        *session.scalars(select(AnnotatorRow.name).where(AnnotatorRow.project == project)),
        *session.scalars(select(InviteRow.name).where(InviteRow.project == project)),
    }
    return next(f"P{number}" for number in range(1, len(taken) + 2) if f"P{number}" not in taken)


def _role(row: InviteRow) -> Role:
    return "owner" if row.role == "owner" else "annotator"


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
