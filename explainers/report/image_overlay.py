"""The image with its patches coloured, as a self-contained SVG: a part of a heatmap.

Strength is visible without colours too: the bar at the foot of a patch is as thick as its score is strong, solid for
the class and dashed against it.
"""

from collections.abc import Sequence

from explainers.datasets.image import InputImage
from explainers.report.display_images import DisplayImage, display_image
from explainers.report.text import escaped
from explainers.results.attribution import Attribution

LONGEST = 480  # pixels; a page contains the image once per method
TALLEST = 22  # em
BAR = 0.12  # of a patch's height, for the strongest


def overlay(attribution: Attribution, colours: Sequence[str], titles: Sequence[str], framed: Sequence[bool]) -> str:
    """SVG of the image; `colours`, `titles` and `framed` are by unit and apply to patches. Empty without an image."""
    image = attribution.encoding.image
    if image is None:
        return ""
    display = display_image(image, LONGEST)
    end = max(map(abs, attribution.scores), default=0.0) or 1.0
    tiles = "".join(
        _tile(unit.box, colours[index], titles[index], framed[index], attribution.scores[index] / end)
        for index, unit in enumerate(attribution.encoding.units)
        if unit.box is not None
    )
    return (
        f'<svg viewBox="0 0 {display.width} {display.height}" role="img" aria-label="The image with coloured patches" '
        f'style="display: block; width: 100%; max-height: {TALLEST}em; margin-bottom: 0.4em">'
        f"{_image(display)}{tiles}</svg>"
    )


def plain_image(image: InputImage) -> str:
    """SVG of the image without scores."""
    display = display_image(image, LONGEST)
    return (
        f'<svg viewBox="0 0 {display.width} {display.height}" role="img" aria-label="The image" '
        f'style="display: block; max-width: 30em; max-height: {TALLEST}em">{_image(display)}</svg>'
    )


def _image(display: DisplayImage) -> str:
    return f'<image href="{display.uri}" width="{display.width}" height="{display.height}" preserveAspectRatio="none"/>'


def _tile(box: tuple[int, int, int, int], colour: str, title: str, framed: bool, strength: float) -> str:
    left, top, right, bottom = box
    line = min(right - left, bottom - top) / 16
    frame = _rectangle(left + line / 2, top + line / 2, right - line / 2, bottom - line / 2)
    outline = f'<rect {frame} fill="none" stroke="#000" stroke-width="{line:.2f}"/>' if framed else ""
    return (
        f'<g><title>{escaped(title)}</title><rect {_rectangle(*box)} fill="{colour}"/>'
        f"{_bar(box, line, strength) if strength else ''}{outline}</g>"
    )


def _rectangle(left: float, top: float, right: float, bottom: float) -> str:
    return f'x="{left:.2f}" y="{top:.2f}" width="{right - left:.2f}" height="{bottom - top:.2f}"'


def _bar(box: tuple[int, int, int, int], line: float, strength: float) -> str:
    """At the foot of the patch."""
    left, top, right, bottom = box
    thick = BAR * (bottom - top) * abs(strength)
    dashes = f' stroke-dasharray="{2 * line:.2f}"' if strength < 0 else ""
    at = bottom - thick / 2
    return (
        f'<line x1="{left + 2 * line:.2f}" x2="{right - 2 * line:.2f}" y1="{at:.2f}" y2="{at:.2f}" stroke="#000" '
        f'stroke-width="{thick:.2f}"{dashes}/>'
    )
