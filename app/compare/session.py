"""Which run a session is looking at: a new one as soon as the question changes, the old one as long as it does not."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.compare import file_rows, guess
from app.compare.engine import Engine
from app.compare.leases import Lease
from app.compare.runs import Request, Run
from app.compare.sidebar import ComparisonOptions
from app.server import lifetime
from app.session import model_pool
from explainers.datasets.example import Example


@st.cache_resource(show_spinner=False, on_release=Engine.close)
def engine() -> Engine:
    """One for all sessions."""
    result = Engine(model_pool())
    lifetime.register(result)
    return result


def run_for(engine: Engine, model: str, example: Example, label: str | None, options: ComparisonOptions) -> Run:
    removed = st.session_state["removed"]
    order = guess.order(model, example, options.settings.unit)
    request = Request(model, example, label, options.methods, options.settings, removed, options.narrators, order)
    request = replace(request, given=file_rows.rows(example))
    current: Run | None = st.session_state.get("run")
    if current is not None and current.request == request and not current.abandoned:
        current.lease.renew()
        return current
    if current is not None:
        current.stop()
    return start(engine, request)


def start(engine: Engine, request: Request, *, fresh: bool = False) -> Run:
    """Starts a run, and keeps on screen what the one before knew about the same input."""
    before: Run | None = st.session_state.get("run")
    run = engine.submit(request, fresh=fresh, lease=Lease(connection()))
    if before is not None and before.whole is not None:
        if (before.request.model, before.request.example, before.request.settings.unit) == (
            request.model,
            request.example,
            request.settings.unit,
        ):
            run.whole = run.whole or before.whole
            run.previous = before if before.settled[0] or before.previous is None else before.previous
        before.previous = None  # one step back is enough
        if before.status == "done":
            st.session_state["last good run"] = before
    st.session_state["run"] = run
    return run


def connection() -> Callable[[], bool]:
    """Tells, from any thread, whether the browser's tab of this session is still there."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():  # in a test
        return lambda: True
    server, session = runtime.get_instance(), context.session_id
    return lambda: server.is_active_session(session)


def go_on(engine: Engine, run: Run) -> None:
    """Starts a stopped run again; what was finished is remembered."""
    start(engine, run.request)


def again(engine: Engine, run: Run) -> None:
    """Computes everything again, also what is remembered."""
    start(engine, run.request, fresh=True)
