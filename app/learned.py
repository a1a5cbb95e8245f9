"""What has been fitted for a method, and what is inside: the part of the Methods page about learned weights."""

from typing import TYPE_CHECKING

import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

from app.controls import version_of
from app.engine import Engine
from app.safe import markdown
from explainers.errors import ExplanationError
from explainers.learned.weights import Fitted, available
from explainers.models.cards import bundled

if TYPE_CHECKING:
    from torch import Tensor

TITLES = {"omega_q": "ω of queries", "omega_k": "ω of keys", "lambda_hat": "heads, λ̂", "eta_hat": "layers, η̂"}


def weights(engine: Engine, method: str) -> None:
    """A row per set of weights, with the command that makes it; for IvRA also its coefficients."""
    base = "aml" if method == "faml" else method
    found = [
        (model, each)
        for model in bundled()
        for each in available(model, version_of(engine, model))
        if each.method == base
    ]  # fmt: skip
    if not found:
        st.caption("It has not been fitted to any embedded model yet. Fit it on the Train page.")
        return
    try:
        st.dataframe([_row(model, each) for model, each in found], hide_index=True)
    except ExplanationError as error:
        st.warning(markdown(str(error)))
        return
    if method == "ivra":
        coefficients({f"{model}: {each.variant}": each for model, each in found}, key="methods")


def _row(model: str, fitted: Fitted) -> dict[str, object]:
    card = fitted.card
    figures, seconds = card.get("validation", {}), card.get("seconds", {})
    return {
        "model": model,
        "weights": f"{fitted.method}:{fitted.variant}",
        "AOPC-C, validation": figures.get("aopc_c"),
        "AOPC-S, validation": figures.get("aopc_s"),
        "parameters": card.get("parameters"),
        "seconds": seconds.get("all") if isinstance(seconds, dict) else seconds,
        "alarms": " ".join(card.get("alarms", [])),
        "command": card.get("command"),
    }


def coefficients(named: dict[str, Fitted], key: str) -> None:
    """Heat maps of what IvRA has learned at feature, head and layer level."""
    if not st.toggle("Show the coefficients", key=f"coefficients {key}"):
        return
    chosen = st.selectbox("Weights", list(named), key=f"coefficients of {key}") if len(named) > 1 else next(iter(named))
    from explainers.learned.ivra import stored_coefficients  # brings torch

    st.plotly_chart(heat_maps(stored_coefficients(named[chosen])), key=f"coefficient maps {key}")


def heat_maps(found: "dict[str, Tensor]") -> go.Figure:
    """ω (layers, heads, d_k) with a row per head, λ̂ (layers, heads) and η̂ (layers,), each on its own scale."""
    names = [name for name in TITLES if name in found]
    figure = make_subplots(1, len(names), subplot_titles=[TITLES[name] for name in names], horizontal_spacing=0.06)
    for column, name in enumerate(names, start=1):
        values = found[name]
        table = values.reshape(-1, values.shape[-1]) if values.ndim != 1 else values[:, None]
        figure.add_trace(
            go.Heatmap(z=table.tolist(), colorscale="Viridis", showscale=False, hovertemplate=_hover(name)),
            row=1,
            col=column,
        )
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(height=460, margin={"l": 30, "r": 10, "t": 40, "b": 30})
    return figure


def _hover(name: str) -> str:
    places = {"lambda_hat": "layer %{y}, head %{x}", "eta_hat": "layer %{y}"}
    return places.get(name, "layer and head %{y}, feature %{x}") + ": %{z:.3f}<extra></extra>"
