"""The heatmaps of all methods over the image, side by side in one file; the words are in the HTML page."""

import io
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from explainers.methods.registry import method_spec
from explainers.report.colours import colour, strengths
from explainers.report.plots import DOTS, FONT, drawable
from explainers.report.text import one_line, share_line, target_name

if TYPE_CHECKING:
    from explainers.results.attribution import Attribution
    from explainers.results.comparison import Comparison

COLUMNS = 3
WIDTH = 4.0  # inches of each image
TALLEST = 3.5


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
    row_height = min(WIDTH * height / width, TALLEST) + 0.55
    figure = Figure((columns * WIDTH, rows * row_height + 0.5), dpi=DOTS, facecolor="white", layout="constrained")
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
