"""Colours of scores and of lines, for the app, the notebook and the exported page.

A score of zero is transparent, so it has the background of the page in light and dark; the colour of the strongest
score is pale enough to read the word on it in both.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from explainers.errors import ExplanationError
from explainers.methods.registry import Dash, base_id, method_spec

Rgb = tuple[int, int, int]
Scale = Literal["method", "shared"]
DEEPEST = 0.7  # alpha of the strongest score


@dataclass(frozen=True)
class Preset:
    """Colours of scores for the class, of scores against it, and of unsigned scores, which are neither."""

    title: str
    supports: Rgb
    against: Rgb
    unsigned: Rgb = (150, 110, 215)


PRESETS = {
    "safe": Preset("Colour-blind safe: blue for, orange against", (50, 130, 230), (222, 104, 8)),
    "captum": Preset("Captum: green for, red against", (40, 160, 70), (230, 85, 80)),
    "shap": Preset("SHAP: red for, blue against", (255, 70, 120), (0, 138, 250)),
}


@dataclass(frozen=True)
class LineStyle:
    """How a method is drawn in a plot; the dashes tell the groups of methods apart."""

    colour: str
    dash: Dash


VARIANT_SHADES = ((255, 0.25), (0, 0.3), (160, 0.45), (255, 0.4), (0, 0.15))  # towards white, black or grey


def colour(strength: float, *, preset: str = "safe", signed: bool) -> str:
    """The background of a score, `rgba(r, g, b, a)`, for -1 (strongest against) to 1 (strongest for)."""
    value = float(strength)  # a NumPy scalar would print its type
    if math.isnan(value):
        raise ValueError("a score that is not a number has no colour")
    colours = score_preset(preset)
    clipped = min(max(value, -1.0 if signed else 0.0), 1.0)
    hue = (colours.supports if clipped >= 0 else colours.against) if signed else colours.unsigned
    red, green, blue = hue
    return f"rgba({red}, {green}, {blue}, {DEEPEST * abs(clipped):.3f})"


def score_preset(preset: str) -> Preset:
    """Raises `ExplanationError` for an unknown preset."""
    if preset not in PRESETS:
        raise ExplanationError(f"Unknown colours {preset!r}. Choose one of: {', '.join(PRESETS)}.")
    return PRESETS[preset]


def line_of(method: str) -> LineStyle:
    """How a method is drawn; its variants (`aml:comp`) have the same hue, paler or darker, and are dotted."""
    spec = method_spec(base_id(method))
    variant = method.removeprefix(spec.id).removeprefix(":")
    if not variant:
        return LineStyle(spec.colour, spec.dash)
    towards, share = VARIANT_SHADES[sum(map(ord, variant)) % len(VARIANT_SHADES)]
    mixed = (round((1 - share) * part + share * towards) for part in bytes.fromhex(spec.colour[1:]))
    return LineStyle("#" + bytes(mixed).hex(), "dot")


def strongest(scores: Iterable[Sequence[float]]) -> float:
    """The largest |score| of several attributions: the end of their shared scale."""
    return max((abs(float(score)) for row in scores for score in row), default=0.0)


def strengths(scores: Sequence[float], *, scale: Scale, strongest: float) -> tuple[float, ...]:
    """Scores scaled to -1…1, by the largest |score| among them ("method") or by `strongest` ("shared")."""
    end = max((abs(float(score)) for score in scores), default=0.0) if scale == "method" else float(strongest)
    return tuple(min(max(float(score) / end, -1.0), 1.0) if end else 0.0 for score in scores)
