"""The results of a run as they come in: prediction, sentences, cards."""

import streamlit as st

from app.compare import drawing_options, image_input, measurements, method_cards, narratives, panels, session, url_state
from app.compare.drawing_options import DrawingOptions
from app.compare.engine import Engine
from app.compare.runs import Run
from app.compare.sidebar import ComparisonOptions
from app.markdown import markdown
from app.model_info import info_on_card

TICK = 0.5  # seconds between two redraws of a run that is on its way
SLOW_TICK = 2.0  # for plots, which cost the browser more


def live(engine: Engine, run: Run, options: ComparisonOptions) -> None:
    """Draws the run, again and again as long as it is on its way."""
    active = run.active
    tick, pending = TICK if active else None, measurements.pending(displayed(run))
    slow_tick = SLOW_TICK if active or pending else None
    st.fragment(run_every=tick)(_head)(engine, run, active)
    st.fragment(run_every=tick)(_narratives)(run)
    drawing = drawing_options.drawing_options(options.preset, options.scale, run.request.example)
    narrow = url_state.is_narrow()
    st.fragment(run_every=tick)(_cards)(run, drawing, narrow)
    st.fragment(run_every=slow_tick)(_measurements)(engine, run, drawing, narrow, pending)


def displayed(run: Run) -> Run | None:
    """The run, or the last good one if this one failed before the prediction."""
    if run.status == "failed" and run.whole is None:
        last: Run | None = st.session_state.get("last good run")
        return last
    return run


def _head(engine: Engine, run: Run, was_active: bool) -> None:
    """The state of the run, the prediction, and what follows from the metrics."""
    if st.session_state["run"] is not run:
        st.rerun(scope="app")
    active = run.active
    _status(engine, run)
    visible = displayed(run)
    if visible is not None:
        if visible is not run:
            st.caption("Below: the last comparison that worked.")
        panels.prediction(visible, _correct_class(visible))
        panels.summary(visible, finished=not active)
    if was_active and not active:
        st.rerun(scope="app")  # ends the ticking


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
    if status == "failed":
        st.error(markdown(run.error))
    if run.whole is not None and run.whole.encoding.warning:
        st.warning(markdown(run.whole.encoding.warning))
