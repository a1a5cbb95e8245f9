"""For whom a step is drawn: one person alone, or the members of a group; and what becomes of their bets and marks.

Alone, bets and marks are in the session. In a group they are kept with the group (`groups`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from app.reading.state import OwnWork, reading_state

ME = "me"


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
