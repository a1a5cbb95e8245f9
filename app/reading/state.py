"""All that a session holds of the Reading page: one typed object, `ReadingState`.

Story, step and group are in the address alone, which leads the page.

An audience is for whom a step is drawn: one person alone, whose bets and marks are in the session, or the members of a
group, with which they are kept (`groups`).
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

from app.compare.runs import Request, Run
from app.compare.state import Guess
from app.reading.story import LiveExample
from app.session import held

ME = "me"


@dataclass
class OwnWork:
    """What one person has bet and marked in a step, and whether they have seen the answer."""

    bet: int | None = None
    marks: tuple[int, ...] | None = None
    revealed: bool = False


@dataclass(frozen=True)
class Erased:
    """The unit numbers that a person has erased in a live example."""

    example: LiveExample
    units: tuple[int, ...]


@dataclass(frozen=True)
class Presented:
    """What the presenter's page showed last: a step of a story, in a group."""

    group: str
    story: str
    step: int


@dataclass(frozen=True)
class Led:
    """A group that a page leads, with the presenter's key; `ended` once those who follow are told so."""

    group: str
    key: str
    ended: bool = False


@dataclass
class ReadingState:
    participant: str = field(default_factory=lambda: uuid4().hex)  # the anonymous name of this browser
    settled: bool = False  # whether the browser has confirmed it
    visitor: str = field(default_factory=lambda: uuid4().hex)  # by which wrong codes are counted
    begun: float = field(default_factory=time.time)
    last_press: float = 0.0  # the browser's clock
    problem: str = ""  # why a button could not do its work
    alone: dict[tuple[str, int], OwnWork] = field(default_factory=dict)  # by story and step
    asked: tuple[str, int] | None = None  # story and step that a button or a key led to, until the group is there
    presented: Presented | None = None
    led: Led | None = None  # the group that this page led last
    looked_at: tuple[str, int] | None = None  # story and step of the page whose look at the group began this run
    erased: Erased | None = None
    last_click: object = None
    runs: dict[Request, Run] = field(default_factory=dict)  # the newest last
    guess: Guess | None = None

    def take_problem(self) -> str:
        """Return the problem, which is shown once."""
        problem, self.problem = self.problem, ""
        return problem


def reading_state() -> ReadingState:
    """Return what the session holds of the Reading page."""
    return held(ReadingState)


class Audience(Protocol):
    """What the parts of a step ask; `place` is the story and the number of the step."""

    @property
    def place(self) -> tuple[str, int]: ...
    @property
    def presents(self) -> bool:
        """Return whether this person reveals the answers; True for a person alone."""

    @property
    def together(self) -> bool:
        """Return whether there is a group."""

    @property
    def awaited(self) -> bool:
        """Return whether there is anybody who could bet or mark."""

    @property
    def revealed(self) -> bool: ...
    @property
    def me(self) -> str:
        """Return the key of this person's bet in `bets`; empty for who only presents."""

    def bets(self) -> Mapping[str, int]: ...
    def marks(self) -> Mapping[str, tuple[int, ...]]: ...
    def bet(self, choice: int) -> None: ...
    def mark(self, units: tuple[int, ...]) -> None: ...
    def reveal(self) -> None: ...


@dataclass
class Alone:
    """One person alone: their bets and marks in this session, by the place."""

    place: tuple[str, int]
    presents: bool = True
    together: bool = False
    awaited: bool = True
    me: str = ME

    @property
    def _here(self) -> OwnWork:
        return reading_state().alone.setdefault(self.place, OwnWork())

    @property
    def revealed(self) -> bool:
        return self._here.revealed

    def bets(self) -> Mapping[str, int]:
        choice = self._here.bet
        return {} if choice is None else {ME: choice}

    def marks(self) -> Mapping[str, tuple[int, ...]]:
        units = self._here.marks
        return {} if units is None else {ME: units}

    def bet(self, choice: int) -> None:
        self._here.bet = choice

    def mark(self, units: tuple[int, ...]) -> None:
        self._here.marks = units

    def reveal(self) -> None:
        self._here.revealed = True
