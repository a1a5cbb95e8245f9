"""Plotly figures of a comparison. Pure functions: they compute nothing that is not in it."""

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from explainers.methods.registry import method_spec
from explainers.metrics.agreement import Agreement
from explainers.report.colours import line_of

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison, MethodResult

GREY = "rgba(128, 128, 128, {})"
Cells = tuple[tuple[int, int], tuple[int, int]]  # row and column of the two plots


def curves(
    comparison: "Comparison", *, percent: int, reverse: bool, narrow: bool = False, units: str = "units"
) -> go.Figure:
    """p(class) while the most important `units` are removed, or alone kept, with the random band.

    The two plots stand side by side, on a `narrow` page one below the other.
    """
    cells: Cells = ((1, 1), (2, 1)) if narrow else ((1, 1), (1, 2))
    figure = make_subplots(
        rows=cells[1][0],
        cols=cells[1][1],
        shared_yaxes=True,
        horizontal_spacing=0.04,
        vertical_spacing=0.2,
        subplot_titles=("Removing the most important first", "Keeping only the most important"),
    )
    _add_band(figure, comparison, cells)
    for result in comparison.displayed_results:
        _add_method(figure, result, cells, reverse=reverse)
    if percent:
        figure.add_vline(x=percent, line={"color": GREY.format(0.8), "width": 1, "dash": "dot"})
    erasure = comparison.question.settings.erasure
    for (row, column), title in zip(cells, (f"removed ({erasure})", f"kept (others: {erasure})"), strict=True):
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


def _add_method(figure: go.Figure, result: "MethodResult", cells: Cells, *, reverse: bool) -> None:
    method, path = result.attribution.method, result.curves
    name, line = method_spec(method).name, line_of(method)
    for (row, column), values in zip(cells, (path.removed, path.kept), strict=True):
        figure.add_scatter(
            x=100 * path.shares,
            y=values[:, path.label],
            name=name,
            legendgroup=method,
            showlegend=(row, column) == cells[0],
            line={"color": line.colour, "width": 2, "dash": line.dash},
            hovertemplate="%{y:.3f}",
            row=row,
            col=column,
        )
    if reverse:
        shares, values = path.reverse
        figure.add_scatter(
            x=100 * shares,
            y=values,
            name=f"{name}, reverse order",
            legendgroup=method,
            showlegend=False,
            line={"color": line.colour, "width": 1, "dash": "dot"},
            opacity=0.6,
            hovertemplate="%{y:.3f}",
            row=1,
            col=1,
        )


def _add_band(figure: go.Figure, comparison: "Comparison", cells: Cells) -> None:
    if comparison.random_control is None:
        return
    orders = comparison.random_control.curves
    x = 100 * orders[0].shares
    for (row, column), side in zip(cells, ("removed", "kept"), strict=True):
        lines = np.stack([getattr(order, side)[:, order.label] for order in orders])
        low, high = np.quantile(lines, (0.025, 0.975), axis=0)
        figure.add_scatter(
            x=np.concatenate([x, x[::-1]]),
            y=np.concatenate([high, low[::-1]]),
            fill="toself",
            fillcolor=GREY.format(0.22),
            line={"width": 0},
            name=f"{len(orders)} random orders, 95 %",
            legendgroup="random control",
            showlegend=(row, column) == cells[0],
            hoverinfo="skip",
            row=row,
            col=column,
        )


def agreement(comparison: "Comparison", measure: Agreement) -> go.Figure:
    """The matrix of one agreement measure between all pairs of methods."""
    attributions = [r.attribution for r in comparison.results if r.attribution.signed or not measure.signed_only]
    names = [method_spec(each.method).name for each in attributions]
    values = np.array([[measure.score(one.scores, other.scores) for other in attributions] for one in attributions])
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
