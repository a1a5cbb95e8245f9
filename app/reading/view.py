"""The Reading page: the list of stories, or one story, a step at a time. The address holds story and step."""

from html import escape

import streamlit as st

from app import plain_text
from app.compare import session
from app.reading import steps
from app.reading.audience import Alone
from app.reading.reader import stories, story_of
from app.reading.story import Story
from explainers.errors import ExplanationError

STORY, STEP = "story", "step"  # in the address
INTRODUCTION = (
    "One story per paper: its claim, its equation, live examples, bets before the answer, controls that break the "
    "method, and the paper's table beside ours. Read alone, or present it to a group."
)
UNKNOWN = "The address asks for the story “{}”, which does not exist. Choose one of these."
STYLE = """<style>
.reading-kind { text-transform: uppercase; letter-spacing: 0.06em; font-size: 0.78rem; font-weight: 600; opacity: 0.75;
  margin: 0.6rem 0 0; }
.reading-meta { opacity: 0.78; margin: 0; }
.stMain [data-testid="stMarkdownContainer"] p { max-width: 48rem; }
.stMain .katex-display { overflow-x: auto; overflow-y: hidden; padding: 0.3rem 0; }
</style>"""


def show() -> None:
    """The list, or the step that the address names."""
    st.html(STYLE)
    try:
        all_stories = stories()
    except ExplanationError as error:
        plain_text.error(str(error))
        return
    asked = st.query_params.get(STORY, "")
    story = story_of(asked)
    if story is None:
        _list(all_stories, asked)
    else:
        alone(story)


def _list(all_stories: tuple[Story, ...], asked: str) -> None:
    st.title("Reading", anchor=False)
    st.write(INTRODUCTION)
    if asked:
        plain_text.warning(UNKNOWN.format(asked[:40]))
    for story in all_stories:
        with st.container(border=True):
            st.subheader(story.title, anchor=False)
            meta = f"{story.source} · {len(story.steps)} steps · about {story.minutes} minutes"
            st.html(f'<p class="reading-meta">{escape(meta)}</p>')
            st.write(story.summary)
            st.button("Open", key=f"open {story.id}", on_click=go, args=(story.id, 1))


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


def alone(story: Story) -> None:
    number = step_number(story)
    heading(story, number)
    _navigation(story, number)
    steps.show(session.engine(), story.steps[number - 1], Alone((story.id, number)))


def heading(story: Story, number: int) -> None:
    st.title(story.title, anchor=False)
    st.progress(number / len(story.steps), text=f"Step {number:d} of {len(story.steps)}")


def _navigation(story: Story, number: int) -> None:
    with st.container(horizontal=True):
        st.button("All stories", key="list", on_click=go, args=("", 0))
        st.button("Previous", key="previous", on_click=go, args=(story.id, number - 1), disabled=number == 1)
        last = number == len(story.steps)
        st.button("Next", key="next", type="primary", on_click=go, args=(story.id, number + 1), disabled=last)
