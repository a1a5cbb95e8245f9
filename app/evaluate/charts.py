"""Plotly figures of an explained set. Pure functions of its summaries."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from explainers.evaluation import names, set_frames
from explainers.evaluation.set_summary import MOST_POINTS, MeanCurves, MethodSummary, binned, name_of
from explainers.metrics.bootstrap import Interval
from explainers.report import colours, wording

ROW = 26  # pixels of a line of the dot plot
LABEL, BESIDE, AROUND_PLOT = 15, 12, 60  # pixels of a name's height, from a point to its name, and of axis and margins
GREY = "#8a8a8a"
ANSWERS = {"right": ("#2166ac", "circle"), "wrong": ("#d1610a", "x"), "no label": ("#7b5fb5", "circle-open")}
MAP_HEIGHT, CURVES_HEIGHT = 420, 720
LEGEND_ROW = 20  # pixels; on a narrow page the legend has a row per method


def evidence_dots(table: Sequence[MethodSummary], operator: str) -> go.Figure:
    """Return a dot with its interval per method, and a line at the mean of random orders."""
    column = set_frames.metric_column(set_frames.EVIDENCE, operator)
    rows = [row for row in reversed(table) if column in row.metrics]
    figure = go.Figure()
    for row in rows:
        interval = row.metrics[column]
        colour = GREY if row.method in names.CONTROLS else colours.line_of(row.method).colour
        figure.add_scatter(
            x=[interval.mean],
            y=[name_of(row.method)],
            error_x=_bars(interval),
            mode="markers",
            marker={"size": 9, "color": colour},
            hovertemplate=f"%{{y}}: {interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]<extra></extra>",
        )
    chance = next((row.metrics[column].mean for row in rows if row.method == names.RANDOM), None)
    if chance is not None:
        figure.add_vline(x=chance, line={"color": GREY, "dash": "dot", "width": 1})
    figure.update_xaxes(title_text=f"evidence (AOPC-C − AOPC-S, {operator})", title_standoff=4)
    figure.update_layout(
        height=70 + ROW * len(rows), margin={"l": 8, "r": 8, "t": 8, "b": 8}, showlegend=False, hovermode="closest"
    )
    return figure


def _bars(interval: Interval) -> dict[str, Any]:
    """Return the error bars of a mean."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [interval.high - interval.mean],
        "arrayminus": [interval.mean - interval.low],
    }


def cost_chart(table: Sequence[MethodSummary], operator: str) -> go.Figure:
    """Return the evidence of every method that costs passes, with its interval, against their mean number."""
    column = set_frames.metric_column(set_frames.EVIDENCE, operator)
    points = [(row.method, row.passes, row.metrics[column]) for row in table if column in row.metrics and row.passes]
    height = 70 + ROW * len(table)
    figure = go.Figure()
    for method, passes, interval in points:
        figure.add_scatter(
            x=[passes],
            y=[interval.mean],
            error_y=_bars(interval),
            mode="markers",
            marker={"size": 9, "color": colours.line_of(method).colour},
            name=name_of(method),
            hovertemplate=f"%{{fullData.name}}: {interval.mean:.3f} at {passes:,.0f} passes<extra></extra>",
        )
    chance = next(
        (row.metrics[column].mean for row in table if row.method == names.RANDOM and column in row.metrics), None
    )
    if points:
        _add_names(figure, points, height - AROUND_PLOT, chance)
    if chance is not None:
        figure.add_hline(y=chance, line={"color": GREY, "dash": "dot", "width": 1})
    figure.update_xaxes(title_text="passes per input", type="log", title_standoff=4)
    figure.update_yaxes(title_text=f"evidence ({operator})")
    figure.update_layout(height=height, margin={"l": 8, "r": 8, "t": 8, "b": 8}, showlegend=False, hovermode="closest")
    return figure


def _add_names(
    figure: go.Figure, points: Sequence[tuple[str, float, Interval]], height: float, chance: float | None
) -> None:
    """Write the names beside their points (method, passes, evidence), those of cheap methods on the right and the
    others on the left, each as high as its point where the other names leave it room."""
    ends = [chance] if chance is not None else []
    ends += [end for *_, interval in points for end in (interval.low, interval.high)]
    bottom, room = min(ends), (max(ends) - min(ends) or 1.0) / 20
    figure.update_yaxes(range=[bottom - room, max(ends) + room])
    pixels = height / (max(ends) - bottom + 2 * room)
    costs = [passes for _, passes, _ in points]
    middle = math.sqrt(min(costs) * max(costs))
    ordered = sorted(points, key=lambda point: point[2].mean)
    heights = np.array([(interval.mean - bottom + room) * pixels for *_, interval in ordered])
    moved = apart(heights, LABEL, LABEL / 2, height - LABEL / 2)
    for (method, passes, interval), shift in zip(ordered, moved - heights, strict=True):
        on_left = passes > middle
        figure.add_annotation(
            x=math.log10(passes),
            y=interval.mean,
            text=name_of(method),
            xanchor="right" if on_left else "left",
            ax=-BESIDE if on_left else BESIDE,
            ay=-float(shift),
            arrowwidth=1,
            arrowhead=0,
            arrowcolor=GREY,
        )


def apart(
    places: NDArray[np.float64], gap: float, lowest: float = -math.inf, highest: float = math.inf
) -> NDArray[np.float64]:
    """Return the places, in order, moved as little as possible (by squares) so that neighbours are `gap` apart and all
    lie between two bounds, as far as there is room."""
    from scipy.optimize import isotonic_regression  # takes a while, and the page does not need it at first

    if not len(places):
        return places
    steps = gap * np.arange(len(places))
    moved: NDArray[np.float64] = isotonic_regression(places - steps).x
    return np.clip(moved, lowest, max(lowest, highest - steps[-1])) + steps


def curve_chart(curves: Sequence[MeanCurves], operator: str) -> go.Figure:
    """Return the mean curves of the methods with their bands: the first units removed, and below it only they
    kept; one below the other, since the page may be as narrow as a phone."""
    titles = (f"first units removed ({operator})", "only the first units kept")
    figure = make_subplots(2, 1, subplot_titles=titles, shared_xaxes=True, vertical_spacing=0.08)
    percents = [100 * share for share in names.CURVE_SHARES]
    for method in curves:
        random = method.method in names.CONTROLS
        style = colours.LineStyle(GREY, "dot") if random else colours.line_of(method.method)
        for row, intervals in enumerate((method.removed, method.kept), 1):
            name, shown = name_of(method.method), row == 1
            figure.add_scatter(
                x=percents,
                y=[interval.mean for interval in intervals],
                name=name,
                legendgroup=name,
                showlegend=shown,
                mode="lines",
                line={"color": style.colour, "dash": style.dash, "width": 2},
                hovertemplate=f"{name}: %{{y:.3f}} at %{{x:.0f}} %<extra></extra>",
                row=row,
                col=1,
            )
            figure.add_scatter(
                x=[*percents, *reversed(percents)],
                y=[*(interval.high for interval in intervals), *(interval.low for interval in reversed(intervals))],
                legendgroup=name,
                showlegend=False,
                mode="lines",
                line={"width": 0},
                fill="toself",
                fillcolor=style.colour,
                opacity=0.12,
                hoverinfo="skip",
                row=row,
                col=1,
            )
    figure.update_xaxes(title_text="% of the units", title_standoff=4, row=2)
    figure.update_yaxes(title_text="mean p(class)", range=[0, 1.02])
    figure.update_layout(
        height=CURVES_HEIGHT,
        margin={"l": 8, "r": 8, "t": 28, "b": 8},
        legend={"orientation": "h", "y": -0.1, "x": 0},
        hovermode="closest",
    )
    return figure


def cascade_chart(curves: Mapping[str, Sequence[tuple[str, Interval]]]) -> go.Figure:
    """Return a line per method: |ρ| with the explanation of the model, the more of its weights are random."""
    figure = go.Figure()
    for method, steps in curves.items():
        style = colours.line_of(method)
        figure.add_scatter(
            x=[name for name, _ in steps],
            y=[interval.mean for _, interval in steps],
            name=name_of(method),
            mode="lines+markers",
            line={"color": style.colour, "dash": style.dash, "width": 2},
            hovertemplate=f"{name_of(method)}: %{{y:.2f}}<br>random down to: %{{x}}<extra></extra>",
        )
    figure.update_xaxes(tickangle=-30)
    figure.update_yaxes(title_text="|ρ| beyond chance", range=[-0.3, 1.0])
    figure.update_layout(
        height=MAP_HEIGHT + LEGEND_ROW * len(curves),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0},
        hovermode="closest",
    )
    return figure


def trust_map(points: pd.DataFrame) -> go.Figure:
    """Return a point per input, agreement by evidence; above `MOST_POINTS` the number of inputs in cells."""
    figure = go.Figure()
    if len(points) > MOST_POINTS:
        cells = binned(points)
        figure.add_scatter(
            x=cells["agreement"],
            y=cells["evidence"],
            mode="markers",
            marker={
                "size": 4 + 12 * (cells["inputs"] / cells["inputs"].max()) ** 0.5,
                "color": cells["right"].fillna(0.5),
                "colorscale": [[0, ANSWERS["wrong"][0]], [1, ANSWERS["right"][0]]],
                "colorbar": {"title": "right"},
            },
            customdata=cells[["inputs"]],
            hovertemplate="%{customdata[0]:,} inputs<extra></extra>",
        )
    else:
        answers = points["right"].map({True: "right", False: "wrong"}).astype(object).fillna("no label")
        for answer, (colour, symbol) in ANSWERS.items():
            chosen = points[answers == answer]
            if len(chosen):
                figure.add_scatter(
                    x=chosen["agreement"],
                    y=chosen["evidence"],
                    name=answer,
                    mode="markers",
                    marker={"size": 9, "color": colour, "symbol": symbol, "opacity": 0.75},
                    selected={"marker": {"opacity": 1, "size": 15}},
                    unselected={"marker": {"opacity": 0.5}},  # plotly's own is too faint to choose another one
                    customdata=chosen[["id"]],
                    text=[wording.escaped(wording.one_line(text, 70)) for text in chosen["text"]],
                    hovertemplate="%{text}<br>agreement %{x:.2f}, evidence %{y:.2f}<extra></extra>",
                )
    figure.update_xaxes(title_text="agreement between methods", range=[-0.03, 1.03])
    figure.update_yaxes(title_text="evidence of the best method")
    figure.update_layout(
        height=MAP_HEIGHT,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": 1.08, "x": 0},
        clickmode="event+select",
        dragmode=False,
    )
    return figure
