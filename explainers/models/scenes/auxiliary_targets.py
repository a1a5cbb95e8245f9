"""Auxiliary training targets: what is known of a generated scene beside its label, for each patch and for the whole.

A thing belongs to the patch that holds its centre.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explainers.datasets.scenes.conditions import Hues, Kind, Level, Next, Within
from explainers.datasets.scenes.drawing import LEFTS, box_frame
from explainers.datasets.scenes.generator import SceneItem
from explainers.datasets.scenes.statements import Boxes, Count, Every, Unanswerable
from explainers.datasets.scenes.world import COLOURS, SHAPES, SIDE, SIZES, Thing
from explainers.models.scenes.network import COLUMNS, PATCH, PATCHES, ROWS

UNKNOWN = -100  # as in torch: no loss here
COVERED, WALLS = 27, ("left", "right", "top", "bottom")  # after 27 kinds of things
CROWD = 3  # things in one patch; more count as so many
HOLDS = COVERED + 1 + len(WALLS) + CROWD
MOST = 9  # counts from here on are one class
QUANTIFIERS = ("exactly", "at least", "at most", "all", "no", "not all", "unsaid")
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class AuxiliaryTargets:
    """`UNKNOWN` where nothing is known, as everywhere in images that were not generated."""

    holds: Integers  # (48, 35): 1 for each kind of thing there, a cover, each wall touched, and 1, 2, 3 things at least
    fits: Integers  # (48, 2): visible things there of the first and of the second kind that the statement names
    number: Integers  # (48,): of things of the first kind, or of colours, in the patch's box
    good: Integers  # (48,): whether the patch's box meets the statement's conditions
    matters: Integers  # (48,): whether the patch holds evidence
    count: int
    quantifier: int
    n: int  # of the quantifier


def unknown(*shape: int) -> Integers:
    return np.full((PATCHES, *shape), UNKNOWN)


NO_TARGETS = AuxiliaryTargets(unknown(HOLDS), unknown(2), unknown(), unknown(), unknown(), UNKNOWN, UNKNOWN, UNKNOWN)


def auxiliary_targets(item: SceneItem) -> AuxiliaryTargets:
    statement = item.statement
    if isinstance(statement, Unanswerable):
        quantifier, n, count = QUANTIFIERS.index("unsaid"), UNKNOWN, UNKNOWN
    elif isinstance(statement, Every):
        quantifier, n, count = QUANTIFIERS.index(statement.quantifier), UNKNOWN, item.judgement.count
    else:
        quantifier, n, count = QUANTIFIERS.index(statement.number.how), statement.number.n, item.judgement.count
    matters = np.zeros((ROWS, COLUMNS), np.int64)
    for box in item.evidence.boxes:
        matters[tiles(box)] = 1
    number, good = box_targets(item)
    most = MOST - 1
    return AuxiliaryTargets(
        holds(item), fits(item), number, good, matters.reshape(-1), min(count, most), quantifier, min(n, most)
    )  # fmt: skip


def tiles(box: tuple[int, int, int, int]) -> tuple[slice, slice]:
    """Rows and columns of the patches that a box within one of the squares overlaps."""
    left, top, right, bottom = box
    number = max(square for square, start in enumerate(LEFTS) if start <= left)
    first, last = left - LEFTS[number], right - LEFTS[number]
    offset = number * SIDE // PATCH
    return slice(top // PATCH, -(-bottom // PATCH)), slice(offset + first // PATCH, offset - (-last // PATCH))


def patch_of(thing: Thing) -> int:
    """The number of the patch that holds the thing's centre."""
    half = thing.size // 2
    return (thing.top + half) // PATCH * COLUMNS + (thing.box * SIDE + thing.left + half) // PATCH


def holds(item: SceneItem) -> Integers:
    targets = np.zeros((PATCHES, HOLDS), np.int64)
    if item.scene.covered is not None:
        targets.reshape(ROWS, COLUMNS, HOLDS)[(*tiles(box_frame(item.scene.covered)), COVERED)] = 1
    for thing in item.scene.visible():
        kind = COLOURS.index(thing.colour) * 9 + SHAPES.index(thing.shape) * 3
        targets[patch_of(thing), kind + tuple(SIZES.values()).index(thing.size)] = 1
        targets[patch_of(thing), [COVERED + 1 + WALLS.index(wall) for wall in thing.walls]] = 1
        crowd = targets[patch_of(thing), -CROWD:]
        crowd[: crowd.sum() + 1] = 1
    return targets


def kinds(item: SceneItem) -> tuple[Kind, ...]:
    """The kinds of things that the statement names, at most two."""
    statement = item.statement
    if isinstance(statement, Count | Unanswerable):
        return (statement.kind,)
    if isinstance(statement, Every):
        return statement.kind, statement.predicate
    named: list[Kind] = []
    for each in statement.conditions:
        if isinstance(each, Next):
            named += [each.one, each.other]
        elif not isinstance(each, Hues | Within):
            named.append(each.kind)
    return tuple(named[:2])


def fits(item: SceneItem) -> Integers:
    targets = unknown(2)
    for column, kind in enumerate(kinds(item)):
        targets[:, column] = 0
        for thing in kind.among(item.scene.visible(), item.scene):
            targets[patch_of(thing), column] = min(targets[patch_of(thing), column] + 1, CROWD)
    return targets


def box_targets(item: SceneItem) -> tuple[Integers, Integers]:
    """`number` and `good` of each patch."""
    numbers, goods = (np.full((ROWS, 3, COLUMNS // 3), UNKNOWN) for _ in range(2))
    statement, named = item.statement, kinds(item)
    conditions = statement.conditions if isinstance(statement, Boxes) else ()
    for box in range(3):
        things = item.scene.box(box)
        if box == item.scene.covered:
            continue
        if named and not any(isinstance(each, Level) for each in conditions):  # which counts levels, not things
            numbers[:, box] = min(len(named[0].among(things, item.scene)), MOST - 1)
        elif any(isinstance(each, Hues) for each in conditions):
            numbers[:, box] = len({thing.colour for thing in things})
        if conditions:
            goods[:, box] = all(each.holds(box, item.scene) for each in conditions)
    return numbers.reshape(-1), goods.reshape(-1)
