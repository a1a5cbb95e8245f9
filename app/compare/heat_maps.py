"""The colours of a method card: what each unit's score looks like, and what the colours mean."""

from collections.abc import Sequence
from typing import Any

from app.compare.drawing_options import DrawingOptions
from app.compare.runs import Run
from explainers.report.colours import colour, strengths
from explainers.report.text import one_line
from explainers.results.attribution import Attribution, ranking
from explainers.results.erasure_curves import top_count

THICKEST = 5  # pixels of the underline
LONGEST_LABEL = 24  # characters, in a legend


def cells(run: Run, attribution: Attribution, options: DrawingOptions, strongest: float) -> dict[str, dict[str, Any]]:
    """By unit number in the whole input, which differs from the number among the remaining units."""
    key = (attribution, options.preset, options.scale, options.percent, strongest)
    return run.view(f"cells {attribution.method}", key, lambda: _cells(run, attribution, options, strongest))


def _cells(run: Run, attribution: Attribution, options: DrawingOptions, strongest: float) -> dict[str, dict[str, Any]]:
    numbers, scores, signed = remaining(run), attribution.scores, attribution.signed
    order = ranking(scores).tolist()
    ranks = {unit: rank for rank, unit in enumerate(order)}
    cut = top_count(len(order), options.percent) if options.percent else 0
    strength = strengths(scores, scale=options.scale, strongest=strongest)
    spread = attribution.spread or (0.0,) * len(scores)
    return {
        str(numbers[unit]): {
            "colour": colour(strength[unit], preset=options.preset, signed=signed),
            "line": f"{round(abs(strength[unit]) * THICKEST)}px",
            "score": score_text(scores[unit], spread[unit], signed=signed),
            "rank": ranks[unit] + 1,
            "of": len(order),
            "top": ranks[unit] < cut,
        }
        for unit in range(len(order))
    }


def remaining(run: Run) -> Sequence[int]:
    """The numbers in the whole input of the units that are explained."""
    total = len(run.whole.encoding.units) if run.whole else 0
    return [index for index in range(total) if index not in run.request.removed]


def legend(
    attribution: Attribution, options: DrawingOptions, strongest: float, labels: Sequence[str]
) -> list[dict[str, str]]:
    """The ends of the scale with their numbers, as drawn: what full colour means, and for which class."""
    end = strongest if options.scale == "shared" else max(map(abs, attribution.scores), default=0.0)
    name = one_line(labels[attribution.label], LONGEST_LABEL) if labels else "the class"
    ends = [(-1.0, f"against {name}"), (1.0, f"for {name}")] if attribution.signed else [(1.0, "most")]
    return [
        {
            "colour": colour(strength, preset=options.preset, signed=attribution.signed),
            "text": f"{word} {score_text(strength * end, 0.0, signed=attribution.signed)}",
        }
        for strength, word in ends
    ]


def score_text(score: float, spread: float, *, signed: bool) -> str:
    rounded = round(score, 4) + 0.0  # no minus zero
    number = f"{rounded:{'+' if signed and rounded else ''}.4f}"
    return f"{number} ± {spread:.4f}" if spread else number
