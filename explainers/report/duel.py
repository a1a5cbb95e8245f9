"""A duel in one sentence of plain text, not escaped."""

from typing import TYPE_CHECKING

import numpy as np

from explainers.comparison.claims import can_duel
from explainers.methods.registry import method_spec
from explainers.report.text import (
    decimals,
    join_names,
    name_of_units,
    number,
    plural,
    quoted_among,
    target_name,
    the_class,
)
from explainers.results.events import Duel, DuelSide

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

HARDLY = 0.02  # of p
NUMBERS = {1: "a", 2: "two", 3: "three"}


def duel_sentence(comparison: "Comparison", duel: Duel) -> str:
    """Return what happened without the claimed units, the winner's first; which method claims which; and the test."""
    sides = sorted(duel.sides, key=lambda side: side.method != duel.winner) if duel.winner else list(duel.sides)
    texts = [_side(comparison, side) for side in sides]
    flips = [_flips(comparison, duel, side) for side in sides]
    falls = [
        f"without {text} {decimals(duel.full)} → {decimals(side.removed)}{'; the prediction flips' if flip else ''}"
        for text, side, flip in zip(texts, sides, flips, strict=True)
    ]
    mean = "" if len(duel.random_removed) == 1 else " on average"
    chance = f"without {random_units(comparison, len(sides[0].units))} {decimals(float(np.mean(duel.random_removed)))}"
    first, others = falls[0][:1].upper() + falls[0][1:], f"{falls[1]}; {chance}{mean}"
    (name, other), verb = (_name(side.method) for side in sides), "matters" if len(sides[0].units) == 1 else "matter"
    claims = f"{name} says {texts[0]} {verb}, {other} says {texts[1]}"
    return f"{first}. {others[:1].upper()}{others[1:]}. {claims}: {_result(comparison, duel)}."


def _flips(comparison: "Comparison", duel: Duel, side: DuelSide) -> bool:
    """Whether another class is certainly likelier without the side's units: one has at least the mean of the rest."""
    others = len(comparison.decision.card.labels) - 1
    return comparison.explains_predicted and side.removed < (1 - side.removed) / others


def random_units(comparison: "Comparison", count: int) -> str:
    """ "a random word", "two random patches"."""
    unit = name_of_units(comparison.decision)
    return f"{NUMBERS[count]} random {unit if count == 1 else plural(unit)}"


def no_duel_sentence(comparison: "Comparison", methods: tuple[str, str]) -> str:
    """Why there is no duel between two methods."""
    units = plural(name_of_units(comparison.decision))
    if methods[0] == methods[1]:
        return "A duel needs two different methods."
    for method in methods:
        if not can_duel(comparison, method):
            asked = f"{the_class(comparison.decision)}{target_name(comparison.decision)}"
            return f"{_name(method)} gives no ranking for {asked}, so there is no duel."
    names = join_names([_name(method) for method in methods])
    return f"{names} rank the same {units} highest, so no experiment of few {units} separates them."


def _side(comparison: "Comparison", side: DuelSide) -> str:
    return join_names([quoted_among(comparison, unit) for unit in side.units])


def _result(comparison: "Comparison", duel: Duel) -> str:
    if duel.winner is not None:
        return f"the evidence supports {_name(duel.winner)} (p = {number(duel.p)} against random orders)"
    units = plural(name_of_units(comparison.decision))
    first, second = (side.removed for side in duel.sides)
    nothing = f"no experiment with up to three {units} per side separates the methods"
    if min(first, second) >= float(np.mean(duel.random_removed)):
        little = f"what they disagree about counts no more than random {units}"
        return f"neither side does better than chance: {little}, and {nothing}"
    if abs(first - second) <= HARDLY:
        return f"the two sides hardly differ, and {nothing}"
    return f"random {units} differ by as much too often to decide (p = {number(duel.p)}), and {nothing}"


def _name(method: str) -> str:
    return method_spec(method).name
