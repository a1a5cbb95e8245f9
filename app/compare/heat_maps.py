"""The colours of a heat map: what each unit's score looks like, and what the colours mean.

What the cards need to draw an image under the colours of its patches, as plain data. Positions are in percent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.compare.drawing_options import DrawingOptions
from app.compare.runs import Run
from explainers.datasets.example import Evidence
from explainers.models.inputs.encoding import Unit
from explainers.report import colours, display_images
from explainers.results.attribution import Attribution, ranking, top_count

THICKEST = 5  # pixels of the underline
LONGEST_LABEL = 24  # characters, in a legend


@dataclass(frozen=True)
class Strongest:
    """The ends of a scale that several methods share: the largest |score| of all units, of words, and of patches."""

    unit: float = 0.0
    word: float = 0.0
    patch: float = 0.0

    @classmethod
    def of(cls, attributions: Sequence[Attribution]) -> "Strongest":
        def end(kind: str) -> float:
            return colours.strongest(
                [s for s, unit in zip(attribution.scores, attribution.encoding.units, strict=True) if unit.kind == kind]
                for attribution in attributions
            )

        word, patch = end("word"), end("patch")
        return cls(max(word, patch), word, patch)


def cells(run: Run, attribution: Attribution, options: DrawingOptions, ends: Strongest) -> dict[str, dict[str, Any]]:
    """The cells by unit number in the whole input, which differs from the number among the remaining units."""
    key = (attribution, options.preset, options.scale, options.separate, options.percent, ends)
    return run.view(f"cells {attribution.method}", key, lambda: _cells(run, attribution, options, ends))


def _cells(run: Run, attribution: Attribution, options: DrawingOptions, ends: Strongest) -> dict[str, dict[str, Any]]:
    numbers, scores, signed = remaining(run), attribution.scores, attribution.signed
    order = ranking(scores).tolist()
    ranks = {unit: rank for rank, unit in enumerate(order)}
    cut = top_count(len(order), options.percent) if options.percent else 0
    strength = scaled(attribution.encoding.units, scores, options, ends)
    spread = attribution.spread or (0.0,) * len(scores)
    return {
        str(numbers[unit]): {
            "colour": colours.colour(strength[unit], preset=options.preset, signed=signed),
            "line": f"{round(abs(strength[unit]) * THICKEST)}px",
            "score": score_text(scores[unit], spread[unit], signed=signed),
            "rank": ranks[unit] + 1,
            "of": len(order),
            "top": ranks[unit] < cut and scores[unit] > 0,  # what does not support the class is never outlined
        }
        for unit in range(len(order))
    }


def scaled(
    units: Sequence[Unit], scores: Sequence[float], options: DrawingOptions, ends: Strongest
) -> tuple[float, ...]:
    """Scores as -1…1 of their scale, on demand words and patches each on a scale of their own."""
    if not options.separate:
        return colours.strengths(scores, scale=options.scale, strongest=ends.unit)
    result = [0.0] * len(scores)
    for kind, end in (("word", ends.word), ("patch", ends.patch)):
        numbers = [number for number, unit in enumerate(units) if unit.kind == kind]
        part = colours.strengths([scores[number] for number in numbers], scale=options.scale, strongest=end)
        for number, strength in zip(numbers, part, strict=True):
            result[number] = strength
    return tuple(result)


def remaining(run: Run) -> Sequence[int]:
    """The numbers in the whole input of the units that are explained."""
    total = len(run.whole.encoding.units) if run.whole else 0
    return [index for index in range(total) if index not in run.request.removed]


def legend(attribution: Attribution, options: DrawingOptions, ends: Strongest, name: str) -> list[dict[str, str]]:
    """The ends of the scale with their numbers, as drawn: what full colour means; `name` is what is explained."""
    if options.separate and attribution.encoding.multimodal:
        return []  # there are two scales
    end = ends.unit if options.scale == "shared" else max(map(abs, attribution.scores), default=0.0)
    both = [(-1.0, f"against {name}"), (1.0, f"for {name}")] if attribution.signed else [(1.0, "most")]
    return [
        {
            "colour": colours.colour(strength, preset=options.preset, signed=attribution.signed),
            "text": f"{word} {score_text(strength * end, 0.0, signed=attribution.signed)}",
        }
        for strength, word in both
    ]


def score_range(attribution: Attribution) -> str:
    """The lowest and the highest score, of unsigned ones the highest, with two digits that count."""
    low, high = min(attribution.scores, default=0.0), max(attribution.scores, default=0.0)
    if not attribution.signed:
        return f"strongest {_short(high)}"
    return f"{_short(low, sign='+')} … {_short(high, sign='+')}"


def _short(score: float, *, sign: str = "") -> str:
    places = 2 if abs(score) >= 0.01 or not score else 4 if abs(score) >= 0.0001 else 6
    return f"{round(score, places) + 0.0:{sign}.{places}f}".replace("-", "−")


def score_text(score: float, spread: float, *, signed: bool) -> str:
    rounded = round(score, 4) + 0.0  # no minus zero
    number = f"{rounded:{'+' if signed and rounded else ''}.4f}"
    return f"{number} ± {spread:.4f}" if spread else number


def image_data(run: Run) -> dict[str, Any] | None:
    """`src`, `width` and `height`; `patches` by unit number: left, top, width, height, name. None for a text."""
    image = run.request.example.image
    if image is None or (run.whole is not None and not run.whole.encoding.multimodal):
        return None
    display = display_images.display_image(image)
    return {"src": display.uri, "width": display.width, "height": display.height, "patches": _patches(run, display)}


def _patches(run: Run, display: display_images.DisplayImage) -> dict[str, tuple[float, float, float, float, str]]:
    """Empty until the model has read the image."""
    units = run.whole.encoding.units if run.whole is not None else ()
    return {
        str(number): (*display.percent_box(unit.box), f"patch {unit.text}")
        for number, unit in enumerate(units)
        if unit.box is not None
    }


def evidence_data(run: Run, evidence: Evidence | None) -> dict[str, Any]:
    """The `boxes` in the image and the numbers of the `words` from which the correct answer follows."""
    if evidence is None or run.request.example.image is None:
        return {"boxes": [], "words": []}
    display = display_images.display_image(run.request.example.image)
    units = run.whole.encoding.units if run.whole is not None else ()
    words = [
        number
        for number, unit in enumerate(units)
        if unit.kind == "word" and any(unit.start < end and start < unit.end for start, end in evidence.words)
    ]
    return {"boxes": [display.percent_box(box) for box in evidence.boxes], "words": words}
