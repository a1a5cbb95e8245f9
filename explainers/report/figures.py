"""The two curves of a comparison as a file. Only matplotlib's objects are used, no global state, so threads are safe.

The words stay as they are typed: mathematics is switched off, and a letter that the font lacks is drawn as U+FFFD.
"""

import io
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.text import Text

from explainers.methods import chosen
from explainers.report.colours import line_of
from explainers.report.rows import RANDOM, shown
from explainers.report.text import one_line
from explainers.report.units import name_of_units, plural

if TYPE_CHECKING:
    from explainers.api import Comparison

FONT = FontProperties(family="DejaVu Sans", size=9)  # matplotlib brings it along
DASHES = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1.5, 1.5))}
INK = "#010203"  # unlike any other colour in the drawing, so that `inline_svg` can find it
DOTS = 160  # per inch
TITLES = ("Removing the most important first", "Keeping only the most important")


def png(comparison: "Comparison") -> bytes:
    file, drawn = io.BytesIO(), figure(comparison)
    FigureCanvasAgg(drawn).print_figure(file, format="png")
    return file.getvalue()


def svg(comparison: "Comparison") -> bytes:
    return svg_of(figure(comparison))


def svg_of(drawn: Figure) -> bytes:
    file = io.BytesIO()
    FigureCanvasSVG(drawn).print_figure(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def inline_svg(comparison: "Comparison", *, kept: bool) -> str:
    """One of the two drawings as an element of a page, in the page's own text colour and on its own background."""
    drawn = svg_of(figure(comparison, (kept,))).decode()
    element = drawn[drawn.index("<svg") :]
    for part in (r"<metadata>.*?</metadata>", r"<style[^>]*>.*?</style>", r'<g id="patch_1">.*?</g>'):
        element = re.sub(part, "", element, count=1, flags=re.DOTALL)
    look = "max-width: 100%; height: auto; stroke-linejoin: round; stroke-linecap: butt"
    element = element.replace("<svg ", f'<svg role="img" aria-label="{TITLES[kept]}" style="{look}" ', 1)
    return element.replace(INK, "currentColor")


def figure(comparison: "Comparison", sides: tuple[bool, ...] = (False, True)) -> Figure:
    """p(class) while the top units are removed (left) or alone are kept (right), with the random orders' band.

    A single side comes without a legend.
    """
    both = len(sides) > 1
    drawn = Figure(figsize=(9.6, 4.4) if both else (4.3, 3.2), dpi=DOTS, facecolor="white", layout="constrained")
    erasure, units = comparison.question.settings.erasure, plural(name_of_units(comparison.question))
    does = (f"% of the {units} removed ({erasure})", f"% of the {units} kept (others: {erasure})")
    axes = drawn.subplots(1, len(sides), sharey=True, squeeze=False)[0]
    for kept, axis in zip(sides, axes, strict=True):
        _band(axis, comparison, kept=kept)
        _lines(axis, comparison, kept=kept)
        axis.set_title(TITLES[kept], fontsize=10)
        axis.set_xlabel(does[kept])
        axis.set(xlim=(0, 100), ylim=(-0.02, 1.02), facecolor="none")
        axis.grid(color="#808080", alpha=0.25, linewidth=0.6)
    axes[0].set_ylabel(f"probability of “{drawable(one_line(comparison.label, 40))}”")
    handles, names = axes[0].get_legend_handles_labels()
    if both and handles:
        drawn.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    _ink(drawn)
    return drawn


def _band(axis: Axes, comparison: "Comparison", *, kept: bool) -> None:
    """From the lowest to the highest random order, and their mean."""
    if comparison.chance is None:
        return
    paths = comparison.chance.paths
    lines = np.stack([(path.kept if kept else path.removed)[:, path.label] for path in paths])  # (orders, points)
    shares = 100 * paths[0].shares
    grey = line_of(RANDOM).colour
    axis.fill_between(
        shares, lines.min(axis=0), lines.max(axis=0), color=grey, alpha=0.25, linewidth=0, label="Random: all orders"
    )
    axis.plot(shares, lines.mean(axis=0), color=grey, label=f"Random: mean of {len(paths)} orders")


def _lines(axis: Axes, comparison: "Comparison", *, kept: bool) -> None:
    """The first lines are the widest, so that those that coincide are seen behind each other."""
    results = shown(comparison)
    for width, result in zip(np.linspace(4.5, 1.4, len(results)), results, strict=True):
        method, path = result.attribution.method, result.path
        (entry,) = chosen([method])
        axis.plot(
            100 * path.shares,
            (path.kept if kept else path.removed)[:, path.label],
            color=line_of(method).colour,
            linestyle=DASHES[line_of(method).dash],
            linewidth=width,
            label=entry.name,
        )


def _ink(drawn: Figure) -> None:
    """One colour and one font for every word and frame, and no word is read as mathematics."""
    for text in drawn.findobj(Text):
        text.set(color=INK, parse_math=False, fontfamily=FONT.get_family())
    for axis in drawn.axes:
        axis.tick_params(color=INK, labelcolor=INK, labelfontfamily="DejaVu Sans")
        for spine in axis.spines.values():
            spine.set(color=INK, linewidth=0.8)


def drawable(text: str) -> str:
    return "".join(letter if ord(letter) in _letters() else "\ufffd" for letter in text)


@lru_cache(maxsize=1)
def _letters() -> frozenset[int]:
    return frozenset(get_font(findfont(FONT)).get_charmap())
