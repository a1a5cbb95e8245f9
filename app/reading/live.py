"""The live example of a step: its runs of the Compare page's engine, drawn again as long as they are on their way."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from app import plain_text
from app.compare import session, url_state
from app.compare.engine import Engine
from app.compare.leases import Lease
from app.compare.runs import Request, Run
from app.reading.parts import PARTS, Shown, duel_of, removed_units
from app.reading.questions import request_of, reversed_order
from app.reading.story import LiveExample
from explainers.methods.registry import method_spec

RUNS = "reading runs"  # in the session
KEPT = 3  # runs of a session: the step's own, with an order, and the one before
MOST_PEOPLE = 12  # curves of single people
TICK = 0.5  # seconds between two looks at a run that is on its way
WAIT = "Computing: {} of {} methods done."
LOADING = "Loading the model …"
ELSEWHERE = "Computing on another page of the group …"


class DrawnStep(NamedTuple):
    """What the whole page was last drawn with."""

    waits: bool
    removed: tuple[int, ...]
    narrow: bool
    view: str


def run_of(engine: Engine, request: Request, *, kept: int = KEPT) -> Run:
    """The session's run for a request; all but the last `kept` are stopped."""
    runs: dict[Request, Run] = st.session_state.setdefault(RUNS, {})
    run = runs.pop(request, None)
    if run is None or run.abandoned:
        run = engine.submit(request, lease=Lease(session.connection()))
        _take_over(run, list(runs.values()))
    run.lease.renew()
    runs[request] = run
    for old in list(runs)[:-kept]:
        runs.pop(old).stop()
    return run


def elsewhere(engine: Engine, state: LiveExample, order: tuple[int, ...] = ()) -> bool:
    """Whether another page, such as another phone of the group, computes the same just now: then its results are waited
    for, because they are remembered for all."""
    request = request_of(state, removed_units(state), order)
    own = st.session_state.get(RUNS, {})
    return request not in own and any(run.request == request and run.wanted for run in list(engine.queue))


def _wait_for_others(engine: Engine, state: LiveExample, order: tuple[int, ...]) -> None:
    st.caption(ELSEWHERE)
    if not elsewhere(engine, state, order):
        st.rerun(scope="app")


def _take_over(run: Run, others: list[Run]) -> None:
    """Shows what is known of the same input until the new run has results."""
    for other in reversed(others):
        same = (other.request.model, other.request.example) == (run.request.model, run.request.example)
        if same and other.whole is not None and run.status != "done":
            run.whole, run.previous, other.previous = run.whole or other.whole, other, None
            return


def current(engine: Engine, state: LiveExample, order: tuple[int, ...] = (), *, kept: int = KEPT) -> Run:
    """The run of a step, with a given `order`, or the reversed one of a method as soon as that is known."""
    removed = removed_units(state)
    run = run_of(engine, request_of(state, removed, order), kept=kept)
    if state.reversed and not run.active and not order:
        backwards = reversed_order(run, state.reversed)
        run = run_of(engine, request_of(state, removed, backwards), kept=kept) if backwards else run
    return run


def show(
    engine: Engine,
    state: LiveExample,
    order: tuple[int, ...] = (),
    name: str = "",
    people: Iterable[tuple[int, ...]] = (),
) -> None:
    """Draws the parts of the step, again and again while the run is on its way. `name` is that of the given order;
    `people` are the orders of single people, whose curves are drawn too."""
    if elsewhere(engine, state, order):
        st.fragment(run_every=TICK)(_wait_for_others)(engine, state, order)
        return
    orders = [each for each in dict.fromkeys(people) if each][:MOST_PEOPLE]
    kept = KEPT + len(orders)
    run = current(engine, state, order, kept=kept)
    runs = () if run.active else tuple(_alone(engine, state, each, kept) for each in orders)
    name = f"{method_spec(state.reversed).name}, reversed" if state.reversed and not order else name
    shown = Shown(engine, run, state, name, runs)
    drawn = DrawnStep(waits(shown), removed_units(state), url_state.is_narrow(), url_state.sheet_view())
    st.fragment(run_every=TICK if drawn.waits else None)(_draw)(shown, drawn)


def _alone(engine: Engine, state: LiveExample, order: tuple[int, ...], kept: int) -> Run:
    """One person's order without the methods, which are measured already."""
    return run_of(engine, request_of(replace(state, methods=(), narrators=()), removed_units(state), order), kept=kept)


def waits(shown: Shown) -> bool:
    """Whether anything is still to come; the first call starts the duel."""
    duelling = duel_of(shown)
    return shown.run.active or any(each.active for each in shown.people) or (duelling is not None and duelling.active)


def _draw(shown: Shown, drawn: DrawnStep) -> None:
    run, state = shown.run, shown.state
    for each in (run, *shown.people):
        each.lease.renew()
    still = waits(shown)  # before it is drawn: a result may come meanwhile
    now = DrawnStep(drawn.waits, removed_units(state), url_state.is_narrow(), url_state.sheet_view())
    if run.abandoned or now != drawn or (drawn.waits and not still):
        st.rerun(scope="app")
    with st.container(key="reading_state"):
        _status(run)
    if run.status == "failed" and run.whole is None:
        return
    for part in state.show:
        PARTS[part](shown)


def _status(run: Run) -> None:
    if run.status == "failed":
        plain_text.error(run.error)
    elif run.active:
        settled = sum(column.settled for column in run.columns.values())
        plain_text.caption(WAIT.format(settled, len(run.columns)) if run.whole is not None else LOADING)
