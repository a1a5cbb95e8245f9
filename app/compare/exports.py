"""Everything on the page as files, made on demand; and the address that brings the page back."""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st

from app.compare import url_state

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

HEAT_MAPS = ("Heat maps, PNG", "image_grids.heatmaps_png", "crosslight-heat-maps.png", "image/png")
LINK = {
    "": "The address holds the settings and the input. Whoever opens it sees this page.",
    "text": "The address holds the settings, but the text is too long for it. Send the JSON or the HTML file with it.",
    "picture": "The address holds the settings and the text, but not your own image. Send the image or the HTML file "
    "with it.",
    "text and picture": "The address holds the settings, but neither your own image nor the text, which is too long. "
    "Send both with it, or the HTML file.",
}


def show(comparison: "Comparison", *, disabled: bool) -> None:
    st.header("Export", anchor=False)
    files = (
        ("Page, HTML", "document.document", "crosslight.html", "text/html"),
        ("Curves, PNG", "plots.curves_png", "crosslight.png", "image/png"),
        ("Curves, SVG", "plots.curves_svg", "crosslight.svg", "image/svg+xml"),
        *((HEAT_MAPS,) if comparison.question.encoding.multimodal else ()),
        ("Scores, CSV", "exports.csv_scores", "crosslight-scores.csv", "text/csv"),
        ("Metrics, CSV", "exports.csv_metrics", "crosslight-metrics.csv", "text/csv"),
        ("Curves, CSV", "exports.csv_curves", "crosslight-curves.csv", "text/csv"),
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
            data=comparison.as_json,
            file_name="crosslight.json",
            mime="application/json",
            on_click="ignore",
            disabled=disabled,
            key="file crosslight.json",
        )
        with st.popover("Link to this view"):
            parameters = {name: st.query_params.get_all(name) for name in st.query_params}
            st.code(f"{st.context.url}?{urlencode(parameters, doseq=True)}", language=None)
            st.caption(LINK[url_state.left_out_of_address()])


def file_content(maker: str, comparison: "Comparison") -> str | bytes:
    """What `maker`, a function below `explainers.report`, makes of the comparison. It is imported only now."""
    module, _, name = maker.partition(".")
    content: str | bytes = getattr(import_module(f"explainers.report.{module}"), name)(comparison)
    return content
