"""What else is known of a generated scene beside the label, of each patch and of the whole: the layers are told it.

Things belong to the patch in which their middle lies.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from explainers.datasets.scenes.drawing import LEFTS, box_frame
from explainers.datasets.scenes.generator import Item
from explainers.datasets.scenes.statements import Boxes, Count, Every, Hues, Kind, Level, Next, Unsaid, Within
from explainers.datasets.scenes.world import COLOURS, SHAPES, SIDE, SIZES, Thing
from explainers.models.scenes.network import COLUMNS, PATCH, PATCHES, ROWS

UNKNOWN = -100  # as in torch: no loss here
COVERED, WALLS = 27, ("left", "right", "top", "bottom")  # after 27 kinds of things
CROWD = 3  # things in one patch; more count as so many
HOLDS = COVERED + 1 + len(WALLS) + CROWD
MOST = 9  # counts from here on are one class
QUANTIFIERS = ("exactly", "at least", "at most", "all", "no", "not all", "unsaid")
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Hints:
    """`UNKNOWN` where nothing is known, as everywhere of pictures that nobody described."""

    holds: Whole  # (48, 35): 1 for each kind of thing there, a cover, each wall touched, and 1, 2, 3 things at least
    fits: Whole  # (48, 2): how many things can be seen there of the first and of the second kind that are named
    number: Whole  # (48,): of things of the first kind, or of colours, in the patch's box
    good: Whole  # (48,): whether the patch's box is as the statement says that boxes are
    matters: Whole  # (48,): whether something decisive touches the patch
    count: int
    quantifier: int
    n: int  # of the quantifier


def unknown(*shape: int) -> Whole:
    return np.full((PATCHES, *shape), UNKNOWN)


NOTHING = Hints(unknown(HOLDS), unknown(2), unknown(), unknown(), unknown(), UNKNOWN, UNKNOWN, UNKNOWN)


def hints(item: Item) -> Hints:
    statement = item.statement
    if isinstance(statement, Unsaid):
        quantifier, n, count = QUANTIFIERS.index("unsaid"), UNKNOWN, UNKNOWN
    elif isinstance(statement, Every):
        quantifier, n, count = QUANTIFIERS.index(statement.quantifier), UNKNOWN, item.judged.count
    else:
        quantifier, n, count = QUANTIFIERS.index(statement.number.how), statement.number.n, item.judged.count
    matters = np.zeros((ROWS, COLUMNS), np.int64)
    for box in item.evidence.boxes:
        matters[tiles(box)] = 1
    number, good = of_boxes(item)
    most = MOST - 1
    return Hints(
        holds(item), fits(item), number, good, matters.reshape(-1), min(count, most), quantifier, min(n, most)
    )  # fmt: skip


def tiles(box: tuple[int, int, int, int]) -> tuple[slice, slice]:
    """Rows and columns of the patches that a box inside one of the squares touches."""
    left, top, right, bottom = box
    number = max(place for place, start in enumerate(LEFTS) if start <= left)
    first, last = left - LEFTS[number], right - LEFTS[number]
    offset = number * SIDE // PATCH
    return slice(top // PATCH, -(-bottom // PATCH)), slice(offset + first // PATCH, offset - (-last // PATCH))


def middle(thing: Thing) -> int:
    """The number of the patch in which it lies."""
    half = thing.size // 2
    return (thing.top + half) // PATCH * COLUMNS + (thing.box * SIDE + thing.left + half) // PATCH


def holds(item: Item) -> Whole:
    found = np.zeros((PATCHES, HOLDS), np.int64)
    if item.scene.covered is not None:
        found.reshape(ROWS, COLUMNS, HOLDS)[(*tiles(box_frame(item.scene.covered)), COVERED)] = 1
    for thing in item.scene.visible():
        kind = COLOURS.index(thing.colour) * 9 + SHAPES.index(thing.shape) * 3
        found[middle(thing), kind + tuple(SIZES.values()).index(thing.size)] = 1
        found[middle(thing), [COVERED + 1 + WALLS.index(wall) for wall in thing.walls]] = 1
        crowd = found[middle(thing), -CROWD:]
        crowd[: crowd.sum() + 1] = 1
    return found


def kinds(item: Item) -> tuple[Kind, ...]:
    """Which things the statement names, at most two kinds of them."""
    statement = item.statement
    if isinstance(statement, Count | Unsaid):
        return (statement.kind,)
    if isinstance(statement, Every):
        return statement.kind, statement.is_so
    found: list[Kind] = []
    for each in statement.conditions:
        if isinstance(each, Next):
            found += [each.one, each.other]
        elif not isinstance(each, Hues | Within):
            found.append(each.kind)
    return tuple(found[:2])


def fits(item: Item) -> Whole:
    found = unknown(2)
    for column, kind in enumerate(kinds(item)):
        found[:, column] = 0
        for thing in kind.among(item.scene.visible(), item.scene):
            found[middle(thing), column] = min(found[middle(thing), column] + 1, CROWD)
    return found


def of_boxes(item: Item) -> tuple[Whole, Whole]:
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
