"""The text as it was typed, spaces and punctuation included, coloured by one attribution; above it the image, if any,
with its patches coloured, as a self-contained SVG.

Strength is visible without colours too: the line under a word and the bar at the foot of a patch are as thick as the
score is strong, solid for the class, and dotted or dashed against it.
"""

from collections.abc import Iterator, Sequence

from explainers.datasets.example import InputImage
from explainers.models.inputs.encoding import Unit
from explainers.report.colours import colour, strengths, strongest
from explainers.report.display_images import DisplayImage, display_image
from explainers.report.wording import escaped, number, share_line
from explainers.results.attribution import Attribution, ranking, top_count

THICKEST = 4  # pixels
BLOCK = "white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.9; unicode-bidi: isolate"
ASIDE = "font-size: 0.8em; opacity: 0.75"
OUTSIDE = '<span style="opacity: 0.5" title="not part of this explanation">'
TEXT_NAMES = ("Text 1", "Text 2")
LONGEST = 480  # pixels; a page contains the image once per method
TALLEST = 22  # em
BAR = 0.12  # of a patch's height, for the strongest


def heatmap(
    attribution: Attribution,
    label: str,
    *,
    preset: str = "safe",
    shared: float | None = None,
    percent: float = 0,
    names: tuple[str, ...] = TEXT_NAMES,
) -> str:
    """HTML of the text, or of both texts of a pair, or of a prompt's examples and the text, under their `names`.

    Colours are relative to the strongest unit, or to `shared`, the strongest score of all methods. The top `percent` %
    of the units are framed. `label` is the name of the explained class.
    """
    texts = attribution.encoding.shown_texts
    spans = _spans(attribution, label, preset, shared, percent)
    blocks = [_image(attribution, label, preset, shared, percent)] if attribution.encoding.multimodal else []
    for segment, text in enumerate(texts):
        head = f'<div style="{ASIDE}">{escaped(names[segment])}</div>' if len(texts) > 1 else ""
        body = "".join(_pieces(text, segment, attribution.encoding.units, spans))
        blocks.append(f'{head}<div dir="auto" style="{BLOCK}">{body}</div>')
    return "".join(blocks)


def legend(attribution: Attribution, label: str, *, preset: str = "safe", shared: float | None = None) -> str:
    """HTML of the colour scale with the scores at its ends."""
    scores, end = attribution.scores, _end(attribution, shared)
    high, low = max(scores), min(scores)
    name = f"<bdi>{escaped(label)}</bdi>"
    if attribution.signed:
        ends = [("against", min(low, 0.0)), (f"supports {name}", max(high, 0.0))]
        full = f"full colour at ±{number(end)}"
    else:
        ends = [("weight, lowest", low), ("highest", high)]
        full = f"full colour at {number(end)}; neither for nor against"
    swatches = " … ".join(
        f"{words} {_swatch(value / end if end else 0.0, preset, attribution.signed)}"
        f"{number(value, signed=attribution.signed)}"
        for words, value in ends
    )
    return f'<div style="{ASIDE}">{swatches} ({full})</div>'


def _spans(attribution: Attribution, label: str, preset: str, shared: float | None, percent: float) -> list[str]:
    """One <span> per unit, in the order of the units."""
    order = ranking(attribution.scores).tolist()
    ranks = {unit: rank for rank, unit in enumerate(order, 1)}
    framed = top_count(len(order), percent) if percent else 0
    relative = strengths(attribution.scores, scale="shared", strongest=_end(attribution, shared))
    return [
        f'<span data-unit="{index}" style="{_style(strength, preset, attribution.signed, ranks[index] <= framed)}" '
        f'title="{escaped(unit_title(attribution, index, ranks[index], label))}">{escaped(unit.text)}</span>'
        for index, (unit, strength) in enumerate(zip(attribution.encoding.units, relative, strict=True))
    ]


def _image(attribution: Attribution, label: str, preset: str, shared: float | None, percent: float) -> str:
    """The image in the same colours as the words, and how the importance is divided between image and text."""
    order = ranking(attribution.scores).tolist()
    ranks = {unit: rank for rank, unit in enumerate(order, 1)}
    framed = top_count(len(order), percent) if percent else 0
    relative = strengths(attribution.scores, scale="shared", strongest=_end(attribution, shared))
    svg = overlay(
        attribution,
        [colour(strength, preset=preset, signed=attribution.signed) for strength in relative],
        [
            f"{unit.text}: {unit_title(attribution, index, ranks[index], label)}"
            for index, unit in enumerate(attribution.encoding.units)
        ],
        [ranks[index] <= framed for index in range(len(order))],
    )
    return f'{svg}<div style="{ASIDE}">{share_line(attribution.image_share)}</div>'


def unit_title(attribution: Attribution, index: int, rank: int, label: str) -> str:
    """The tooltip of a unit: its score, its rank and its direction."""
    score = attribution.scores[index]
    spread = f" (± {number(attribution.spread[index])})" if attribution.spread else ""
    direction = "" if not attribution.signed or not score else ("supports " if score > 0 else "against ") + label
    values = f"score {number(score, signed=attribution.signed)}{spread}, rank {rank} of {len(attribution.scores)}"
    return f"{values}, {direction}" if direction else values


def _end(attribution: Attribution, shared: float | None) -> float:
    return strongest([attribution.scores]) if shared is None else shared


def _style(strength: float, preset: str, signed: bool, framed: bool) -> str:
    line = "solid" if strength >= 0 or not signed else "dotted"
    frame = "; outline: 1px solid currentColor; outline-offset: 1px" if framed else ""
    return (
        f"background-color: {colour(strength, preset=preset, signed=signed)}; border-radius: 3px; "
        f"padding-bottom: 1px; border-bottom: {round(THICKEST * abs(strength))}px {line} currentColor{frame}"
    )


def _swatch(strength: float, preset: str, signed: bool) -> str:
    fill = colour(strength, preset=preset, signed=signed)
    return (
        '<span style="display: inline-block; width: 1em; height: 0.8em; margin: 0 0.2em; border-radius: 2px; '
        f'border: 1px solid rgba(128, 128, 128, 0.5); background-color: {fill}"></span>'
    )


def _pieces(text: str, segment: int, units: tuple[Unit, ...], spans: list[str]) -> Iterator[str]:
    """The spans of the units and the text between them, in the order of the text."""
    at = 0
    for unit, span in zip(units, spans, strict=True):
        if unit.segment == segment:
            yield _between(text[at : unit.start])
            yield span
            at = max(at, unit.end)
    yield _between(text[at:])


def _between(text: str) -> str:
    """Spaces stay; other characters are dimmed: they were removed, or cut off because the text is too long."""
    return f"{OUTSIDE}{escaped(text)}</span>" if text.strip() else escaped(text)


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
        f"{_pixels(display)}{tiles}</svg>"
    )


def plain_image(image: InputImage) -> str:
    """SVG of the image without scores."""
    display = display_image(image, LONGEST)
    return (
        f'<svg viewBox="0 0 {display.width} {display.height}" role="img" aria-label="The image" '
        f'style="display: block; max-width: 30em; max-height: {TALLEST}em">{_pixels(display)}</svg>'
    )


def _pixels(display: DisplayImage) -> str:
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
