"""The Reading page: the list of stories, or one story, a step at a time, alone or with a group."""

from functools import partial
from html import escape

import streamlit as st

from app import plain_text
from app.compare import session
from app.compare.drawing_options import LARGE
from app.reading import group_view, navigation, pace, steps
from app.reading.audience import Alone
from app.reading.group_rules import place_name
from app.reading.reader import stories, story_of
from app.reading.story import Story
from explainers.errors import ExplanationError

INTRODUCTION = (
    "One story per paper: its claim, its equation, live examples, bets before the answer, controls that break the "
    "method, and the paper's table beside ours. Read alone, or present it to a group."
)
UNKNOWN = "The address asks for the story “{}”, which does not exist. Choose one of these."
CODE_HELP = "The presenter's page shows the code."
PRESENT_HELP = "Begins a group. Others follow your steps on their phones, bet and mark their own words."
STYLE = """<style>
.reading-kind { text-transform: uppercase; letter-spacing: 0.06em; font-size: 0.78rem; font-weight: 600; opacity: 0.75;
  margin: 0.6rem 0 0; }
.st-key-presenter { padding-top: 0.8rem; }
.reading-meta { opacity: 0.78; margin: 0; }
.stMain [data-testid="stMarkdownContainer"] p, .stMain [data-testid="stMarkdownContainer"] li { max-width: 48rem; }
.stMain [data-testid="stMarkdownContainer"]:has(> table) { overflow-x: auto; }
.stMain .katex-display { overflow-x: auto; overflow-y: hidden; padding: 0.3rem 0; }
</style>"""


def show() -> None:
    """The list, or the step that the address or the group names."""
    st.html(STYLE)
    if st.query_params.get("large") == "true":
        st.html(LARGE)
    group_view.problem()
    try:
        all_stories = stories()
    except ExplanationError as error:
        plain_text.error(str(error))
        return
    asked = st.query_params.get(navigation.STORY, "")
    story = story_of(asked)
    if group_view.GROUP in st.query_params:
        group_view.show()
    elif story is not None:
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
    for story in all_stories:
        with st.container(border=True):
            st.subheader(story.title, anchor=False)
            meta = f"{story.source} · {len(story.steps)} steps · about {story.minutes} minutes"
            st.html(f'<p class="reading-meta">{escape(meta)}</p>')
            st.write(story.summary)
            st.button("Open", key=f"open {story.id}", on_click=navigation.go, args=(story.id, 1))


def _join() -> None:
    st.query_params[group_view.GROUP] = st.session_state["join code"].strip().upper()


def _alone(story: Story) -> None:
    number = navigation.step_number(story)
    navigation.heading(story, number)
    with st.container(horizontal=True, vertical_alignment="center"):
        navigation.buttons(story, number)
        st.button(
            "Present to a group", key="present", on_click=group_view.present, args=(story, number), help=PRESENT_HELP
        )
    pace.show(place_name(story.id, number), timer=False, move=partial(navigation.move, story, number))
    steps.show(session.engine(), story.steps[number - 1], Alone((story.id, number)))
