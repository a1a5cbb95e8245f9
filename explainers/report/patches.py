"""The picture under the colours of its patches, as a drawing that needs nothing else: a part of a heat map.

Size has a second channel here too: a bar at the foot of a patch, as thick as its score is strong, solid where it speaks
for the class and dotted where it speaks against it.
"""

from collections.abc import Sequence

from explainers.datasets.picture import Picture
from explainers.explanation import Attribution
from explainers.report.pictures import Shown, shown
from explainers.report.text import escaped

LONGEST = 480  # pixels: a page holds it once for every method
TALLEST = 22  # em
BAR = 0.12  # of a patch's height, for the strongest


def overlay(attribution: Attribution, colours: Sequence[str], said: Sequence[str], framed: Sequence[bool]) -> str:
    """SVG of the picture, with a colour, a sentence and perhaps a frame for each unit that is a patch of it."""
    picture = attribution.encoding.picture
    if picture is None:
        return ""
    drawn = shown(picture, LONGEST)
    end = max(map(abs, attribution.scores), default=0.0) or 1.0
    tiles = "".join(
        _tile(unit.box, colours[index], said[index], framed[index], attribution.scores[index] / end)
        for index, unit in enumerate(attribution.encoding.units)
        if unit.box is not None
    )
    return (
        f'<svg viewBox="0 0 {drawn.width} {drawn.height}" role="img" aria-label="The picture, coloured by its patches" '
        f'style="display: block; width: 100%; max-height: {TALLEST}em; margin-bottom: 0.4em">'
        f"{_image(drawn)}{tiles}</svg>"
    )


def plain(picture: Picture) -> str:
    """The picture alone."""
    drawn = shown(picture, LONGEST)
    return (
        f'<svg viewBox="0 0 {drawn.width} {drawn.height}" role="img" aria-label="The picture" '
        f'style="display: block; max-width: 30em; max-height: {TALLEST}em">{_image(drawn)}</svg>'
    )


def _image(drawn: Shown) -> str:
    return f'<image href="{drawn.uri}" width="{drawn.width}" height="{drawn.height}" preserveAspectRatio="none"/>'


def _tile(box: tuple[int, int, int, int], colour: str, said: str, framed: bool, strength: float) -> str:
    left, top, right, bottom = box
    line = min(right - left, bottom - top) / 16
    frame = _rectangle(left + line / 2, top + line / 2, right - line / 2, bottom - line / 2)
    framing = f'<rect {frame} fill="none" stroke="#000" stroke-width="{line:.2f}"/>' if framed else ""
    return (
        f'<g><title>{escaped(said)}</title><rect {_rectangle(*box)} fill="{colour}"/>'
        f"{_bar(box, line, strength) if strength else ''}{framing}</g>"
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
