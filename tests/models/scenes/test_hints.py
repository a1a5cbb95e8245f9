from itertools import islice

import numpy as np
import pytest

from explainers.datasets.scenes.drawing import LEFTS, PAPER, drawn
from explainers.datasets.scenes.generator import Item, items
from explainers.datasets.scenes.statements import (
    NEUTRAL,
    Boxes,
    Count,
    Every,
    Has,
    Hues,
    Kind,
    Level,
    Next,
    Number,
    Only,
    Stacked,
    Statement,
    Unsaid,
    Within,
)  # fmt: skip
from explainers.datasets.scenes.wording import Worded
from explainers.datasets.scenes.world import Scene, Thing
from explainers.models.scenes.hints import (
    COVERED,
    CROWD,
    HOLDS,
    QUANTIFIERS,
    UNKNOWN,
    WALLS,
    hints,
    middle,
    tiles,
)  # fmt: skip
from explainers.models.scenes.network import cut

SQUARE = Thing("square", "blue", 30, 0, 30, 0)  # its middle (15, 45) lies in row 2, column 1
CIRCLE = Thing("circle", "yellow", 10, 50, 50, 2)  # its middle (355, 55) in row 3, column 11
BLUE, YELLOW = Kind("blue"), Kind("yellow")
ONE, SOME = Number("exactly", 1), Number("at least", 1)


def item(statement: Statement | None = None, covered: int | None = None, *more: Thing) -> Item:
    scene = Scene((SQUARE, CIRCLE, *more), towers=False, covered=covered)
    said = statement or Count(BLUE, ONE)
    return Item(scene, said, Worded("one blue thing", (), "x"), said.judged(scene))


def test_patches_know_what_they_hold() -> None:
    found = hints(item(covered=1)).holds
    assert found.shape == (48, HOLDS)
    # 9 for each colour before it, 3 for each shape, 1 for each size: black, blue, yellow; triangle, square, circle
    one_thing = HOLDS - CROWD
    wanted = {
        12: [9 + 3 + 2, COVERED + 1 + WALLS.index("left"), one_thing],
        34: [18 + 6, one_thing],
        **{12 * row + column: [COVERED] for row in range(4) for column in range(4, 8)},
    }
    assert {row: np.flatnonzero(found[row]).tolist() for row in np.flatnonzero(found.any(1)).tolist()} == wanted


def test_of_many_things_in_one_patch_three_are_counted() -> None:
    small = [Thing("circle", "yellow", 10, left, 62, 2) for left in (50, 61)]
    for number in range(3):
        found = hints(item(Count(YELLOW, ONE), None, *small[:number]))
        assert found.holds[34, -CROWD:].tolist() == [1] * (number + 1) + [0] * (CROWD - number - 1)
        assert found.fits[34].tolist() == [number + 1, UNKNOWN]
    more = [*small, *(Thing("circle", "yellow", 10, 61, top, 2) for top in (50, 51))]
    assert hints(item(Count(YELLOW, ONE), None, *more)).fits[34, 0] == CROWD


def test_the_patch_of_a_thing_has_its_ink_in_the_middle() -> None:
    for made in islice(items(5, held_out=False), 60):
        pixels, patches = drawn(made.scene), cut(drawn(made.scene))
        for thing in made.scene.visible():
            down, across = thing.top + thing.size // 2, LEFTS[thing.box] + thing.left + thing.size // 2
            ink = pixels[down, across]
            assert (ink != PAPER).any()
            assert (patches[middle(thing)].reshape(-1, 3) == ink).all(1).any()


def test_patches_know_whether_they_matter() -> None:
    assert np.flatnonzero(hints(item()).matters).tolist() == [12, 13, 24, 25]  # rows 30 to 60, columns 0 to 30
    open_one = item(covered=1)
    assert open_one.label == NEUTRAL
    assert hints(open_one).matters.reshape(4, 12)[:, 4:8].all()
    assert hints(open_one).matters.sum() == 4 + 16


@pytest.mark.parametrize(
    ("statement", "first", "second"),
    [
        (Count(BLUE, ONE), [12], None),
        (Unsaid(YELLOW, "warm"), [34], None),
        (Every("all", BLUE, Kind(shape="circle")), [12], [34]),
        (Boxes((Next(YELLOW, "above", BLUE),), ONE), [34], [12]),
        (Boxes((Has(BLUE, ONE), Only(YELLOW)), ONE), [12], [34]),
        (Boxes((Hues(ONE),), ONE), None, None),
        (Boxes((Level(1, BLUE),), ONE), [12], None),
        (Boxes((Stacked(YELLOW, SOME),), ONE), [34], None),
        (Boxes((Within(frozenset({"yellow"})),), ONE), None, None),
    ],
)
def test_patches_know_where_the_named_things_are(
    statement: Statement, first: list[int] | None, second: list[int] | None
) -> None:
    found = hints(item(statement)).fits
    for column, wanted in enumerate((first, second)):
        if wanted is None:
            assert (found[:, column] == UNKNOWN).all()
        else:
            assert np.flatnonzero(found[:, column]).tolist() == wanted


def of_each_box(patches: np.ndarray) -> list[int]:
    """What all patches of a box say."""
    boxes = patches.reshape(4, 3, 4)
    assert all(len(np.unique(boxes[:, box])) == 1 for box in range(3))
    return [int(boxes[0, box, 0]) for box in range(3)]


@pytest.mark.parametrize(
    ("statement", "number", "good"),
    [
        (Count(BLUE, ONE), [1, UNKNOWN, 0], [UNKNOWN] * 3),
        (Boxes((Has(YELLOW, SOME),), ONE), [0, UNKNOWN, 2], [0, UNKNOWN, 1]),
        (Boxes((Has(BLUE, ONE), Has(YELLOW, ONE)), SOME), [1, UNKNOWN, 0], [0, UNKNOWN, 0]),
        (Boxes((Hues(ONE),), SOME), [1, UNKNOWN, 1], [1, UNKNOWN, 1]),
        (Boxes((Level(1, BLUE),), SOME), [UNKNOWN] * 3, [1, UNKNOWN, 0]),
        (Boxes((Stacked(YELLOW, SOME),), SOME), [0, UNKNOWN, 2], [0, UNKNOWN, 1]),
        (Boxes((Within(frozenset({"yellow"})),), SOME), [UNKNOWN] * 3, [0, UNKNOWN, 1]),
        (Every("no", YELLOW, BLUE), [0, UNKNOWN, 2], [UNKNOWN] * 3),
    ],
)
def test_patches_know_what_is_in_their_box_unless_it_is_covered(
    statement: Statement, number: list[int], good: list[int]
) -> None:
    found = hints(item(statement, 1, Thing("circle", "yellow", 10, 5, 5, 2), Thing("circle", "blue", 10, 5, 5, 1)))
    assert of_each_box(found.number) == number
    assert of_each_box(found.good) == good


def test_good_boxes_are_those_that_are_counted() -> None:
    looked = 0
    for made in islice(items(8, held_out=False), 300):
        if isinstance(made.statement, Boxes):
            good = of_each_box(hints(made).good)
            assert good.count(1) == made.judged.count == hints(made).count
            assert good.count(UNKNOWN) == (made.scene.covered is not None)
            looked += 1
    assert looked > 50


@pytest.mark.parametrize(
    ("statement", "quantifier", "n", "count"),
    [
        (Count(BLUE, Number("at most", 4)), "at most", 4, 1),
        (Boxes((Has(BLUE, ONE),), Number("at least", 0)), "at least", 0, 1),
        (Every("not all", YELLOW, BLUE), "not all", UNKNOWN, 1),
        (Unsaid(BLUE, "warm"), "unsaid", UNKNOWN, UNKNOWN),
    ],
)
def test_what_was_asked_for_is_known(statement: Statement, quantifier: str, n: int, count: int) -> None:
    found = hints(item(statement))
    assert (QUANTIFIERS[found.quantifier], found.n, found.count) == (quantifier, n, count)


@pytest.mark.parametrize(
    ("box", "rows", "columns"),
    [
        ((0, 0, 25, 25), [0], [0]),
        ((24, 24, 26, 26), [0, 1], [0, 1]),
        ((150, 75, 250, 100), [3], [4, 5, 6, 7]),
        ((399, 99, 400, 100), [3], [11]),
    ],
)
def test_a_box_touches_these_patches(box: tuple[int, int, int, int], rows: list[int], columns: list[int]) -> None:
    found = np.zeros((4, 12), bool)
    found[tiles(box)] = True
    assert np.argwhere(found).tolist() == [[row, column] for row in rows for column in columns]
