"""The results of a run as they come in: prediction, cards, curves, table, agreement, downloads."""

from typing import TYPE_CHECKING

import streamlit as st

from app import cards, charts, controls, downloads, one_kind, panels, pictures, session, state, words
from app.controls import Choice
from app.engine import Engine, Run

if TYPE_CHECKING:
    from explainers.api import Comparison

SCENES = "scenes"  # the embedded model
TICK = 0.5  # seconds between two looks at a run that is on its way
SLOW_TICK = 2.0  # for charts, which cost the browser more
CHART_BUTTONS = {"displaylogo": False, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}


def live(engine: Engine, run: Run, choice: Choice) -> None:
    """Draws the run, again and again as long as it is on its way."""
    active = run.active
    tick, pending = TICK if active else None, _pending(run)
    slow_tick = SLOW_TICK if active or pending else None
    st.fragment(run_every=tick)(_head)(engine, run, active)
    st.fragment(run_every=tick)(_words)(run)
    look = controls.look(choice, run.request.example)
    narrow = state.is_narrow()
    st.fragment(run_every=tick)(_cards)(run, look, narrow)
    st.fragment(run_every=slow_tick)(_figures)(engine, run, look, narrow, pending)


def _head(engine: Engine, run: Run, was_active: bool) -> None:
    """Where the run stands, what the model says, and what follows from the figures."""
    if st.session_state["run"] is not run:
        st.rerun(scope="app")
    active = run.active
    _status(engine, run)
    shown = _shown(run)
    if shown is not None:
        if shown is not run:
            st.caption("Below: the last comparison that worked.")
        panels.prediction(shown, _right(shown))
        panels.summary(shown, finished=not active)
    if was_active and not active:
        st.rerun(scope="app")  # ends the ticking


def _right(run: Run) -> int | None:
    """The number of the right class: of the scenes, where the model is the one that was made for them."""
    known = pictures.known(run.request.example) if run.request.picture is not None else None
    return known.label if known is not None and run.request.model == SCENES else None


def _cards(run: Run, look: cards.Look, narrow: bool) -> None:
    if st.session_state["removed"] != run.request.removed or state.is_narrow() != narrow:
        st.rerun(scope="app")
    shown = _shown(run)
    if shown is not None:
        cards.show(shown, look, state.unit_clicked, state.resized, narrow=narrow)
        panels.removed(shown, state.bring_back)


def _words(run: Run) -> None:
    shown = _shown(run)
    if shown is not None:
        known = pictures.known(shown.request.example)
        words.show(shown, known.explanations if known is not None else ())


def _shown(run: Run) -> Run | None:
    """The run, or the last good one when this one could not begin."""
    if run.status == "failed" and run.whole is None:
        last: Run | None = st.session_state.get("last good run")
        return last
    return run


def _status(engine: Engine, run: Run) -> None:
    """One line that is always there, so that nothing jumps: what is happening, and the button to stop it."""
    status = run.status  # read once: the worker may be done a moment later
    with st.container(horizontal=True, vertical_alignment="center"):
        if status in ("waiting", "loading", "running"):
            settled = sum(column.settled for column in run.columns.values())
            ahead = engine.ahead_of(run)
            said = {
                "waiting": f"{ahead} other comparison{'s' if ahead != 1 else ''} first" if ahead else "Starting",
                "loading": "Loading the model",
                "running": f"{settled} of {len(run.columns)} methods done",
            }
            st.progress(settled / max(len(run.columns), 1), text=said[status])
            st.button("Stop", on_click=run.stop, key="stop")
        elif status == "done":
            methods = f"All {len(run.columns)} methods" if run.columns else "The prediction alone"
            remembered = run.columns and all(column.remembered for column in run.columns.values())
            how = "remembered from before" if remembered else f"in {run.seconds:.1f} s"
            st.caption(f"{methods} {how}, curves and figures included.")
            st.button("Compute again", on_click=session.again, args=(engine, run), key="again")
        elif status == "stopped":
            st.caption("Stopped. What was finished stays.")
            st.button("Go on", on_click=session.go_on, args=(engine, run), key="again")
    if status == "failed":
        st.error(panels.plain(run.error))
    if run.whole is not None and run.whole.encoding.notice:
        st.warning(panels.plain(run.whole.encoding.notice))


def _figures(engine: Engine, run: Run, look: cards.Look, narrow: bool, was_pending: bool) -> None:
    shown = _shown(run)
    if shown is None or shown.question is None:
        return
    comparison = shown.comparison()
    pictured = shown.question.encoding.pictured
    st.subheader(f"What happens when words{' and patches' if pictured else ''} go", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = _kind() if pictured else None
        reverse = st.toggle(
            "Reverse order too",
            value=True,
            key="reverse",
            bind="query-params",
            persist_state="session",
            help="Dotted: the least important first. The further it lies above the solid line, the better the order.",
        )
    drawn, units = _drawn(engine, shown, kind, comparison)
    curves = charts.curves(drawn, percent=look.percent, reverse=reverse, narrow=narrow, units=units)
    st.plotly_chart(curves, key="curves", config=CHART_BUTTONS)
    st.subheader("Figures", anchor=False)
    panels.table(comparison)
    st.subheader("Do the methods agree?", anchor=False)
    panels.agreement(comparison)
    downloads.show(comparison, disabled=run.active)
    if _pending(run) != was_pending:
        st.rerun(scope="app")  # begins or ends the ticking


def _kind() -> one_kind.Kind | None:
    """Which units are erased in the curves; None for both kinds."""
    kinds: dict[str, one_kind.Kind | None] = {"Both": None, "Picture": "patch", "Text": "word"}
    chosen = st.segmented_control(
        "What is erased",
        list(kinds),
        default="Both",
        required=True,
        key="erased",
        bind="query-params",
        persist_state="session",
        help="Picture: only patches are erased and every word stays. Text: only words are erased and the picture "
        "stays. The figures below are always about both together.",
    )
    return kinds[chosen or "Both"]


def _drawn(engine: Engine, run: Run, kind: one_kind.Kind | None, comparison: "Comparison") -> tuple["Comparison", str]:
    """The curves over both kinds of units, or over one of them, as far as they are known; and what is erased."""
    if kind is None:
        return comparison, "units"
    what = {"patch": "patches", "word": "words"}[kind]
    if run.active:
        st.caption(f"The curves over {what} alone are computed when all methods are done. Below: both kinds.")
        return comparison, "units"
    found = one_kind.curves(engine, run, kind)
    if found.active:
        st.caption(f"Erases {what} alone: {found.known_of(comparison)} methods done.")
    elif found.error:
        st.error(panels.plain(found.error))
    return found.of(comparison), what


def _pending(run: Run) -> bool:
    """Whether curves over one kind of units are on their way."""
    shown = _shown(run)
    return shown is not None and any(each.active for each in shown.one_kind.values())
