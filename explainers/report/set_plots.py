"""The plots of an explained set as elements of a page that stands alone: static, in the page's own text colour."""

from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from explainers.evaluation.names import CONTROLS, CURVE_SHARES, RANDOM
from explainers.evaluation.set_frames import EVIDENCE, metric_column
from explainers.evaluation.set_summary import MOST_POINTS, MeanCurves, MethodSummary, binned, name_of
from explainers.metrics.bootstrap import Interval
from explainers.report.colours import LineStyle, line_of
from explainers.report.plots import DASHES, drawable, svg_element

GREY = "#8a8a8a"
WIDTH, HEIGHT, ROW = 5.2, 3.6, 0.24  # inches; of a plot, and of a line of the dot plot
ANSWERS = {"right": (True, "#2166ac", "o"), "wrong": (False, "#d1610a", "x"), "no label": (None, "#7b5fb5", "s")}


def method_plots(table: Sequence[MethodSummary], curves: Sequence[MeanCurves], operator: str) -> str:
    """Return evidence by method and against cost, and the mean curves, with one legend, as HTML."""
    figures = {"Evidence by method": evidence_plot(table, operator)}
    if any(row.passes for row in table):
        figures["Evidence against passes per input"] = cost_plot(table, operator)
    if curves:
        figures |= {f"First units removed ({operator})": curve_plot(curves, kept=False)}
        figures |= {"Only the first units kept": curve_plot(curves, kept=True)}
    lines = "".join(_legend(name_of(row.method), style_of(row.method)) for row in table)
    return f'{_elements(figures)}<p class="lines">{lines}</p>'


def trust_plot(points: pd.DataFrame) -> str:
    """Return agreement by evidence of every input, above `MOST_POINTS` of cells of inputs, as HTML; empty without
    points."""
    if points.empty:
        return ""
    figure, axis = _figure("agreement between methods", "evidence of the best method")
    if len(points) > MOST_POINTS:
        cells = binned(points)
        sizes = 60 * cells["inputs"] / cells["inputs"].max()
        axis.scatter(cells["agreement"], cells["evidence"], s=4 + sizes, color=ANSWERS["right"][1], alpha=0.6)
    else:
        answers = points["right"].astype(object).where(points["right"].notna(), None)
        for name, (right, colour, marker) in ANSWERS.items():
            own = points[[answer is None if right is None else answer == right for answer in answers]]
            if len(own):
                axis.scatter(own["agreement"], own["evidence"], s=22, color=colour, marker=marker, label=name)
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
    axis.set_xlim(-0.03, 1.03)
    return _elements({"Agreement and evidence of every input": figure})


def cascade_plot(curves: Mapping[str, Sequence[tuple[str, Interval]]]) -> str:
    """Return a line per method, |ρ| with the explanation of the model the more of its weights are random, as HTML;
    empty without methods."""
    if not curves:
        return ""
    figure, axis = _figure("random from the head down to", "|ρ| beyond chance")
    for method, steps in curves.items():
        style = line_of(method)
        axis.plot(
            [drawable(name) for name, _ in steps],
            [interval.mean for _, interval in steps],
            color=style.colour,
            linestyle=DASHES[style.dash],
            marker="o",
            markersize=3,
        )
    axis.tick_params("x", rotation=30)
    axis.set_ylim(-0.3, 1.02)
    lines = "".join(_legend(name_of(method), line_of(method)) for method in curves)
    return f'{_elements({"Random weights, step by step": figure})}<p class="lines">{lines}</p>'


def evidence_plot(table: Sequence[MethodSummary], operator: str) -> Figure:
    """Return a dot with its interval per method, and a line at the mean of random orders."""
    column = metric_column(EVIDENCE, operator)
    rows = [row for row in reversed(table) if column in row.metrics]
    figure, axis = _figure(f"evidence (AOPC-C − AOPC-S, {operator})", "", height=1.0 + ROW * len(rows))
    for place, row in enumerate(rows):
        interval = row.metrics[column]
        axis.plot([interval.low, interval.high], [place, place], color=style_of(row.method).colour)
        axis.plot(interval.mean, place, "o", color=style_of(row.method).colour)
    axis.set_yticks(range(len(rows)), [drawable(name_of(row.method)) for row in rows])
    for chance in (row.metrics[column].mean for row in rows if row.method == RANDOM):
        axis.axvline(chance, color=GREY, linestyle=":", linewidth=1)
    return figure


def cost_plot(table: Sequence[MethodSummary], operator: str) -> Figure:
    """Return the evidence of every method that costs passes, with its interval, against their mean number."""
    column = metric_column(EVIDENCE, operator)
    figure, axis = _figure("passes per input", f"evidence ({operator})", height=1.0 + ROW * len(table))
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:,.0f}")
    for row in table:
        if column in row.metrics and row.passes:
            interval, colour = row.metrics[column], style_of(row.method).colour
            axis.plot([row.passes, row.passes], [interval.low, interval.high], color=colour)
            axis.plot(row.passes, interval.mean, "o", color=colour)
    for chance in (row.metrics[column].mean for row in table if row.method == RANDOM and column in row.metrics):
        axis.axhline(chance, color=GREY, linestyle=":", linewidth=1)
    return figure


def curve_plot(curves: Sequence[MeanCurves], *, kept: bool) -> Figure:
    """Return the mean curves of the methods with their bands."""
    figure, axis = _figure("% of the units", "mean p(class)")
    percents = [100 * share for share in CURVE_SHARES]
    for curve in curves:
        style, intervals = style_of(curve.method), curve.kept if kept else curve.removed
        means, lows, highs = zip(*((interval.mean, interval.low, interval.high) for interval in intervals), strict=True)
        axis.fill_between(percents, lows, highs, color=style.colour, alpha=0.12, linewidth=0)
        axis.plot(percents, means, color=style.colour, linestyle=DASHES[style.dash])
    axis.set(xlim=(0, 100), ylim=(0, 1.02))
    return figure


def style_of(method: str) -> LineStyle:
    """Return how a method is drawn; controls are grey."""
    return LineStyle(GREY, "dot") if method in CONTROLS else line_of(method)


def _figure(across: str, up: str, *, height: float = HEIGHT) -> tuple[Figure, Axes]:
    figure = Figure((WIDTH, height), facecolor="white", layout="constrained")
    axis = figure.subplots()
    axis.set_facecolor("none")
    axis.set_xlabel(drawable(across))
    axis.set_ylabel(drawable(up))
    axis.grid(color="#808080", alpha=0.25, linewidth=0.6)
    return figure, axis


def _elements(figures: Mapping[str, Figure]) -> str:
    """Return the figures side by side, each below its title."""
    drawn = "".join(
        f"<div><h3>{escape(title)}</h3>{svg_element(figure, title)}</div>" for title, figure in figures.items()
    )
    return f'<div class="curves">{drawn}</div>'


def _legend(name: str, style: LineStyle) -> str:
    border = {"solid": "solid", "dash": "dashed", "dot": "dotted"}[style.dash]
    return f'<span><i style="border-top: 3px {border} {style.colour}"></i>{escape(name)}</span>'
