"""The Reading page: the list of stories, or one story, a step at a time, alone or with a group."""

from html import escape

import streamlit as st

from app import plain_text
from app.compare import session
from app.compare.drawing_options import LARGE
from app.reading import (
    group_view,
    pace,
    steps,
)
from app.reading.audience import Alone
from app.reading.miniature import story_miniature
from app.reading.reader import stories, story_of
from app.reading.state import reading_state
from app.reading.story import Story
from app.session import value_of
from explainers.errors import ExplanationError

INTRODUCTION = (
    "One story per paper: its claim, its equation, live examples, bets before the answer, controls that break the "
    "method, and the paper's table beside ours. Read alone, or present it to a group."
)
UNKNOWN = "The address asks for the story “{}”, which does not exist. Choose one of these."
CODE_HELP = "The presenter's page shows the code."
PRESENT_HELP = "Begins a group. Others follow your steps on their phones, bet and mark their own words."


def show() -> None:
    """Draw the list, or the step that the address or the group names."""
    with st.container(key="reading"):
        _show()


def _show() -> None:
    if st.query_params.get("large") == "true":
        st.html(LARGE)
    group_view.problem()
    try:
        all_stories = stories()
    except ExplanationError as error:
        plain_text.error(str(error))
        return
    asked = st.query_params.get(pace.STORY, "")
    story = story_of(asked)
    if group_view.GROUP in st.query_params:
        group_view.show()
        return
    reading_state().asked = None  # alone the address leads
    if story is not None:
        _alone(story)
    else:
        _list(all_stories, asked)


def _list(all_stories: tuple[Story, ...], asked: str) -> None:
    st.title("Reading", anchor=False)
    st.write(INTRODUCTION)
    if asked:
        plain_text.warning(UNKNOWN.format(asked[:40]))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        code = st.text_input("Join a group by its code", max_chars=12, key="join code", help=CODE_HELP, width=260)
        st.button("Join", key="join", on_click=_join, disabled=not (code or "").strip())
    with st.container(key="stories"):
        for story in all_stories:
            _card(story)


def _card(story: Story) -> None:
    with st.container(border=True):
        st.subheader(story.title, anchor=False)
        meta = f"{story.source} · {len(story.steps)} steps · about {story.minutes} minutes"
        st.html(f'<p class="reading-meta">{escape(meta)}</p>{story_miniature(story)}')
        st.write(story.summary)
        st.button("Open", key=f"open {story.id}", on_click=pace.go, args=(story.id, 1))


def _join() -> None:
    st.query_params[group_view.GROUP] = str(value_of("join code") or "").strip().upper()


def _alone(story: Story) -> None:
    number = pace.step_number(story)
    pace.heading(story, number)
    with st.container(horizontal=True, vertical_alignment="center"):
        pace.buttons(story, number)
        st.button(
            "Present to a group", key="present", on_click=group_view.present, args=(story, number), help=PRESENT_HELP
        )
    pace.show(story, number, timer=False, keys=True)
    steps.show(session.engine(), story.steps[number - 1], Alone((story.id, number)))
