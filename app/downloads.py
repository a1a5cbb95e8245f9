"""Everything on the page as files, made when asked for; and the address that brings the page back."""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st

from app import state

if TYPE_CHECKING:
    from explainers.api import Comparison


HEAT_MAPS = ("Heat maps, PNG", "grids.png", "crosslight-heat-maps.png", "image/png")
LINK = {
    "": "The address holds the settings and the question. Whoever opens it sees this page.",
    "text": "The address holds the settings, but the text is too long for it. Send the JSON or the HTML file with it.",
    "picture": "The address holds the settings and the text, but not your own picture. Send the picture or the "
    "HTML file with it.",
    "text and picture": "The address holds the settings, but neither your own picture nor the text, which is too "
    "long. Send both with it, or the HTML file.",
}


def show(comparison: "Comparison", *, disabled: bool) -> None:
    st.subheader("Take it with you", anchor=False)
    files = (
        ("Page, HTML", "document.document", "crosslight.html", "text/html"),
        ("Curves, PNG", "figures.png", "crosslight.png", "image/png"),
        ("Curves, SVG", "figures.svg", "crosslight.svg", "image/svg+xml"),
        *((HEAT_MAPS,) if comparison.question.encoding.pictured else ()),
        ("Scores, CSV", "tables.csv_scores", "crosslight-scores.csv", "text/csv"),
        ("Figures, CSV", "tables.csv_metrics", "crosslight-figures.csv", "text/csv"),
        ("Curves, CSV", "tables.csv_curves", "crosslight-curves.csv", "text/csv"),
    )
    with st.container(horizontal=True):
        for label, maker, name, kind in files:
            st.download_button(
                label,
                data=partial(made_by, maker, comparison),
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
            every = {name: st.query_params.get_all(name) for name in st.query_params}
            st.code(f"{st.context.url}?{urlencode(every, doseq=True)}", language=None)
            st.caption(LINK[state.left_out_of_address()])


def made_by(maker: str, comparison: "Comparison") -> str | bytes:
    """A file's content. Its module is imported only now: matplotlib takes a while."""
    module, _, name = maker.partition(".")
    made: str | bytes = getattr(import_module(f"explainers.report.{module}"), name)(comparison)
    return made
