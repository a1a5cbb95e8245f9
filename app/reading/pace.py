"""How a story is gone through: the address, the buttons, and a component for keys and time.

The component takes arrow keys and a clicker, shows the time, and keeps the anonymous name of a browser:

story, step  where the page is; its timer begins anew when this changes
steps        the number of steps that keys move between, 0 if they move nothing
heard        the last press that was heard
begun        when all of it began, seconds since 1970
timer        whether the time is shown
participant  the name that the server knows; the browser confirms it, or reports the one that it has
"""

from functools import partial

import streamlit as st

from app.components import component
from app.reading.groups import PARTICIPANT
from app.reading.state import reading_state
from app.reading.story import Story
from app.session import value_of

KEY = "reading pace"
STORY, STEP = "story", "step"  # in the address


def participant() -> str:
    """Return the anonymous name of this browser."""
    return reading_state().participant


def is_settled() -> bool:
    """Return whether the browser has confirmed the name, so that a reload and a second tab count once."""
    return reading_state().settled


def show(story: Story, step: int, *, timer: bool, keys: bool, begun: float = 0.0) -> None:
    """Draw the timer; with `keys`, arrows and a clicker move between the steps."""
    state = reading_state()
    data = {
        "story": story.id,
        "step": step,
        "steps": len(story.steps) if keys else 0,
        "heard": state.last_press,
        "begun": begun or state.begun,
        "timer": timer,
        "participant": participant(),
    }
    pressed = partial(_pressed, story) if keys else None
    component("pace")(key=KEY, data=data, on_pressed_change=pressed, on_named_change=_named)


def _pressed(story: Story) -> None:
    """Go where a press leads, which may be delivered twice; the browser counts on from presses that were not heard."""
    state, pressed = reading_state(), (value_of(KEY) or {}).get("pressed")
    if pressed is None or pressed["moment"] == state.last_press:
        return
    state.last_press = pressed["moment"]
    if pressed["story"] == story.id and 1 <= pressed["step"] <= len(story.steps):
        go(story.id, pressed["step"])


def _named() -> None:
    name = (value_of(KEY) or {}).get("named")
    if isinstance(name, str) and PARTICIPANT.fullmatch(name):
        reading_state().participant, reading_state().settled = name, True


def step_number(story: Story) -> int:
    """Return the step of the address; 1 where it names none or one that does not exist."""
    text = st.query_params.get(STEP, "1")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 1
    return number if 1 <= number <= len(story.steps) else 1


def go(story: str, step: int) -> None:
    """Go to a step in a callback; the empty story is the list."""
    reading_state().asked = (story, step)
    set_address(story, step)


def set_address(story: str, step: int) -> None:
    """Change the address, which the browser's Back undoes; the empty story is the list."""
    if story:
        st.query_params.update({STORY: story, STEP: str(step)})
    else:
        st.query_params.clear()


def move(story: Story, number: int, by: int) -> None:
    """Go one step on or back, where there is one."""
    if 1 <= number + by <= len(story.steps):
        go(story.id, number + by)


def buttons(story: Story, number: int, *, listed: bool = True) -> None:
    if listed:
        st.button("All stories", key="list", on_click=go, args=("", 0))
    st.button("Previous", key="previous", on_click=move, args=(story, number, -1), disabled=number == 1)
    last = number == len(story.steps)
    st.button("Next", key="next", type="primary", on_click=move, args=(story, number, 1), disabled=last)


def heading(story: Story, number: int) -> None:
    st.title(story.title, anchor=False)
    with st.container(key="story progress"):
        st.progress(number / len(story.steps), text=f"Step {number:d} of {len(story.steps)}")
