"""The lower half of the Compare page: curves, metrics, agreement and downloads."""

from typing import TYPE_CHECKING

import streamlit as st

from app import plain_text
from app.compare import charts, exports, modality_curves, panels
from app.compare.drawing_options import DrawingOptions
from app.compare.engine import Engine
from app.compare.modality_curves import ModalityCurves
from app.compare.runs import Run
from explainers.metrics.modalities import Kind

if TYPE_CHECKING:
    import plotly.graph_objects as go

CHART_BUTTONS = {"displaylogo": False, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}
MODALITIES: dict[str, Kind] = {"Image": "patch", "Text": "word"}
BOTH = "Both"
PLURALS = {"patch": "patches", "word": "words"}


def show(engine: Engine, run: Run, drawing: DrawingOptions, *, narrow: bool, disabled: bool) -> None:
    """Of a run with a prediction. Downloads are `disabled` until it is over."""
    multimodal = run.question is not None and run.question.encoding.multimodal
    st.subheader(f"Removing and keeping words{' and patches' if multimodal else ''}", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = _kind() if multimodal else None
        reverse = st.toggle(
            "Reverse order too",
            value=True,
            key="reverse",
            bind="query-params",
            persist_state="session",
            help="Dotted: the least important first. The further it lies above the solid line, the better the order.",
        )
    figure = _curves(run, _single_modality(engine, run, kind), drawing.percent, reverse=reverse, narrow=narrow)
    st.plotly_chart(figure, key="curves", config=CHART_BUTTONS)
    st.subheader("Metrics", anchor=False)
    panels.table(run)
    st.subheader("Do the methods agree?", anchor=False)
    panels.agreement(run)
    exports.show(run.comparison(), disabled=disabled)


def pending(run: Run | None) -> bool:
    """Whether curves over one kind of units are on their way."""
    return run is not None and any(curves.active for curves in run.modality_curves.values())


def _kind() -> Kind | None:
    """Which units are erased in the curves; None for both kinds."""
    chosen = st.segmented_control(
        "Erased units",
        [BOTH, *MODALITIES],
        default=BOTH,
        required=True,
        key="erased",
        bind="query-params",
        persist_state="session",
        help="Image: only patches are erased and every word stays. Text: only words are erased and the image stays. "
        "The metrics below always count both.",
    )
    return MODALITIES.get(chosen or BOTH)


def _single_modality(engine: Engine, run: Run, kind: Kind | None) -> ModalityCurves | None:
    """The curves over one kind of units, once they can be computed; their state in a line."""
    if kind is None:
        return None
    if run.active:
        st.caption(f"The curves over {PLURALS[kind]} alone follow when all methods are done. Below: both kinds.")
        return None
    result = modality_curves.modality_curves(engine, run, kind)
    if result.active:
        st.caption(f"Erasing {PLURALS[kind]} alone: {result.progress(run.comparison())} methods done.")
    elif result.error:
        plain_text.error(result.error)
    return result


def _curves(run: Run, single: ModalityCurves | None, percent: int, *, reverse: bool, narrow: bool) -> "go.Figure":
    """Over both kinds of units or a single one, drawn again only where something has changed."""

    def draw() -> "go.Figure":
        comparison, units = run.comparison(), "units"
        if single is not None:
            comparison, units = single.applied_to(comparison), PLURALS[single.kind]
        return charts.curves(comparison, percent=percent, reverse=reverse, narrow=narrow, units=units)

    key = (run.settled, single and single.settled, percent, reverse, narrow)
    return run.view("curves", key, draw)
