"""The results of a run as they come in: prediction, verdict, score sheet, sentences; and below them the rest."""

import time
from typing import NamedTuple

import streamlit as st

from app import plain_text
from app.compare import (
    guess,
    history,
    image_input,
    measurements,
    narratives,
    panels,
    people_agreement,
    score_sheet,
    session,
    url_state,
    verdict_strip,
)
from app.compare.drawing_options import DrawingOptions
from app.compare.engine import Engine
from app.compare.runs import Run
from app.model_info import info_on_card

QUICKEST, WAITING, SLOWEST = 0.5, 1.0, 3.0  # seconds between two redraws of a run that is on its way
PER_RUN = 0.1  # more seconds for each run on its way, so that many tabs do not keep the server busy with drawing
TICKS_PER_PLOT = 4  # plots and tables, which cost more, are redrawn less often


class Drawn(NamedTuple):
    """What the page was last drawn with, all of it."""

    active: bool
    settled: tuple[object, ...]
    tick: float | None
    moment: float
    narrow: bool
    view: str


def live(engine: Engine, run: Run, drawing: DrawingOptions) -> None:
    """Draws the run: prediction, verdict and sheet again and again as long as it is on its way, plots less often."""
    drawn = Drawn(
        run.active, run.settled, tick(engine, run), time.monotonic(), url_state.is_narrow(), url_state.sheet_view()
    )
    st.fragment(run_every=drawn.tick)(_upper_half)(engine, run, drawing, drawn)
    pending = measurements.pending(displayed(run))
    st.fragment(run_every=WAITING if pending else None)(_measurements)(engine, run, drawing, pending)


def tick(engine: Engine, run: Run) -> float | None:
    """Seconds between two looks at the run; None once it is over."""
    if not run.active:
        return None
    return min(SLOWEST, max(QUICKEST if run.status == "running" else WAITING, PER_RUN * len(engine.queue)))


def displayed(run: Run) -> Run | None:
    """The run, or the last good one if this one failed before the prediction."""
    if run.status == "failed" and run.whole is None:
        last: Run | None = st.session_state.get("last good run")
        return last
    return run


def _upper_half(engine: Engine, run: Run, drawing: DrawingOptions, drawn: Drawn) -> None:
    """All that changes with every tick. Draws the whole page again where more has changed."""
    if st.session_state["run"] is not run or run.abandoned or history.undone():
        st.rerun(scope="app")
    run.lease.renew()
    active = run.active
    if run.whole is not None:
        url_state.drop_unknown_units(len(run.whole.encoding.units))
    _head(engine, run)
    visible = displayed(run)
    if visible is not None and guess.waiting(visible):
        guess.show(visible)
    elif visible is not None:
        _explanations(run, visible, drawing, drawn)
    pause = TICKS_PER_PLOT * (drawn.tick or 0.0)
    more = run.settled != drawn.settled and time.monotonic() - drawn.moment >= pause
    if drawn.active and (more or not active):
        st.rerun(scope="app")


def _head(engine: Engine, run: Run) -> None:
    """The prediction beside the state of the run."""
    visible = displayed(run)
    if run.status == "failed":
        plain_text.error(run.error)
    if visible is not None and visible is not run:
        if visible.request.model == run.request.model:
            st.caption("Below: the last comparison that worked.")
        else:
            plain_text.warning(
                f"Below: the last comparison that worked. It is of another model, {visible.request.model}."
            )
    left, right = st.columns([3, 2], vertical_alignment="center")
    with left:
        if visible is not None:
            panels.prediction(visible)
    with right:
        _status(engine, run)
    if visible is not None:
        panels.about_prediction(visible, _correct_class(visible))
    if run.whole is not None and run.whole.encoding.warning:
        plain_text.warning(run.whole.encoding.warning)


def _correct_class(run: Run) -> int | None:
    """Its number, where the generator of the model's own data tells it."""
    if run.request.example.image is None or not info_on_card(run.request.model).generator_noun:
        return None
    reference = image_input.reference(run.request.example)
    return reference.label if reference is not None else None


def _explanations(run: Run, visible: Run, drawing: DrawingOptions, drawn: Drawn) -> None:
    """The verdict, the score sheet and the sentences."""
    changed = st.session_state["removed"] != run.request.removed
    if changed or url_state.is_narrow() != drawn.narrow or url_state.sheet_view() != drawn.view:
        st.rerun(scope="app")
    verdict_strip.show(visible)
    callbacks = {"toggled": url_state.unit_clicked, "narrow": url_state.resized, "view": url_state.view_chosen}
    score_sheet.show(visible, drawing, view=drawn.view, narrow=drawn.narrow, callbacks=callbacks)
    panels.changes(visible, drawing.sort)
    people_agreement.show(visible)
    reference = image_input.reference(visible.request.example)
    narratives.show(visible, reference.explanations if reference is not None else ())


def _measurements(engine: Engine, run: Run, drawing: DrawingOptions, was_pending: bool) -> None:
    visible = displayed(run)
    if visible is None or visible.question is None or guess.waiting(visible):
        return
    run.lease.renew()
    visible.lease.renew()  # curves of the last comparison that worked may still be computed
    waits = measurements.show(engine, visible, drawing, disabled=run.active)
    if waits != was_pending:
        st.rerun(scope="app")  # begins or ends the ticking


def _status(engine: Engine, run: Run) -> None:
    """One line that is always there, so that nothing jumps: the progress, and the button to stop it."""
    status = run.status  # read once: the worker may be done a moment later
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="right", key="state"):
        if status in ("waiting", "loading", "running"):
            settled = sum(column.settled for column in run.columns.values())
            ahead = engine.ahead_of(run)
            progress = {
                "waiting": f"{ahead} other comparison{'s' if ahead != 1 else ''} first" if ahead else "Starting",
                "loading": "Loading the model",
                "running": f"{settled} of {len(run.columns)} methods done"
                if settled < len(run.columns)
                else "Measuring random orders and other operators",
            }
            st.progress(settled / max(len(run.columns), 1), text=progress[status])
            st.button("Stop", on_click=run.stop, key="stop")
        elif status == "done":
            st.caption(_how(run))
            st.button("Compute again", on_click=session.again, args=(engine, run), key="again")
        elif status == "stopped":
            st.caption("Stopped. Finished results stay.")
            st.button("Continue", on_click=session.go_on, args=(engine, run), key="again")
        elif status == "failed":
            st.caption("Nothing was computed.")
            st.button("Try again", on_click=session.go_on, args=(engine, run), key="again")


def _how(run: Run) -> str:
    if not run.columns:
        return f"The prediction alone in {run.seconds:.1f} s."
    methods = f"{len(run.columns)} method{'s' if len(run.columns) != 1 else ''}"
    if run.stored is not None and all(column.stored for column in run.columns.values()):
        return f"{methods}, stored results (Crosslight {run.stored.model.crosslight})."
    known = sum(column.remembered or column.stored for column in run.columns.values())
    if known == len(run.columns):
        return f"{methods}, remembered from before."
    if known:
        return f"{methods}, {known} of them remembered; the others in {run.seconds:.1f} s."
    return f"{methods} in {run.seconds:.1f} s, curves and metrics included."
