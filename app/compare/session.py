"""Which run a session is looking at: a new one as soon as the question changes, the old one as long as it does not."""

from dataclasses import replace

import streamlit as st

from app.compare import controls, file_rows, guess, question_form
from app.compare.engine import Engine
from app.compare.runs import Lease, Request, Run, answer_of
from app.compare.state import compare_state
from app.server import lifetime
from app.session import model_pool
from app.streamlit_shims import connection


@st.cache_resource(show_spinner=False, on_release=Engine.close)
def engine() -> Engine:
    """One for all sessions."""
    result = Engine(model_pool())
    lifetime.register(result)
    return result


def run_for(engine: Engine, question: question_form.Question, options: controls.ComparisonOptions) -> Run:
    """Return the run that the session looks at: a new one where the question is another."""
    state = compare_state()
    request = Request(
        question.model,
        question.example,
        question.label,
        options.methods,
        options.settings,
        state.controls.removed,
        options.narrators,
        guess.order(question.model, question.example, options.settings.units),
        file_rows.rows(question.example),
        question.versus,
        options.device,
        options.precision,
        options.budget,
    )
    current = state.run
    if (
        current is not None
        and current.request == request
        and not current.abandoned
        and not gives_more_time(request, current)
        and not engine.is_fetched_since(current)
    ):
        current.lease.renew()
        current.follow_time(request.budget)
        return current
    if current is not None:
        current.stop()
    run = start(engine, request)
    run.follow_time(request.budget)
    return run


def start(engine: Engine, request: Request, *, fresh: bool = False) -> Run:
    """Starts a run, and keeps on screen what the one before knew about the same input."""
    state = compare_state()
    before = state.run
    if state.beside_run is not None:  # it was about the run before
        state.beside_run.stop()
        state.beside_run = None
    run = engine.submit(request, fresh=fresh, lease=Lease(connection()))
    if before is not None and (before.request.model, before.request.example) == (request.model, request.example):
        run.earlier = before.earlier if answer_of(before).status == "pending" else before
    if before is not None:
        before.earlier = None
    if before is not None and before.whole is not None:
        if units_of(before.request) == units_of(request):
            run.whole = run.whole or before.whole
            run.previous = before if before.settled[0] or before.previous is None else before.previous
        before.previous = None  # one step back is enough
        if before.finished or before.settled_methods:  # also what was stopped has something to show
            state.last_good_run = before
    state.run = run
    return run


def units_of(request: Request) -> tuple[object, ...]:
    """Return what the numbers of the units depend on."""
    return request.model, request.example, request.settings.units


def gives_more_time(request: Request, run: Run) -> bool:
    """Return whether the request gives more time than the run had, which could not do all in its own."""
    before, now = run.short_of, request.budget
    return run.is_short and before is not None and (now is None or now > before)


def go_on(engine: Engine, run: Run) -> None:
    """Starts a stopped run again; what was finished is remembered."""
    start(engine, run.request).rest_of = run


def download(engine: Engine, run: Run) -> None:
    """Lets the model be fetched, and starts the run again."""
    engine.pool.allow_download(run.request.model)
    start(engine, run.request)


def complete(engine: Engine, run: Run) -> None:
    """Computes what did not fit into the run's budget; what is done is remembered."""
    start(engine, replace(run.request, budget=None)).rest_of = run


def again(engine: Engine, run: Run) -> None:
    """Computes everything again, also what is remembered."""
    start(engine, run.request, fresh=True)
