import re
from dataclasses import replace

import numpy as np
import pytest

from explainers.errors import ExplanationError
from explainers.methods.registry import METHODS
from explainers.report.colours import PRESETS, LineStyle, colour, line_of, strengths, strongest

RGBA = re.compile(r"rgba\((\d{1,3}), (\d{1,3}), (\d{1,3}), ([01]\.\d{3})\)")
THEMES = {"light": ((255, 255, 255), (49, 51, 63)), "dark": ((14, 17, 23), (250, 250, 250))}  # background, text


def luminance(rgb: tuple[float, ...]) -> float:
    """WCAG 2: relative luminance of sRGB."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def parts(text: str) -> tuple[tuple[int, ...], float]:
    match = RGBA.fullmatch(text)
    assert match, text
    return tuple(int(value) for value in match.groups()[:3]), float(match.group(4))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("signed", [True, False])
def test_zero_is_the_page_itself(preset: str, signed: bool) -> None:
    assert parts(colour(0.0, preset=preset, signed=signed))[1] == 0


@pytest.mark.parametrize(
    "half", [0.5, np.float64(0.5), np.float32(0.5), np.asarray(0.5), np.asarray([0.5, 1.0])[0]], ids=lambda h: repr(h)
)
def test_numpy_scalars_give_the_same_colour_as_floats(half: float) -> None:
    assert colour(half, preset="safe", signed=True) == "rgba(50, 130, 230, 0.350)"


@pytest.mark.parametrize(("beyond", "within"), [(7.0, 1.0), (-7.0, -1.0), (float("inf"), 1.0), (float("-inf"), -1.0)])
def test_strengths_beyond_one_are_clamped(beyond: float, within: float) -> None:
    assert colour(beyond, preset="shap", signed=True) == colour(within, preset="shap", signed=True)


def test_a_score_that_is_not_a_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a number"):
        colour(float("nan"), signed=True)


@pytest.mark.parametrize(("preset", "supports"), [("safe", "blue"), ("captum", "green"), ("shap", "red")])
def test_the_presets_are_those_of_captum_and_shap_and_a_safe_one(preset: str, supports: str) -> None:
    rgb, _ = parts(colour(1, preset=preset, signed=True))
    assert ("red", "green", "blue")[rgb.index(max(rgb))] == supports
    against, _ = parts(colour(-1, preset=preset, signed=True))
    assert ("red", "green", "blue")[against.index(max(against))] == ("blue" if preset == "shap" else "red")


def test_an_unsigned_score_never_looks_like_support() -> None:
    for preset in PRESETS:
        rgb, _ = parts(colour(0.8, preset=preset, signed=False))
        assert rgb not in (PRESETS[preset].supports, PRESETS[preset].against)


def test_unknown_colours_are_named_with_those_that_exist() -> None:
    with pytest.raises(ExplanationError, match="safe, captum, shap"):
        colour(1, preset="jet", signed=True)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("preset", PRESETS)
def test_words_stay_legible_on_the_strongest_colour(theme: str, preset: str) -> None:
    page, ink = THEMES[theme]
    for strength, signed in ((1, True), (-1, True), (1, False)):
        rgb, alpha = parts(colour(strength, preset=preset, signed=signed))
        mixed = tuple(alpha * over + (1 - alpha) * under for over, under in zip(rgb, page, strict=True))
        assert contrast(mixed, ink) >= 4.5  # WCAG AA


def test_scores_are_relative_to_their_own_strongest_or_to_that_of_all() -> None:
    assert strengths((0.2, -0.4, 0.0), scale="method", strongest=8.0) == (0.5, -1.0, 0.0)
    assert strengths((0.2, -0.4, 0.0), scale="shared", strongest=0.8) == pytest.approx((0.25, -0.5, 0.0))


def test_scores_that_are_all_zero_have_no_strength() -> None:
    assert strengths((0.0, 0.0), scale="method", strongest=0.0) == (0.0, 0.0)
    assert strengths((0.0, 0.0), scale="shared", strongest=0.0) == (0.0, 0.0)


def test_the_strongest_of_all_counts_negative_scores_too() -> None:
    assert strongest([(0.1, 0.2), (-0.5, 0.3), ()]) == 0.5
    assert strongest([]) == 0.0


def test_every_method_has_a_line_colour_that_is_visible_on_white_and_on_black() -> None:
    assert len({line_of(spec.id).colour for spec in METHODS}) == len(METHODS)
    for spec in METHODS:
        rgb = tuple(bytes.fromhex(line_of(spec.id).colour[1:]))
        for page, _ in THEMES.values():
            assert contrast(rgb, page) >= 2.5, spec.id


def test_the_dashes_tell_the_groups_apart() -> None:
    assert [line_of(method).dash for method in ("aml", "lime", "random")] == ["dash", "solid", "dot"]


def test_a_variant_is_dotted_in_another_shade_of_its_method() -> None:
    variant, method = line_of("aml:comp"), line_of("aml")
    assert variant.dash == "dot"
    assert variant.colour != method.colour
    # "comp": 99 + 111 + 109 + 112 = 431, 431 % 5 = 1: 30 % towards black, and 0.7 · #d21e00 = #931500
    assert variant.colour == "#931500"


def test_a_registered_method_is_drawn_as_its_spec_says() -> None:
    METHODS.register(replace(METHODS.get("lime"), id="mine", colour="#123456"))
    try:
        assert line_of("mine") == LineStyle("#123456", "solid")
    finally:
        METHODS.unregister("mine")
