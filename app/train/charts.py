"""Plotly figures of a training. Pure functions of its log."""

import re
from collections.abc import Mapping
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from app.train.log import Epoch

POINTS = 240  # at most per line: more cost the browser and show nothing
COLOUR, PALE = "#3d85c6", "rgba(61, 133, 198, 0.28)"
SECOND = "#e08214"
THIRD = "#7b5fb5"
HEIGHT = 190  # pixels
TOTAL = "total"


def ordered(terms: dict[str, dict[int, float]]) -> list[str]:
    """The total first, the others as the method names them."""
    return sorted(terms, key=lambda name: name != TOTAL)


def term(name: str, values: dict[int, float]) -> go.Figure:
    """One term of the loss by step: single steps, pale, and smoothed."""
    steps = np.array(sorted(values))
    raw = np.array([values[step] for step in steps])
    kept = np.unique(np.linspace(0, len(steps) - 1, min(POINTS, len(steps))).round().astype(int))
    figure = go.Figure()
    for heights, line, hover in ((raw, {"color": PALE, "width": 1}, "skip"), (smooth(raw), {"color": COLOUR}, "y")):
        figure.add_scatter(
            x=steps[kept],
            y=heights[kept],
            mode="lines" if len(kept) > 1 else "markers",
            line=line,
            hoverinfo=hover,
            hovertemplate=None if hover == "skip" else "step %{x}: %{y:.4f}<extra></extra>",
        )
    return _small(figure, f"{heading(name)}, now {smooth(raw)[-1]:.3f}", "step")


def first_values(terms: dict[str, dict[int, float]]) -> str:
    """The losses of the only step so far, as a sentence."""
    values = [f"{name} {value:.3f}" for name in ordered(terms) for value in list(terms[name].values())[:1]]
    return f"After the first step: {', '.join(values)}."


def first_metrics(epoch: Epoch, metrics: Mapping[str, str]) -> str:
    """The metrics of the only validation so far, as a sentence."""
    values = [f"{name} {epoch.metrics[metric]:.3f}" for metric, name in metrics.items() if metric in epoch.metrics]
    return f"On held-out texts after epoch {epoch.number:.3g}: {', '.join(values)}."


def validation(epochs: list[Epoch], metrics: Mapping[str, str]) -> go.Figure:
    """The metrics, id to name, on held-out texts after each epoch."""
    figure = go.Figure()
    coloured = list(zip(metrics.items(), cycle((COLOUR, SECOND, THIRD)), strict=False))
    for (metric, name), colour in coloured:
        measured = [epoch for epoch in epochs if metric in epoch.metrics]
        figure.add_scatter(
            x=[epoch.number for epoch in measured],
            y=[epoch.metrics[metric] for epoch in measured],
            name=name,
            mode="lines+markers",
            line={"color": colour},
            hovertemplate=f"{name} after %{{x:.3~g}} epochs: %{{y:.3f}}<extra></extra>",
        )
    latest = epochs[-1].metrics
    title = ", ".join(
        f'<span style="color:{colour}">{name}</span> {latest[metric]:.3f}'
        for (metric, name), colour in coloured
        if metric in latest
    )
    figure.update_xaxes(dtick=1 if len(epochs) < 8 else None)
    return _small(figure, title, "epoch")


def smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Exponential mean over the values so far, without the pull to zero at the beginning."""
    decay = 1 - 1 / max(1.0, len(values) / 25)
    means, weight, total = np.empty(len(values)), 0.0, 0.0
    for index, value in enumerate(values):
        weight, total = decay * weight + 1, decay * total + float(value)
        means[index] = total / weight
    return means


def heading(name: str) -> str:
    """L_inv with its index set low; the total in words."""
    return "Total loss" if name == TOTAL else re.sub(r"_([A-Za-z0-9]+)", r"<sub>\1</sub>", name)


def _small(figure: go.Figure, title: str, x_title: str) -> go.Figure:
    figure.update_xaxes(title_text=x_title, title_standoff=4, rangemode="tozero", nticks=5)
    figure.update_yaxes(nticks=5)
    figure.update_layout(
        title={"text": title, "font": {"size": 14}, "x": 0.01, "y": 0.97},
        height=HEIGHT,
        margin={"l": 8, "r": 8, "t": 34, "b": 8},
        showlegend=False,
        hovermode="x",
    )
    return figure
