"""The Reading page: the list of stories, each with a miniature of its first figure, or one story, step by step, alone
or with a group."""

import base64
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from app import plain_text
from app.compare import drawing_options, session, stored_results
from app.reading import group_view, pace, steps
from app.reading.state import Alone, reading_state
from app.reading.story import Story, request_of, stories, story_of
from explainers.errors import ExplanationError
from explainers.evaluation.names import RANDOM
from explainers.methods.registry import method_spec
from explainers.report import colours, wording

INTRODUCTION = (
    "One story per paper: its claim, its equation, live examples, bets before the answer, controls that break the "
    "method, and the paper's table beside ours. Read alone, or present it to a group."
)
UNKNOWN = "The address asks for the story “{}”, which does not exist. Choose one of these."
PRESENT_HELP = "Begins a group. Others follow your steps on their phones, bet and mark their own words."
WIDTH, HEIGHT = 160, 64
INSET = 3  # of the lines, so that their ends are not cut
MOST = 4  # lines of methods
GREY = colours.line_of(RANDOM).colour  # of the random orders, and of the frame


def show() -> None:
    """Draw the list, or the step that the address or the group names."""
    with st.container(key="reading"):
        _show()


def _show() -> None:
    if st.query_params.get("large") == "true":
        st.html(drawing_options.LARGE)
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
    group_view.lead_again()
    group_view.join_form()
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


def _alone(story: Story) -> None:
    number = pace.step_number(story)
    pace.heading(story, number)
    with st.container(horizontal=True, vertical_alignment="center"):
        pace.buttons(story, number)
        st.button(
            "Present to a group", key="present", on_click=group_view.present, args=(story, number), help=PRESENT_HELP
        )
    group_view.lead_again()
    pace.show(story, number, timer=False, keys=True)
    steps.show(session.engine(), story.steps[number - 1], Alone((story.id, number)))


if TYPE_CHECKING:
    from explainers.results.attribution import Floats
    from explainers.results.comparison import Comparison


def miniature(comparison: "Comparison", methods: tuple[str, ...]) -> str:
    """Return HTML of an image with a line per method over the dashed mean of random orders; empty where none was
    measured.

    It is an SVG inside an `img`, because Streamlit takes SVG out of HTML. So it has no colour of the text around it:
    the random orders and the frame have a grey that is seen on white and on black.
    """
    results = [result for result in comparison.displayed_results if result.attribution.method in methods][:MOST]
    if not results:
        return ""
    lines = []
    if comparison.random_control is not None:
        orders = comparison.random_control.curves
        mean = np.mean([order.removed[:, order.label] for order in orders], axis=0)
        points = _points(orders[0].shares, mean)
        lines.append(f'<polyline points="{points}" stroke="{GREY}" stroke-dasharray="3 3"/>')
    for result in results:
        points = _points(result.curves.shares, result.curves.removed[:, result.curves.label])
        colour = wording.escaped(colours.line_of(result.attribution.method).colour)
        lines.append(f'<polyline points="{points}" stroke="{colour}"/>')
    named = wording.join_names([method_spec(result.attribution.method).name for result in results])
    label = f"p({wording.target_name(comparison.decision)}) while words are removed, by {named}; dashed: random orders"
    drawing = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="4" fill="none" stroke="{GREY}" '
        f'opacity="0.5"/><g fill="none" stroke-width="2">{"".join(lines)}</g></svg>'
    )
    data = base64.b64encode(drawing.encode()).decode()
    return f'<img class="reading-miniature" alt="{escape(label)}" src="data:image/svg+xml;base64,{data}">'


def _points(shares: "Floats", p: "Floats") -> str:
    width, height = WIDTH - 2 * INSET, HEIGHT - 2 * INSET
    return " ".join(f"{INSET + width * x:.1f},{INSET + height * (1 - y):.1f}" for x, y in zip(shares, p, strict=True))


def story_miniature(story: Story) -> str:
    """Return that of the first live example whose result is stored; empty where there is none."""
    for state in (step.state for step in story.steps if step.state is not None):
        answer = stored_results.stored_answer(request_of(state))
        drawn = miniature(answer.result.comparison, state.methods) if answer is not None else ""
        if drawn:
            return drawn
    return ""
