"""Which run a session is looking at: a new one as soon as the question changes, the old one as long as it does not."""

import streamlit as st

from app.compare.engine import Engine
from app.compare.runs import Request, Run
from app.compare.sidebar import ComparisonOptions
from app.session import model_pool
from explainers.datasets.example import Example


@st.cache_resource(show_spinner=False)
def engine() -> Engine:
    """One for all sessions."""
    return Engine(model_pool())


def run_for(engine: Engine, model: str, example: Example, label: str | None, options: ComparisonOptions) -> Run:
    removed = st.session_state["removed"]
    request = Request(model, example, label, options.methods, options.settings, removed)
    current: Run | None = st.session_state.get("run")
    if current is not None and current.request == request:
        return current
    if current is not None:
        current.stop()
    return start(engine, request)


def start(engine: Engine, request: Request, *, fresh: bool = False) -> Run:
    """Starts a run, and keeps on screen what the one before knew about the same input."""
    before: Run | None = st.session_state.get("run")
    run = engine.submit(request, fresh=fresh)
    if before is not None and before.whole is not None:
        if (before.request.model, before.request.example, before.request.settings.unit) == (
            request.model,
            request.example,
            request.settings.unit,
        ):
            run.whole = run.whole or before.whole
        if before.status == "done":
            st.session_state["last good run"] = before
    st.session_state["run"] = run
    return run


def go_on(engine: Engine, run: Run) -> None:
    """Starts a stopped run again; what was finished is remembered."""
    start(engine, run.request)


def again(engine: Engine, run: Run) -> None:
    """Computes everything again, also what is remembered."""
    start(engine, run.request, fresh=True)
