"""The picture under the colours of every method, side by side as one file; the words stand in the HTML page."""

import io
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from explainers.methods import chosen
from explainers.metrics.modalities import picture_share
from explainers.report.colours import colour, strengths
from explainers.report.figures import DOTS, FONT, drawable
from explainers.report.text import one_line
from explainers.report.units import divided

if TYPE_CHECKING:
    from explainers.api import Comparison
    from explainers.explanation import Attribution

ACROSS = 3
WIDE = 4.0  # inches of each picture
TALLEST = 3.5


def png(comparison: "Comparison") -> bytes:
    file, drawn = io.BytesIO(), figure(comparison)
    FigureCanvasAgg(drawn).print_figure(file, format="png")
    return file.getvalue()


def figure(comparison: "Comparison") -> Figure:
    """Colours are relative to the strongest unit of each method, words included."""
    picture = comparison.question.encoding.picture
    if picture is None:
        raise ValueError("there is no picture to draw")
    pixels = picture.pixels()
    height, width = pixels.shape[:2]
    across = min(ACROSS, max(len(comparison.results), 1))
    down = -(-len(comparison.results) // across) or 1
    high = min(WIDE * height / width, TALLEST) + 0.55
    drawn = Figure(figsize=(across * WIDE, down * high + 0.5), dpi=DOTS, facecolor="white", layout="constrained")
    said = f"“{one_line(' / '.join(comparison.question.encoding.texts), 90)}”: for {one_line(comparison.label, 40)}"
    drawn.suptitle(drawable(said), fontsize=10, fontproperties=FONT, parse_math=False)
    axes = drawn.subplots(down, across, squeeze=False).flat
    for axis in axes:
        axis.set_axis_off()
    for axis, result in zip(drawn.axes, comparison.results, strict=False):
        axis.imshow(pixels, extent=(0, width, height, 0), interpolation="nearest" if width < 800 else "antialiased")
        _tiles(axis, result.attribution)
    return drawn


def _tiles(axis: Axes, found: "Attribution") -> None:
    (entry,) = chosen([found.method])
    axis.set_title(f"{entry.name}\n{divided(picture_share(found))}", fontsize=8, fontproperties=FONT, parse_math=False)
    relative = strengths(found.scores, scale="method", strongest=0.0)
    for unit, strength in zip(found.encoding.units, relative, strict=True):
        if unit.box is not None:
            left, top, right, bottom = unit.box
            fill = _rgba(colour(strength, signed=found.signed))
            axis.add_patch(Rectangle((left, top), right - left, bottom - top, facecolor=fill, linewidth=0))


def _rgba(said: str) -> tuple[float, ...]:
    """From `rgba(r, g, b, a)` to four numbers from 0 to 1."""
    *hue, alpha = (float(part) for part in said[5:-1].split(","))
    return (*np.asarray(hue) / 255, alpha)
