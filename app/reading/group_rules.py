"""Limits and sentences of reading groups, and what is known of one at a moment."""

import hashlib
import re
import time
from collections import deque
from dataclasses import dataclass, field
from threading import Lock

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
    """What is known of a group at a moment: the place that is shown, the revealed places, and the number of people."""

    code: str
    story: str
    step: int
    revealed: frozenset[str]
    people: int
    created: float

    @property
    def place(self) -> str:
        return place_name(self.story, self.step)


@dataclass
class Allowance:
    """At most `most` events of one visitor within so many `seconds`; those of others do not count."""

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
