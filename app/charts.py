"""Plotly figures of a comparison. Pure functions: they compute nothing that is not in it."""

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explainers.methods import chosen
from explainers.metrics.agreement import Agreement
from explainers.report.colours import line_of
from explainers.report.rows import shown

if TYPE_CHECKING:
    from explainers.api import Comparison

GREY = "rgba(128, 128, 128, {})"


def curves(
    comparison: "Comparison", *, percent: int, reverse: bool, narrow: bool = False, units: str = "units"
) -> go.Figure:
    """p(class) while the most important `units` are removed, or alone kept, with the random band.

    The two stand side by side, or in a `narrow` page below each other.
    """
    places = ((1, 1), (2, 1)) if narrow else ((1, 1), (1, 2))
    erasure = comparison.question.settings.erasure
    figure = make_subplots(
        rows=places[1][0],
        cols=places[1][1],
        shared_yaxes=True,
        horizontal_spacing=0.04,
        vertical_spacing=0.2,
        subplot_titles=("Removing the most important first", "Keeping only the most important"),
    )
    _band(figure, comparison, places)
    names = {entry.id: entry.name for entry in chosen(r.attribution.method for r in comparison.results)}
    for result in shown(comparison):
        method, path = result.attribution.method, result.path
        line = line_of(method)
        shares = 100 * path.shares
        for (row, column), values in zip(places, (path.removed, path.kept), strict=True):
            figure.add_scatter(
                x=shares,
                y=values[:, path.label],
                name=names[method],
                legendgroup=method,
                showlegend=(row, column) == places[0],
                line={"color": line.colour, "width": 2, "dash": line.dash},
                hovertemplate="%{y:.3f}",
                row=row,
                col=column,
            )
        if reverse:
            at, values = path.reverse
            figure.add_scatter(
                x=100 * at,
                y=values,
                name=f"{names[method]}, reverse order",
                legendgroup=method,
                showlegend=False,
                line={"color": line.colour, "width": 1, "dash": "dot"},
                opacity=0.6,
                hovertemplate="%{y:.3f}",
                row=1,
                col=1,
            )
    if percent:
        figure.add_vline(x=percent, line={"color": GREY.format(0.8), "width": 1, "dash": "dot"})
    for (row, column), title in zip(places, (f"removed ({erasure})", f"kept (others: {erasure})"), strict=True):
        figure.update_xaxes(title_text=f"% of the {units} {title}", ticksuffix=" %", row=row, col=column)
    figure.update_yaxes(title_text="probability of the class", row=1, col=1)
    figure.update_yaxes(range=[-0.02, 1.02])
    figure.update_layout(
        hovermode="x unified",
        height=820 if narrow else 430,
        margin={"l": 10, "r": 10, "t": 40, "b": 10},
        legend={"orientation": "h", "yanchor": "top", "y": -0.1 if narrow else -0.22, "x": 0},
    )
    return figure


def _band(figure: go.Figure, comparison: "Comparison", places: tuple[tuple[int, int], ...]) -> None:
    if comparison.chance is None:
        return
    paths = comparison.chance.paths
    x = 100 * paths[0].shares
    for (row, column), side in zip(places, ("removed", "kept"), strict=True):
        lines = np.stack([getattr(path, side)[:, path.label] for path in paths])
        low, high = np.quantile(lines, (0.025, 0.975), axis=0)
        figure.add_scatter(
            x=np.concatenate([x, x[::-1]]),
            y=np.concatenate([high, low[::-1]]),
            fill="toself",
            fillcolor=GREY.format(0.22),
            line={"width": 0},
            name=f"{len(paths)} random orders, 95 %",
            legendgroup="chance",
            showlegend=(row, column) == places[0],
            hoverinfo="skip",
            row=row,
            col=column,
        )


def agreement(comparison: "Comparison", measure: Agreement) -> go.Figure:
    """The matrix of one agreement measure between all pairs of methods."""
    found = [r.attribution for r in comparison.results if r.attribution.signed or not measure.signed_only]
    names = [entry.name for entry in chosen(each.method for each in found)]
    values = np.array([[measure.score(one.scores, other.scores) for other in found] for one in found])
    figure = go.Figure(
        go.Heatmap(
            x=names,
            y=names,
            z=values,
            zmin=-1,
            zmax=1,
            colorscale=[[0, "#b35806"], [0.5, "#f7f7f7"], [1, "#2166ac"]],
            text=[["–" if np.isnan(value) else f"{value:.2f}" for value in row] for row in values],
            texttemplate="%{text}",
            hovertemplate="%{y} and %{x}: %{text}<extra></extra>",
            showscale=False,
        )
    )
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(height=420, margin={"l": 10, "r": 10, "t": 10, "b": 10})
    return figure
