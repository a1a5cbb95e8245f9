from itertools import islice

import numpy as np
import pytest

from explainers.datasets.scenes.generator import SceneItem, generate_items
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
    Unanswerable,
    Within,
)
from explainers.datasets.scenes.wording import WordedStatement
from explainers.datasets.scenes.world import LEFTS, PAPER, Scene, Thing, draw
from explainers.models.scenes.network import split_patches
from explainers.models.scenes.samples import (
    COVERED,
    CROWD,
    HOLDS,
    QUANTIFIERS,
    UNKNOWN,
    WALLS,
    auxiliary_targets,
    patch_of,
    tiles,
)  # fmt: skip

SQUARE = Thing("square", "blue", 30, 0, 30, 0)  # its middle (15, 45) lies in row 2, column 1
CIRCLE = Thing("circle", "yellow", 10, 50, 50, 2)  # its middle (355, 55) in row 3, column 11
BLUE, YELLOW = Kind("blue"), Kind("yellow")
ONE, SOME = Number("exactly", 1), Number("at least", 1)


def item(statement: Statement | None = None, covered: int | None = None, *more: Thing) -> SceneItem:
    scene = Scene((SQUARE, CIRCLE, *more), towers=False, covered=covered)
    stated = statement or Count(BLUE, ONE)
    return SceneItem(scene, stated, WordedStatement("one blue thing", (), "x"), stated.judgement(scene))


def test_targets_say_what_a_patch_holds() -> None:
    result = auxiliary_targets(item(covered=1)).holds
    assert result.shape == (48, HOLDS)
    # 9 for each colour before it, 3 for each shape, 1 for each size: black, blue, yellow; triangle, square, circle
    one_thing = HOLDS - CROWD
    expected = {
        12: [9 + 3 + 2, COVERED + 1 + WALLS.index("left"), one_thing],
        34: [18 + 6, one_thing],
        **{12 * row + column: [COVERED] for row in range(4) for column in range(4, 8)},
    }
    assert {row: np.flatnonzero(result[row]).tolist() for row in np.flatnonzero(result.any(1)).tolist()} == expected


def test_of_many_things_in_one_patch_three_are_counted() -> None:
    small = [Thing("circle", "yellow", 10, left, 62, 2) for left in (50, 61)]
    for number in range(3):
        result = auxiliary_targets(item(Count(YELLOW, ONE), None, *small[:number]))
        assert result.holds[34, -CROWD:].tolist() == [1] * (number + 1) + [0] * (CROWD - number - 1)
        assert result.fits[34].tolist() == [number + 1, UNKNOWN]
    more = [*small, *(Thing("circle", "yellow", 10, 61, top, 2) for top in (50, 51))]
    assert auxiliary_targets(item(Count(YELLOW, ONE), None, *more)).fits[34, 0] == CROWD


def test_the_patch_of_a_thing_has_its_ink_in_the_middle() -> None:
    for generated in islice(generate_items(5, held_out=False), 60):
        pixels, patches = draw(generated.scene), split_patches(draw(generated.scene))
        for thing in generated.scene.visible():
            down, across = thing.top + thing.size // 2, LEFTS[thing.box] + thing.left + thing.size // 2
            ink = pixels[down, across]
            assert (ink != PAPER).any()
            assert (patches[patch_of(thing)].reshape(-1, 3) == ink).all(1).any()


def test_targets_say_whether_a_patch_holds_evidence() -> None:
    assert np.flatnonzero(auxiliary_targets(item()).matters).tolist() == [
        12,
        13,
        24,
        25,
    ]  # rows 30 to 60, columns 0 to 30
    open_one = item(covered=1)
    assert open_one.label == NEUTRAL
    assert auxiliary_targets(open_one).matters.reshape(4, 12)[:, 4:8].all()
    assert auxiliary_targets(open_one).matters.sum() == 4 + 16


@pytest.mark.parametrize(
    ("statement", "first", "second"),
    [
        (Count(BLUE, ONE), [12], None),
        (Unanswerable(YELLOW, "warm"), [34], None),
        (Every("all", BLUE, Kind(shape="circle")), [12], [34]),
        (Boxes((Next(YELLOW, "above", BLUE),), ONE), [34], [12]),
        (Boxes((Has(BLUE, ONE), Only(YELLOW)), ONE), [12], [34]),
        (Boxes((Hues(ONE),), ONE), None, None),
        (Boxes((Level(1, BLUE),), ONE), [12], None),
        (Boxes((Stacked(YELLOW, SOME),), ONE), [34], None),
        (Boxes((Within(frozenset({"yellow"})),), ONE), None, None),
    ],
)
def test_targets_say_where_the_named_things_are(
    statement: Statement, first: list[int] | None, second: list[int] | None
) -> None:
    result = auxiliary_targets(item(statement)).fits
    for column, expected in enumerate((first, second)):
        if expected is None:
            assert (result[:, column] == UNKNOWN).all()
        else:
            assert np.flatnonzero(result[:, column]).tolist() == expected


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
def test_targets_say_what_is_in_the_box_unless_it_is_covered(
    statement: Statement, number: list[int], good: list[int]
) -> None:
    result = auxiliary_targets(
        item(statement, 1, Thing("circle", "yellow", 10, 5, 5, 2), Thing("circle", "blue", 10, 5, 5, 1))
    )
    assert of_each_box(result.number) == number
    assert of_each_box(result.good) == good


def test_good_boxes_are_those_that_are_counted() -> None:
    checked = 0
    for generated in islice(generate_items(8, held_out=False), 300):
        if isinstance(generated.statement, Boxes):
            good = of_each_box(auxiliary_targets(generated).good)
            assert good.count(1) == generated.judgement.count == auxiliary_targets(generated).count
            assert good.count(UNKNOWN) == (generated.scene.covered is not None)
            checked += 1
    assert checked > 50


@pytest.mark.parametrize(
    ("statement", "quantifier", "n", "count"),
    [
        (Count(BLUE, Number("at most", 4)), "at most", 4, 1),
        (Boxes((Has(BLUE, ONE),), Number("at least", 0)), "at least", 0, 1),
        (Every("not all", YELLOW, BLUE), "not all", UNKNOWN, 1),
        (Unanswerable(BLUE, "warm"), "unsaid", UNKNOWN, UNKNOWN),
    ],
)
def test_the_quantifier_of_the_statement_is_a_target(statement: Statement, quantifier: str, n: int, count: int) -> None:
    result = auxiliary_targets(item(statement))
    assert (QUANTIFIERS[result.quantifier], result.n, result.count) == (quantifier, n, count)


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
    result = np.zeros((4, 12), bool)
    result[tiles(box)] = True
    assert np.argwhere(result).tolist() == [[row, column] for row in rows for column in columns]
