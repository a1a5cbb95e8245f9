"""The lower half of the Compare page: duel, interactions, curves, metrics, agreement; everything on the page as files,
made on demand; and the address that brings the page back.
"""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from app import plain_text
from app.compare import (
    duel,
    follow_ups,
    interactions,
    panels,
    row_numbers,
    row_order,
    two_models,
)
from app.compare.drawing_options import DrawingOptions
from app.compare.engine import Engine
from app.compare.file_rows import json_with_view
from app.compare.follow_ups import ModalityCurves
from app.compare.runs import FollowUp, Run
from app.compare.state import BOTH_KINDS, compare_state
from app.session import described
from explainers.metrics.erasure import Kind

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison


HEAT_MAPS = ("Heat maps, PNG", "plots.heatmaps_png", "crosslight-heat-maps.png", "image/png")
LINK = {
    "": "The address holds the settings and the input. Whoever opens it sees this page.",
    "text": "The address holds the settings, but the text is too long for it. Send the JSON file: its content, pasted "
    "as the text, opens this page.",
    "picture": "The address holds the settings and the text, but not your own image. Send the image or the HTML file "
    "with it.",
    "text and picture": "The address holds the settings, but neither your own image nor the text, which is too long. "
    "Send both with it, or the HTML file.",
}


def show_downloads(comparison: "Comparison", *, disabled: bool) -> None:
    st.header("Export", anchor=False)
    files = (
        ("Page, HTML", "document.document", "crosslight.html", "text/html"),
        ("Curves, PNG", "plots.curves_png", "crosslight.png", "image/png"),
        ("Curves, SVG", "plots.curves_svg", "crosslight.svg", "image/svg+xml"),
        *((HEAT_MAPS,) if comparison.decision.encoding.multimodal else ()),
        ("Scores, CSV", "tables.csv_scores", "crosslight-scores.csv", "text/csv"),
        ("Metrics, CSV", "tables.csv_metrics", "crosslight-metrics.csv", "text/csv"),
        ("Curves, CSV", "tables.csv_curves", "crosslight-curves.csv", "text/csv"),
    )
    with st.container(horizontal=True):
        for label, maker, name, kind in files:
            st.download_button(
                label,
                data=partial(file_content, maker, comparison),
                file_name=name,
                mime=kind,
                on_click="ignore",
                disabled=disabled,
                key=f"file {name}",
            )
        st.download_button(
            "All, JSON",
            data=partial(json_with_view, comparison, described(compare_state().controls)),
            file_name="crosslight.json",
            mime="application/json",
            on_click="ignore",
            disabled=disabled,
            key="file crosslight.json",
        )
        with st.popover("Link to this view"):
            parameters = {name: st.query_params.get_all(name) for name in st.query_params}
            page = urlsplit(st.context.url or "")._replace(query=urlencode(parameters, doseq=True))
            st.code((page if page.path else page._replace(path="/")).geturl(), language=None)
            st.caption(LINK[compare_state().left_out])


def file_content(maker: str, comparison: "Comparison") -> str | bytes:
    """What `maker`, a function below `explainers.report`, makes of the comparison. It is imported only now."""
    module, _, name = maker.partition(".")
    content: str | bytes = getattr(import_module(f"explainers.report.{module}"), name)(comparison)
    return content


MODALITIES: dict[str, Kind] = {"Image": "patch", "Text": "word"}
PLURALS = {"patch": "patches", "word": "words"}


def show(engine: Engine, run: Run, drawing: DrawingOptions, *, disabled: bool) -> bool:
    """Draw a run with a prediction; downloads are `disabled` until it is over.

    Returns whether something drawn is still to come, as it was before the drawing, so that no result that comes
    meanwhile is missed.
    """
    waits = follow_ups.pending(run)
    waits = duel.show(engine, run) or waits
    waits = interactions.show(engine, run) or waits
    multimodal = run.decision is not None and run.decision.encoding.multimodal
    st.header(f"Removing and keeping words{' and patches' if multimodal else ''}", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = _kind() if multimodal else None
        reverse = st.toggle(
            "Reverse order too",
            help="Dotted: the least important first. The further it lies above the solid line, the better the order.",
            **compare_state().widget("reverse"),
        )
    single = _single_modality(engine, run, kind)
    waits = waits or (single is not None and single.active)
    row_numbers.show(_curves(run, single.result if single is not None else None, drawing, reverse=reverse))
    st.header("Do the methods agree?", anchor=False)
    panels.agreement(run)
    waits = two_models.show(engine, run, drawing) or waits
    show_downloads(run.comparison(), disabled=disabled)
    return waits or follow_ups.pending(run)


def _kind() -> Kind | None:
    """Which units are erased in the curves; None for both kinds."""
    offered = [BOTH_KINDS, *MODALITIES]
    chosen = st.segmented_control(
        "Erased units",
        offered,
        required=True,
        help="Image: only patches are erased and every word stays. Text: only words are erased and the image stays. "
        "The metrics below always count both.",
        **compare_state().widget("erased", options=offered, initial="default"),
    )
    return MODALITIES.get(chosen or BOTH_KINDS)


def _single_modality(engine: Engine, run: Run, kind: Kind | None) -> FollowUp[ModalityCurves] | None:
    """The curves over one kind of units, once they can be computed; their state in a line."""
    if kind is None:
        return None
    if run.active:
        st.caption(f"The curves over {PLURALS[kind]} alone follow when all methods are done. Below: both kinds.")
        return None
    follow_up = follow_ups.modality_curves(engine, run, kind)
    if follow_up.active and follow_up.result is not None:
        st.caption(f"Erasing {PLURALS[kind]} alone: {follow_up.result.progress(run.comparison())} methods done.")
    elif follow_up.error:
        plain_text.error(follow_up.error)
    return follow_up


def _curves(run: Run, single: ModalityCurves | None, drawing: DrawingOptions, *, reverse: bool) -> dict[str, Any]:
    """Over both kinds of units or a single one, made again only where something has changed."""
    featured = row_order.row_order(run, drawing.sort).featured

    def make() -> dict[str, Any]:
        comparison: Comparison = run.comparison()
        units = "units" if run.request.example.image is not None else f"{run.request.settings.name_of_unit}s"
        if single is not None:
            comparison, units = single.applied_to(comparison), PLURALS[single.kind]
        return row_numbers.payload(comparison, featured=featured, percent=drawing.percent, reverse=reverse, units=units)

    key = (run.settled, single and single.settled, drawing.percent, reverse, featured)
    return run.view("curves", key, make)
