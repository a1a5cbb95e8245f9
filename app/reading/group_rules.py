"""Limits and sentences of reading groups, and what is known of one at a moment."""

import hashlib
import re
import time
from collections import deque
from dataclasses import dataclass, field
from threading import Lock

from explainers.errors import ExplanationError

ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # without letters that look like digits
LENGTH = 6  # of a code
DAY = 24 * 3600.0  # seconds after which a group ends
MOST_GROUPS, MOST_PEOPLE, MOST_NOTES = 100, 200, 20  # groups at a time; people in one; notes of a person
LONGEST_NOTE = 500  # characters
MOST_MARKS = 200  # units of one person
REMEMBERED = 0.3  # seconds for which a look is remembered
MINUTE, STARTED_PER_MINUTE, MISSED_PER_MINUTE = 60.0, 20, 60
CODE, PARTICIPANT = re.compile(f"[{ALPHABET}]{{{LENGTH}}}"), re.compile("[0-9a-f]{32}")
PRESENT, BET, MARKS, NOTE = "present", "bet", "marks", "note"  # kinds of entries

UNKNOWN = "There is no group {}. Check the code; a group ends after a day."
TOO_MANY = "Too many codes were tried. Wait a minute."
BUSY = "Too many groups are open. Try again later."
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
    """At most `most` events within a minute."""

    most: int
    moments: deque[float] = field(default_factory=deque)
    changing: Lock = field(default_factory=Lock)

    def exhausted(self) -> bool:
        with self.changing:
            while self.moments and time.monotonic() - self.moments[0] > MINUTE:
                self.moments.popleft()
            return len(self.moments) >= self.most

    def spend(self) -> None:
        with self.changing:
            self.moments.append(time.monotonic())


def place_name(story: str, step: int) -> str:
    return f"{story}/{step}"


def hashed(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
