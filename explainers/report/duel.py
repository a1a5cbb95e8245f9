"""A duel in one sentence of plain text, not escaped."""

from typing import TYPE_CHECKING

import numpy as np

from explainers.comparison.duel import can_duel
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
    """Return which units either method names, the winner first, what removing them does to p, and what follows."""
    sides = sorted(duel.sides, key=lambda side: side.method != duel.winner) if duel.winner else list(duel.sides)
    (name, other), texts = (_name(side.method) for side in sides), [_side(comparison, side) for side in sides]
    flips = ["; the prediction flips" if _flips(comparison, duel, side) else "" for side in sides]
    mean = "" if len(duel.random_removed) == 1 else " on average"
    random = random_units(comparison, len(sides[0].units))
    return (
        f"{name} ranks {texts[0]} high, {other} ranks {texts[1]} high. Which does the model need more? "
        f"p({target_name(comparison.decision)}) is {decimals(duel.full)}. "
        f"Without {texts[0]} it is {decimals(sides[0].removed)}{flips[0]}. "
        f"Without {texts[1]} it is {decimals(sides[1].removed)}{flips[1]}. "
        f"Without {random} it is {decimals(float(np.mean(duel.random_removed)))}{mean}. {_result(comparison, duel)}"
    )


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
    return f"{names} rank the same {units} highest, so removing a few {units} cannot tell them apart."


def _side(comparison: "Comparison", side: DuelSide) -> str:
    return join_names([quoted_among(comparison, unit) for unit in side.units])


def _result(comparison: "Comparison", duel: Duel) -> str:
    units = plural(name_of_units(comparison.decision))
    if duel.winner is not None:
        seldom = f"random {units} seldom differ by as much (p = {number(duel.p)})"
        return f"So the evidence supports {_name(duel.winner)}: {seldom}."
    first, second = (side.removed for side in duel.sides)
    if min(first, second) >= float(np.mean(duel.random_removed)):
        why = f"neither side counts more than random {units}"
    elif abs(first - second) <= HARDLY:
        why = "the two sides hardly differ"
    else:
        why = f"random {units} differ by as much too often (p = {number(duel.p)})"
    return f"Not decided with up to three {units} per side: {why}."


def _name(method: str) -> str:
    return method_spec(method).name
