"""The results of a run as they come in: prediction, sentences, cards."""

import time
from typing import NamedTuple

import streamlit as st

from app import plain_text
from app.compare import drawing_options, image_input, measurements, method_cards, narratives, panels, session, url_state
from app.compare.drawing_options import DrawingOptions
from app.compare.engine import Engine
from app.compare.runs import Run
from app.compare.sidebar import ComparisonOptions
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


def live(engine: Engine, run: Run, options: ComparisonOptions) -> None:
    """Draws the run: prediction, sentences and cards again and again as long as it is on its way, plots less often."""
    drawn = Drawn(run.active, run.settled, tick(engine, run), time.monotonic(), url_state.is_narrow())
    drawing = drawing_options.drawing_options(options.preset, options.scale, run.request.example)
    st.fragment(run_every=drawn.tick)(_upper_half)(engine, run, drawing, drawn)
    pending = measurements.pending(displayed(run))
    st.fragment(run_every=WAITING if pending else None)(_measurements)(engine, run, drawing, drawn.narrow, pending)


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
    if st.session_state["run"] is not run or run.abandoned:
        st.rerun(scope="app")
    run.lease.renew()
    active = run.active
    _head(engine, run, finished=not active)
    _narratives(run)
    _cards(run, drawing, drawn.narrow)
    pause = TICKS_PER_PLOT * (drawn.tick or 0.0)
    more = run.settled != drawn.settled and time.monotonic() - drawn.moment >= pause
    if drawn.active and (more or not active):
        st.rerun(scope="app")


def _head(engine: Engine, run: Run, *, finished: bool) -> None:
    """The state of the run, the prediction, and what follows from the metrics."""
    _status(engine, run)
    visible = displayed(run)
    if visible is not None:
        if visible is not run:
            st.caption("Below: the last comparison that worked.")
        panels.prediction(visible, _correct_class(visible))
        panels.summary(visible, finished=finished)


def _correct_class(run: Run) -> int | None:
    """Its number, where the generator of the model's own data tells it."""
    if run.request.example.image is None or not info_on_card(run.request.model).generator_noun:
        return None
    reference = image_input.reference(run.request.example)
    return reference.label if reference is not None else None


def _narratives(run: Run) -> None:
    visible = displayed(run)
    if visible is not None:
        reference = image_input.reference(visible.request.example)
        narratives.show(visible, reference.explanations if reference is not None else ())


def _cards(run: Run, drawing: DrawingOptions, narrow: bool) -> None:
    if st.session_state["removed"] != run.request.removed or url_state.is_narrow() != narrow:
        st.rerun(scope="app")
    visible = displayed(run)
    if visible is not None:
        method_cards.show(visible, drawing, url_state.unit_clicked, url_state.resized, narrow=narrow)
        panels.removed(visible, url_state.restore_all)


def _measurements(engine: Engine, run: Run, drawing: DrawingOptions, narrow: bool, was_pending: bool) -> None:
    visible = displayed(run)
    if visible is None or visible.question is None:
        return
    run.lease.renew()
    visible.lease.renew()  # curves of the last comparison that worked may still be computed
    measurements.show(engine, visible, drawing, narrow=narrow, disabled=run.active)
    if measurements.pending(displayed(run)) != was_pending:
        st.rerun(scope="app")  # begins or ends the ticking


def _status(engine: Engine, run: Run) -> None:
    """One line that is always there, so that nothing jumps: the progress, and the button to stop it."""
    status = run.status  # read once: the worker may be done a moment later
    with st.container(horizontal=True, vertical_alignment="center"):
        if status in ("waiting", "loading", "running"):
            settled = sum(column.settled for column in run.columns.values())
            ahead = engine.ahead_of(run)
            progress = {
                "waiting": f"{ahead} other comparison{'s' if ahead != 1 else ''} first" if ahead else "Starting",
                "loading": "Loading the model",
                "running": f"{settled} of {len(run.columns)} methods done",
            }
            st.progress(settled / max(len(run.columns), 1), text=progress[status])
            st.button("Stop", on_click=run.stop, key="stop")
        elif status == "done":
            methods = f"All {len(run.columns)} methods" if run.columns else "The prediction alone"
            remembered = run.columns and all(column.remembered for column in run.columns.values())
            how = "remembered from before" if remembered else f"in {run.seconds:.1f} s"
            st.caption(f"{methods} {how}, curves and metrics included.")
            st.button("Compute again", on_click=session.again, args=(engine, run), key="again")
        elif status == "stopped":
            st.caption("Stopped. Finished results stay.")
            st.button("Continue", on_click=session.go_on, args=(engine, run), key="again")
        elif status == "failed":
            plain_text.error(run.error)
            st.button("Try again", on_click=session.go_on, args=(engine, run), key="again")
    if run.whole is not None and run.whole.encoding.warning:
        plain_text.warning(run.whole.encoding.warning)
