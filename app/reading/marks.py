"""A step in which people mark their own words before they see any explanation; their order becomes a row."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import streamlit as st

from app.compare import guess, image_overlay, score_sheet
from app.compare.engine import Engine
from app.compare.guess import Guess
from app.compare.runs import Run
from app.components import component, newest
from app.reading import live
from app.reading.audience import Audience
from app.reading.questions import request_of
from app.reading.story import LiveExample

STATE = "reading guess"  # in the session
TASK = guess.MARK.format("words")
SHOW, WAIT = "Show the explanations", "The presenter shows the explanations."
YOURS, EVERYBODYS = "Your order", "The group's order"


def show(engine: Engine, state: LiveExample, audience: Audience) -> None:
    """The input to be marked; after the reveal the explanations, with the order of all as a row."""
    given = audience.marks()
    if audience.revealed:
        order = common_order(given.values())
        people = given.values() if audience.together else ()
        live.show(engine, state, order, EVERYBODYS if audience.together else YOURS, people)
        return
    run = live.run_of(engine, request_of(state))
    if run.active and run.whole is None:
        st.fragment(run_every=live.TICK)(_wait)(run)
        return
    if audience.me:
        _to_mark(run, state, given.get(audience.me, ()), audience)
    if audience.presents:
        waits = audience.together and audience.awaited and not given
        st.button(SHOW, key="show marks", type="primary", on_click=audience.reveal, disabled=waits)
    else:
        st.caption(WAIT)


def _wait(run: Run) -> None:
    st.caption(live.LOADING)
    run.lease.renew()
    if run.whole is not None or not run.active:
        st.rerun(scope="app")


def _to_mark(run: Run, state: LiveExample, marked: tuple[int, ...], audience: Audience) -> None:
    current = st.session_state.get(STATE)
    about = (state.model, run.request.example, run.request.settings.unit)
    if not isinstance(current, Guess) or current.about != about:
        current = st.session_state[STATE] = Guess(about, marked)
    data = {
        "about": current.id,
        "labels": score_sheet.labels(run),
        "segments": score_sheet.segments(run),
        "image": image_overlay.image_data(run),
        "marked": list(current.marked),
        "moment": current.moment,
        "task": TASK,
    }
    same = run.view("reading guess", (id(run.whole), current), lambda: data)
    component("guess")(key="guess marks", data=newest("guess", same), on_marked_change=partial(_marked, run, audience))


def _marked(run: Run, audience: Audience) -> None:
    """Takes the marks as the component has them; they may be delivered twice, and count once."""
    current, marked = st.session_state.get(STATE), st.session_state["guess marks"].get("marked")
    if marked is None or not isinstance(current, Guess) or run.whole is None:
        return
    if marked["about"] == current.id and marked["moment"] > current.moment:
        units = range(len(run.whole.encoding.units))
        kept = tuple(number for number in dict.fromkeys(int(each) for each in marked["units"]) if number in units)
        st.session_state[STATE] = replace(current, marked=kept, moment=marked["moment"])
        audience.mark(kept)


def common_order(orders: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """Borda's count: of k marked units the first gets k / k points, the last 1 / k; most points first, ties in the
    order of the text."""
    points: dict[int, float] = {}
    for order in orders:
        for place, unit in enumerate(order):
            points[unit] = points.get(unit, 0.0) + (len(order) - place) / len(order)
    return tuple(sorted(points, key=lambda unit: (-points[unit], unit)))
