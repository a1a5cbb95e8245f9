"""Plotly figures of a training. Pure functions of its log."""

import re

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from app.logbook import Epoch

POINTS = 240  # at most per line: more cost the browser and show nothing
COLOUR, PALE = "#3d85c6", "rgba(61, 133, 198, 0.28)"
SECOND = "#e08214"
HEIGHT = 190  # pixels
TOTAL = "total"


def ordered(terms: dict[str, dict[int, float]]) -> list[str]:
    """The total first, the others as the method names them."""
    return sorted(terms, key=lambda name: name != TOTAL)


def term(name: str, values: dict[int, float]) -> go.Figure:
    """One term of the loss by step: as it was, pale, and smoothed."""
    steps = np.array(sorted(values))
    raw = np.array([values[step] for step in steps])
    shown = np.unique(np.linspace(0, len(steps) - 1, min(POINTS, len(steps))).round().astype(int))
    figure = go.Figure()
    for heights, line, text in ((raw, {"color": PALE, "width": 1}, "skip"), (smooth(raw), {"color": COLOUR}, "y")):
        figure.add_scatter(
            x=steps[shown],
            y=heights[shown],
            mode="lines" if len(shown) > 1 else "markers",
            line=line,
            hoverinfo=text,
            hovertemplate=None if text == "skip" else "step %{x}: %{y:.4f}<extra></extra>",
        )
    return _small(figure, f"{heading(name)}, now {smooth(raw)[-1]:.3f}", "step")


def validation(epochs: list[Epoch], figures: dict[str, str]) -> go.Figure:
    """The `figures`, metric id to name, on held-out texts after each epoch."""
    made = go.Figure()
    for (metric, name), colour in zip(figures.items(), (COLOUR, SECOND), strict=False):
        known = [each for each in epochs if metric in each.figures]
        made.add_scatter(
            x=[each.number for each in known],
            y=[each.figures[metric] for each in known],
            name=name,
            mode="lines+markers",
            line={"color": colour},
            hovertemplate=f"{name} after epoch %{{x}}: %{{y:.3f}}<extra></extra>",
        )
    said = ", ".join(
        f'<span style="color:{colour}">{name}</span> {epochs[-1].figures[metric]:.3f}'
        for (metric, name), colour in zip(figures.items(), (COLOUR, SECOND), strict=False)
        if metric in epochs[-1].figures
    )
    made.update_xaxes(dtick=1 if len(epochs) < 8 else None)
    return _small(made, said, "epoch")


def smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over what came before, the nearer the weightier; without the pull to zero at the beginning."""
    keep = 1 - 1 / max(1.0, len(values) / 25)
    found, weight, total = np.empty(len(values)), 0.0, 0.0
    for index, value in enumerate(values):
        weight, total = keep * weight + 1, keep * total + float(value)
        found[index] = total / weight
    return found


def heading(name: str) -> str:
    """L_inv with its index set low; the total in words."""
    return "Total loss" if name == TOTAL else re.sub(r"_([A-Za-z0-9]+)", r"<sub>\1</sub>", name)


def _small(figure: go.Figure, title: str, along: str) -> go.Figure:
    figure.update_xaxes(title_text=along, title_standoff=4, rangemode="tozero", nticks=5)
    figure.update_yaxes(nticks=5)
    figure.update_layout(
        title={"text": title, "font": {"size": 14}, "x": 0.01, "y": 0.97},
        height=HEIGHT,
        margin={"l": 8, "r": 8, "t": 34, "b": 8},
        showlegend=False,
        hovermode="x",
    )
    return figure
