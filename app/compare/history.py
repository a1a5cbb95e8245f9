"""Undo: what the page was asked before, so that every change can be taken back."""

from typing import Any

import streamlit as st

from app.compare import address_check

LONGEST = 100  # steps
IMAGES_KEPT = 40 * 2**20  # bytes
STEPS, PRESENT, UNDONE = "undo steps", "undo present", "undone"  # names in the session
KEYS = (  # of the question; how it is drawn has controls of its own
    "model", "example", "class", "text", "pair", "picture", "own picture", "removed", "unit", "erase",
    "learned", "captum", "controls", "pairs", "pictures", "variants", "narrators", "guess first",
    "samples", "steps", "seed",
)  # fmt: skip


def note() -> None:
    """Called once per run of the page, after its controls: a changed question is a new step."""
    now = {key: st.session_state[key] for key in KEYS if key in st.session_state}
    before = st.session_state.get(PRESENT)
    if before is not None and changed(before, now):
        address_check.forget()
        st.session_state[STEPS] = bounded([*st.session_state.get(STEPS, []), before][-LONGEST:])
    st.session_state[PRESENT] = now


def bounded(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last steps, as far back as their different images fit into the memory of a session."""
    images: dict[int, int] = {}
    for number in range(len(steps) - 1, -1, -1):
        image = steps[number].get("own picture")
        if image is not None:
            images[id(image)] = len(image.content)
        if sum(images.values()) > IMAGES_KEPT:
            return steps[number + 1 :]
    return steps


def changed(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Controls that appear or go with another model are no change of their own."""
    return any(before[key] != now[key] for key in before if key in now)


def can_undo() -> bool:
    return bool(st.session_state.get(STEPS))


def undo() -> None:
    """Brings the last question back; called before the controls are drawn."""
    steps = st.session_state.get(STEPS, [])
    if not steps:
        return
    st.session_state[STEPS], before = steps[:-1], steps[-1]
    for key, value in before.items():
        if st.session_state.get(key) != value:
            st.session_state[key] = value
    st.session_state[PRESENT] = before
    st.session_state[UNDONE] = True


def undone() -> bool:
    """Whether a step was taken back since this was last called: then the whole page must be drawn again."""
    return bool(st.session_state.pop(UNDONE, False))
