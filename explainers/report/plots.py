"""Plots as files, and as elements of a page that stands alone, without global state of matplotlib: threads are safe.

Text is drawn as it was typed: mathematics is switched off, and a letter that the font lacks becomes U+FFFD.
"""

import io
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from explainers.evaluation.names import CONTROLS, CURVE_SHARES, RANDOM
from explainers.evaluation.set_frames import EVIDENCE, metric_column
from explainers.evaluation.set_summary import MOST_POINTS, MeanCurves, MethodSummary, binned, name_of
from explainers.methods.registry import method_spec
from explainers.metrics.bootstrap import Interval
from explainers.report.colours import LineStyle, colour, line_of, strengths
from explainers.report.wording import name_of_units, one_line, plural, share_line, target_name

if TYPE_CHECKING:
    from explainers.results.attribution import Attribution
    from explainers.results.comparison import Comparison
    from explainers.results.events import MethodResult

FONT = FontProperties(family="DejaVu Sans", size=9)  # part of matplotlib
DASHES = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1.5, 1.5))}
INK = "#010203"  # unlike any other colour in a plot, so that `inline_svg` can replace it
DOTS = 160  # per inch
WIDEST, THINNEST = 2.4, 1.0  # points of a line
TITLES = ("Removing the most important first", "Keeping only the most important")
COLUMNS = 3  # of a grid of images
GRID_WIDTH = 4.0  # inches of each image
TALLEST = 3.5
GREY = "#8a8a8a"
WIDTH, HEIGHT, ROW = 5.2, 3.6, 0.24  # inches; of a plot, and of a line of the dot plot
ANSWERS = {"right": (True, "#2166ac", "o"), "wrong": (False, "#d1610a", "x"), "no label": (None, "#7b5fb5", "s")}


def curves_png(comparison: "Comparison") -> bytes:
    file = io.BytesIO()
    FigureCanvasAgg(draw_curves(comparison)).print_figure(file, format="png")
    return file.getvalue()


def curves_svg(comparison: "Comparison") -> bytes:
    return _svg(draw_curves(comparison))


def _svg(figure: Figure) -> bytes:
    file = io.BytesIO()
    FigureCanvasSVG(figure).print_figure(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def inline_svg(comparison: "Comparison", *, kept: bool) -> str:
    """One of the two plots as an element of a page."""
    return svg_element(draw_curves(comparison, (kept,)), TITLES[kept])


def svg_element(figure: Figure, title: str) -> str:
    """Return a figure as an element of a page, in the page's own text colour and on its own background."""
    _ink(figure)
    file = _svg(figure).decode()
    element = file[file.index("<svg") :]
    for part in (r"<metadata>.*?</metadata>", r"<style[^>]*>.*?</style>", r'<g id="patch_1">.*?</g>'):
        element = re.sub(part, "", element, count=1, flags=re.DOTALL)
    style = "max-width: 100%; height: auto; stroke-linejoin: round; stroke-linecap: butt"
    element = element.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" style="{style}" ', 1)
    return element.replace(INK, "currentColor")


def draw_curves(comparison: "Comparison", sides: tuple[bool, ...] = (False, True)) -> Figure:
    """p(class) while the top units are removed (left), or kept alone (right), with the band of the random orders.

    A single side has no legend.
    """
    both = len(sides) > 1
    figure = Figure((9.6, 4.4) if both else (4.3, 3.2), dpi=DOTS, facecolor="white", layout="constrained")
    erasure, units = comparison.decision.settings.erasure, plural(name_of_units(comparison.decision))
    labels = (f"% of the {units} removed ({erasure})", f"% of the {units} kept (others: {erasure})")
    axes = figure.subplots(1, len(sides), sharey=True, squeeze=False)[0]
    for kept, axis in zip(sides, axes, strict=True):
        _band(axis, comparison, kept=kept)
        _lines(axis, comparison, kept=kept)
        axis.set_title(TITLES[kept], fontsize=10)
        axis.set_xlabel(labels[kept])
        axis.set(xlim=(0, 100), ylim=(-0.02, 1.02), facecolor="none")
        axis.grid(color="#808080", alpha=0.25, linewidth=0.6)
    axes[0].set_ylabel(f"probability of “{drawable(target_name(comparison.decision, 40))}”")
    handles, names = axes[0].get_legend_handles_labels()
    if both and handles:
        figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    _ink(figure)
    return figure


def _band(axis: Axes, comparison: "Comparison", *, kept: bool) -> None:
    """From the lowest to the highest random order, and their mean."""
    control = comparison.random_control
    if control is None:
        return
    orders = np.stack([(curve.kept if kept else curve.removed)[:, curve.label] for curve in control.curves])
    shares, low, high = 100 * control.curves[0].shares, orders.min(axis=0), orders.max(axis=0)
    grey = line_of(control.method).colour
    axis.fill_between(shares, low, high, color=grey, alpha=0.25, linewidth=0, label="Random: all orders")
    axis.plot(shares, orders.mean(axis=0), color=grey, label=f"Random: mean of {len(orders)} orders")


def _lines(axis: Axes, comparison: "Comparison", *, kept: bool) -> None:
    """The first lines are the widest, so that lines that coincide are visible behind each other."""
    results = [result for result in comparison.displayed_results if not result.curves.only_ends]
    for width, result in zip(np.linspace(WIDEST, THINNEST, len(results)), results, strict=True):
        method, curves = result.attribution.method, result.curves
        axis.plot(
            100 * curves.shares,
            (curves.kept if kept else curves.removed)[:, curves.label],
            color=line_of(method).colour,
            linestyle=DASHES[line_of(method).dash],
            linewidth=width,
            label=line_name(result),
        )


def line_name(result: "MethodResult") -> str:
    """Return the name of a line in a legend, as "LIME (ended early)"."""
    name = method_spec(result.method).name
    return f"{name} (ended early)" if result.attribution.ended_early else name


def _ink(figure: Figure) -> None:
    """One colour and one font for all text and frames, and no text is read as mathematics."""
    for text in figure.findobj(Text):
        text.set(color=INK, parse_math=False, fontfamily=FONT.get_family())
    for axis in figure.axes:
        axis.tick_params(color=INK, labelcolor=INK, labelfontfamily="DejaVu Sans")
        for spine in axis.spines.values():
            spine.set(color=INK, linewidth=0.8)


def drawable(text: str) -> str:
    return "".join(letter if ord(letter) in _letters() else "\ufffd" for letter in text)


@lru_cache(maxsize=1)
def _letters() -> frozenset[int]:
    return frozenset(get_font(findfont(FONT)).get_charmap())


def heatmaps_png(comparison: "Comparison") -> bytes:
    file = io.BytesIO()
    FigureCanvasAgg(draw_heatmaps(comparison)).print_figure(file, format="png")
    return file.getvalue()


def draw_heatmaps(comparison: "Comparison") -> Figure:
    """Colours are relative to the strongest unit of each method, words included."""
    image = comparison.decision.encoding.image
    if image is None:
        raise ValueError("there is no image to draw")
    pixels = image.pixels()
    height, width = pixels.shape[:2]
    columns = min(COLUMNS, max(len(comparison.results), 1))
    rows = -(-len(comparison.results) // columns) or 1
    row_height = min(GRID_WIDTH * height / width, TALLEST) + 0.55
    figure = Figure((columns * GRID_WIDTH, rows * row_height + 0.5), dpi=DOTS, facecolor="white", layout="constrained")
    text = one_line(" / ".join(comparison.decision.encoding.texts), 90)
    title = f"“{text}”: for {target_name(comparison.decision, 40)}"
    figure.suptitle(drawable(title), fontsize=10, fontproperties=FONT, parse_math=False)
    for axis in figure.subplots(rows, columns, squeeze=False).flat:
        axis.set_axis_off()
    for axis, result in zip(figure.axes, comparison.results, strict=False):
        axis.imshow(pixels, extent=(0, width, height, 0), interpolation="nearest" if width < 800 else "antialiased")
        _patches(axis, result.attribution)
    return figure


def _patches(axis: Axes, attribution: "Attribution") -> None:
    title = f"{method_spec(attribution.method).name}\n{share_line(attribution.image_share)}"
    axis.set_title(title, fontsize=8, fontproperties=FONT, parse_math=False)
    relative = strengths(attribution.scores, scale="method", strongest=0.0)
    for unit, strength in zip(attribution.encoding.units, relative, strict=True):
        if unit.box is not None:
            left, top, right, bottom = unit.box
            fill = _rgba(colour(strength, signed=attribution.signed))
            axis.add_patch(Rectangle((left, top), right - left, bottom - top, facecolor=fill, linewidth=0))


def _rgba(css: str) -> tuple[float, ...]:
    """From `rgba(r, g, b, a)` to four numbers, 0…1."""
    *hue, alpha = (float(part) for part in css[5:-1].split(","))
    return (*np.asarray(hue) / 255, alpha)


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
