"""What a colour means, said once for the app, the notebook and the exported page.

Zero is transparent, so it is the page's own background in light and dark; the strongest score is still pale enough
to read the word on it in both.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from explainers.errors import ExplanationError

Rgb = tuple[int, int, int]
Scale = Literal["method", "shared"]
Dash = Literal["solid", "dash", "dot"]
DEEPEST = 0.7  # alpha of the strongest score


@dataclass(frozen=True)
class Preset:
    """Colours of scores that speak for the class and against it; unsigned scores say neither, so theirs is a third."""

    title: str
    supports: Rgb
    against: Rgb
    unsigned: Rgb = (150, 110, 215)


PRESETS = {
    "safe": Preset("Colour-blind safe: blue for, orange against", (50, 130, 230), (230, 110, 10)),
    "captum": Preset("Captum: green for, red against", (40, 160, 70), (230, 85, 80)),
    "shap": Preset("SHAP: red for, blue against", (255, 70, 120), (0, 138, 250)),
}


@dataclass(frozen=True)
class Line:
    """How a method is drawn in a chart. The dashes tell its group: learned, given by Captum, or a control."""

    colour: str
    dash: Dash


LINES = {
    "aml": Line("#d21e00", "dash"),
    "cimi": Line("#5a3cff", "dash"),
    "ciem": Line("#5aa54b", "dash"),
    "ivra": Line("#b07a00", "dash"),
    "cause": Line("#c32d96", "dash"),
    "integrated_gradients": Line("#0078b4", "solid"),
    "lime": Line("#e17800", "solid"),
    "kernel_shap": Line("#e100c3", "solid"),
    "occlusion": Line("#00781e", "solid"),
    "gradient_x_input": Line("#8787ff", "solid"),
    "faml": Line("#00919b", "dash"),
    "attention_mean": Line("#875a69", "dot"),
    "attention_last": Line("#c378b4", "dot"),
    "premise_only": Line("#2d96ff", "dot"),
    "hypothesis_only": Line("#f0695a", "dot"),
    "text_only": Line("#3c8796", "dot"),
    "picture_only": Line("#a5691e", "dot"),
    "random": Line("#8a8a8a", "dot"),
}


VARIANT_SHADES = ((255, 0.25), (0, 0.3), (160, 0.45), (255, 0.4), (0, 0.15))  # towards white, black or grey


def colour(strength: float, *, preset: str = "safe", signed: bool) -> str:
    """The background of a score, `rgba(r, g, b, a)`, for -1 (strongest against) to 1 (strongest for)."""
    value = float(strength)  # a NumPy scalar would print its type
    if math.isnan(value):
        raise ValueError("a score that is not a number has no colour")
    colours = chosen_preset(preset)
    within = min(max(value, -1.0 if signed else 0.0), 1.0)
    hue = (colours.supports if within >= 0 else colours.against) if signed else colours.unsigned
    red, green, blue = hue
    return f"rgba({red}, {green}, {blue}, {DEEPEST * abs(within):.3f})"


def chosen_preset(preset: str) -> Preset:
    """Raises `ExplanationError` for colours that do not exist."""
    if preset not in PRESETS:
        raise ExplanationError(f"There are no colours {preset!r}. Choose one of: {', '.join(PRESETS)}.")
    return PRESETS[preset]


def line_of(method: str) -> Line:
    """How a method is drawn; other weights of it (`aml:comp`) share its hue, paler or darker, and are dotted."""
    base, colon, name = method.partition(":")
    line = LINES[base]
    if not colon:
        return line
    towards, share = VARIANT_SHADES[sum(map(ord, name)) % len(VARIANT_SHADES)]
    mixed = (round((1 - share) * part + share * towards) for part in bytes.fromhex(line.colour[1:]))
    return Line("#" + bytes(mixed).hex(), "dot")


def strongest(scores: Iterable[Sequence[float]]) -> float:
    """The largest |score| of several attributions, the end of a scale that they share."""
    return max((abs(float(score)) for each in scores for score in each), default=0.0)


def strengths(scores: Sequence[float], *, scale: Scale, strongest: float) -> tuple[float, ...]:
    """Scores from -1 to 1: relative to their own strongest ("method"), or to the `strongest` of all ("shared")."""
    end = max((abs(float(score)) for score in scores), default=0.0) if scale == "method" else float(strongest)
    return tuple(min(max(float(score) / end, -1.0), 1.0) if end else 0.0 for score in scores)
