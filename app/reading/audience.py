"""For whom a step is drawn: one person alone, or the members of a group; and what becomes of their bets and marks.

Alone, bets and marks are in the session. In a group they are kept with the group (`groups`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import streamlit as st

ALONE = "reading alone"  # in the session
ME = "me"


class Audience(Protocol):
    """What the parts of a step ask. `place` is the story and the number of the step."""

    @property
    def place(self) -> tuple[str, int]: ...
    @property
    def presents(self) -> bool:
        """Whether this person reveals the answers; true for a person alone."""

    @property
    def together(self) -> bool:
        """Whether there is a group."""

    @property
    def awaited(self) -> bool:
        """Whether there is anybody who could bet or mark."""

    @property
    def revealed(self) -> bool: ...
    @property
    def me(self) -> str:
        """By whom this person's bet is found in `bets`; empty for who only presents."""

    def bets(self) -> Mapping[str, int]: ...
    def marks(self) -> Mapping[str, tuple[int, ...]]: ...
    def bet(self, choice: int) -> None: ...
    def mark(self, units: tuple[int, ...]) -> None: ...
    def reveal(self) -> None: ...


@dataclass
class Alone:
    """What one person has bet and marked in this session, by the place."""

    place: tuple[str, int]
    presents: bool = True
    together: bool = False
    awaited: bool = True
    me: str = ME
    kept: dict[tuple[str, int], dict[str, object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kept = st.session_state.setdefault(ALONE, self.kept)

    @property
    def _here(self) -> dict[str, object]:
        return self.kept.setdefault(self.place, {})

    @property
    def revealed(self) -> bool:
        return bool(self._here.get("revealed", False))

    def bets(self) -> Mapping[str, int]:
        choice = self._here.get("bet")
        return {ME: choice} if isinstance(choice, int) else {}

    def marks(self) -> Mapping[str, tuple[int, ...]]:
        units = self._here.get("marks")
        return {ME: units} if isinstance(units, tuple) else {}

    def bet(self, choice: int) -> None:
        self._here["bet"] = choice

    def mark(self, units: tuple[int, ...]) -> None:
        self._here["marks"] = units

    def reveal(self) -> None:
        self._here["revealed"] = True
