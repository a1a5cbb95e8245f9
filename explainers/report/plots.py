"""The two curve plots of a comparison as files. They use matplotlib's objects and no global state, so threads are safe.

Text is drawn as it was typed: mathematics is switched off, and a letter that the font lacks becomes U+FFFD.
"""

import io
import re
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.text import Text

from explainers.methods.registry import method_spec
from explainers.report.colours import line_of
from explainers.report.text import name_of_units, plural, target_name

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison
    from explainers.results.events import MethodResult

FONT = FontProperties(family="DejaVu Sans", size=9)  # part of matplotlib
DASHES = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1.5, 1.5))}
INK = "#010203"  # unlike any other colour in a plot, so that `inline_svg` can replace it
DOTS = 160  # per inch
WIDEST, THINNEST = 2.4, 1.0  # points of a line
TITLES = ("Removing the most important first", "Keeping only the most important")


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
