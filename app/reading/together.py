"""The audience of a step in a group: bets and marks are the group's."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from app.reading.group_rules import GroupView
from app.reading.groups import Groups
from explainers.errors import ExplanationError

PROBLEM = "reading problem"  # in the session: why a button could not do its work


@dataclass(frozen=True)
class Together:
    """`key` is the presenter's, empty for the others; `me` is empty for the presenter."""

    groups: Groups
    view: GroupView
    key: str = ""
    me: str = ""
    together: bool = True

    @property
    def place(self) -> tuple[str, int]:
        return self.view.story, self.view.step

    @property
    def presents(self) -> bool:
        return bool(self.key)

    @property
    def awaited(self) -> bool:
        return self.view.people > 0

    @property
    def revealed(self) -> bool:
        return self.view.place in self.view.revealed

    def bets(self) -> Mapping[str, int]:
        return self.groups.bets(self.view.code, self.view.place)

    def marks(self) -> Mapping[str, tuple[int, ...]]:
        return self.groups.marks(self.view.code, self.view.place)

    def bet(self, choice: int) -> None:
        attempt(lambda: self.groups.bet(self.view.code, self.me, self.view.place, choice))

    def mark(self, units: tuple[int, ...]) -> None:
        attempt(lambda: self.groups.mark(self.view.code, self.me, self.view.place, units))

    def reveal(self) -> None:
        attempt(lambda: self.groups.reveal(self.view.code, self.key, self.view.place))


def attempt(work: Callable[[], None]) -> None:
    """In a callback: what cannot be done is said when the page is drawn."""
    try:
        work()
    except ExplanationError as error:
        st.session_state[PROBLEM] = str(error)
