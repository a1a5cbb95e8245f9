"""The lower half of the Compare page: duel, curves, metrics, agreement and downloads."""

from typing import TYPE_CHECKING, Any

import streamlit as st

from app import plain_text
from app.compare import (
    curves,
    duel,
    duel_runs,
    exports,
    interaction_runs,
    interactions,
    modality_curves,
    panels,
    row_order,
)
from app.compare.drawing_options import DrawingOptions
from app.compare.engine import Engine
from app.compare.modality_curves import ModalityCurves
from app.compare.runs import Run
from app.compare.verdicts import verdict_of
from explainers.metrics.modalities import Kind

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

MODALITIES: dict[str, Kind] = {"Image": "patch", "Text": "word"}
BOTH = "Both"
PLURALS = {"patch": "patches", "word": "words"}


def show(engine: Engine, run: Run, drawing: DrawingOptions, *, disabled: bool) -> bool:
    """Of a run with a prediction. Downloads are `disabled` until it is over. Whether something drawn is still to come:
    told before it is drawn, so that no result that comes meanwhile is missed."""
    waits = duel.show(engine, run, pair_at_the_top(run)) or any(
        each.active for each in list(run.modality_curves.values())
    )
    waits = interactions.show(engine, run) or waits
    multimodal = run.question is not None and run.question.encoding.multimodal
    st.header(f"Removing and keeping words{' and patches' if multimodal else ''}", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = _kind() if multimodal else None
        reverse = st.toggle(
            "Reverse order too",
            key="reverse",
            bind="query-params",
            persist_state="session",
            help="Dotted: the least important first. The further it lies above the solid line, the better the order.",
        )
    single = _single_modality(engine, run, kind)
    waits = waits or (single is not None and single.active)
    curves.show(_curves(run, single, drawing, reverse=reverse))
    st.header("Metrics", anchor=False)
    panels.table(run)
    st.header("Do the methods agree?", anchor=False)
    panels.agreement(run)
    exports.show(run.comparison(), disabled=disabled)
    return waits or pending(run)


def pending(run: Run | None) -> bool:
    """Whether a duel, interactions, or curves over one kind of units, are on their way."""
    if run is None:
        return False
    return (
        interaction_runs.pending(run)
        or any(each.active for each in list(run.modality_curves.values()))
        or duel_runs.pending(run)
    )


def pair_at_the_top(run: Run) -> tuple[str, str] | None:
    """The first of the best methods, and the one that disagrees most with it."""
    verdict = verdict_of(run)
    return (verdict.best[0], verdict.dissenter) if verdict.best and verdict.dissenter else None


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


def _curves(run: Run, single: ModalityCurves | None, drawing: DrawingOptions, *, reverse: bool) -> dict[str, Any]:
    """Over both kinds of units or a single one, made again only where something has changed."""
    featured = row_order.row_order(run, drawing.sort).featured

    def make() -> dict[str, Any]:
        comparison: Comparison = run.comparison()
        units = "units" if run.request.example.image is not None else f"{run.request.settings.unit}s"
        if single is not None:
            comparison, units = single.applied_to(comparison), PLURALS[single.kind]
        return curves.payload(comparison, featured=featured, percent=drawing.percent, reverse=reverse, units=units)

    key = (run.settled, single and single.settled, drawing.percent, reverse, featured)
    return run.view("curves", key, make)
