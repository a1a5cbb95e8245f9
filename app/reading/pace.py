"""The component that takes arrow keys and a clicker, shows the time, and keeps the anonymous name of a browser.

place        story and step; its timer begins anew when this changes
begun        when all of it began, seconds since 1970
timer        whether the time is shown
moves        whether keys move between steps
participant  the name that the server knows; the browser confirms it, or reports the one that it has
"""

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import streamlit as st

from app.components import component
from app.reading.group_rules import PARTICIPANT

KEY = "reading pace"
NAME, SETTLED = "reading participant", "reading participant settled"  # in the session
BEGUN, PRESSED = "reading begun", "reading last press"


def participant() -> str:
    """The anonymous name of this browser."""
    name: str = st.session_state.setdefault(NAME, uuid4().hex)
    return name


def is_settled() -> bool:
    """Whether the browser has confirmed the name, so that a reload and a second tab are not counted as other people."""
    return bool(st.session_state.get(SETTLED, False))


def show(place: str, *, timer: bool, move: Callable[[int], None] | None = None, begun: float = 0.0) -> None:
    """Draws the timer, and calls `move` with 1 or -1 when a key is pressed."""
    data = {
        "place": place,
        "begun": begun or st.session_state.setdefault(BEGUN, time.time()),
        "timer": timer,
        "moves": move is not None,
        "participant": participant(),
    }
    component("pace")(
        key=KEY, data=data, on_pressed_change=lambda: _pressed(place, move), on_named_change=lambda: _named()
    )


def _pressed(place: str, move: Callable[[int], None] | None) -> None:
    """A press may be delivered twice, and counts once; one that was meant for another step came too late."""
    pressed: dict[str, Any] | None = st.session_state[KEY].get("pressed")
    if pressed is None or move is None or pressed == st.session_state.get(PRESSED):
        return
    st.session_state[PRESSED] = pressed
    if pressed["step"] == place:
        move(1 if pressed["by"] == 1 else -1)


def _named() -> None:
    name = st.session_state[KEY].get("named")
    if isinstance(name, str) and PARTICIPANT.fullmatch(name):
        st.session_state[NAME] = name
        st.session_state[SETTLED] = True
