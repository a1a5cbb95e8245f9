"""Story and step in the address, and the buttons that change them."""

import streamlit as st

from app.reading.story import Story

STORY, STEP = "story", "step"  # in the address


def step_number(story: Story) -> int:
    """From the address; 1 where it names none or one that does not exist."""
    text = st.query_params.get(STEP, "1")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 1
    return number if 1 <= number <= len(story.steps) else 1


def go(story: str, step: int) -> None:
    """Changes the address, which the browser's Back undoes; the empty story is the list."""
    if story:
        st.query_params.update({STORY: story, STEP: str(step)})
    else:
        st.query_params.clear()


def move(story: Story, number: int, by: int) -> None:
    """One step on or back, where there is one."""
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
    st.progress(number / len(story.steps), text=f"Step {number:d} of {len(story.steps)}")
