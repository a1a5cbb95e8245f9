"""A duel in one sentence of plain text, not escaped."""

from typing import TYPE_CHECKING

import numpy as np

from explainers.comparison.claims import can_duel
from explainers.comparison.standings import SMALLEST
from explainers.methods.registry import method_spec
from explainers.report.text import decimals, join_names, one_line
from explainers.report.unit_names import name_of_units, plural, quoted_among
from explainers.results.duel import Duel, DuelSide

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

NUMBERS = {1: "a", 2: "two", 3: "three"}


def duel_sentence(comparison: "Comparison", duel: Duel) -> str:
    """What either method claims, what happened without these units, and which method that supports."""
    first, second = (_side(comparison, side) for side in duel.sides)
    (name, other), count = (_name(side.method) for side in duel.sides), len(duel.sides[0].units)
    verb = "matters" if count == 1 else "matter"
    claims = f"{name} says {first} {verb}, {other} says {second}."
    falls = ", ".join(
        f"without {units} {decimals(duel.full)} → {decimals(side.removed)}"
        for units, side in zip((first, second), duel.sides, strict=True)
    )
    chance = f"without {random_units(comparison, count)} {decimals(float(np.mean(duel.random_removed)))}"
    mean = "" if len(duel.random_removed) == 1 else " on average"
    return f"{claims} {falls[0].upper()}{falls[1:]}, {chance}{mean}: {_result(comparison, duel)}."


def random_units(comparison: "Comparison", count: int) -> str:
    """ "a random word", "two random patches"."""
    unit = name_of_units(comparison.question)
    return f"{NUMBERS[count]} random {unit if count == 1 else plural(unit)}"


def no_duel_sentence(comparison: "Comparison", methods: tuple[str, str]) -> str:
    """Why there is no duel between two methods."""
    units = plural(name_of_units(comparison.question))
    if methods[0] == methods[1]:
        return "A duel needs two different methods."
    for method in methods:
        if not can_duel(comparison, method):
            return f"{_name(method)} gives no ranking for the class {one_line(comparison.label)}, so there is no duel."
    names = join_names([_name(method) for method in methods])
    return f"{names} rank the same {units} highest, so no experiment of few {units} separates them."


def _side(comparison: "Comparison", side: DuelSide) -> str:
    return join_names([quoted_among(comparison, unit) for unit in side.units])


def _result(comparison: "Comparison", duel: Duel) -> str:
    if duel.winner is not None:
        return f"the evidence supports {_name(duel.winner)}"
    units = plural(name_of_units(comparison.question))
    first, second = (side.removed for side in duel.sides)
    nothing = f"no experiment with up to three {units} per side separates the methods"
    if min(first, second) >= float(np.mean(duel.random_removed)):
        little = f"what they disagree about counts no more than random {units}"
        return f"neither side does better than chance: {little}, and {nothing}"
    if abs(first - second) <= SMALLEST:
        return f"the two sides hardly differ, and {nothing}"
    return f"random {units} differ by as much too often to decide, and {nothing}"


def _name(method: str) -> str:
    return method_spec(method).name
