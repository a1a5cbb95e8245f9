import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, islice

import pytest

from explainers.datasets.scenes.generator import generate_items
from explainers.datasets.scenes.statements import (
    CONTRADICTION,
    ENTAILMENT,
    NEUTRAL,
    Alike,
    Boxes,
    Condition,
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
from explainers.datasets.scenes.world import Scene, Thing, random_scene, tower

YES, OPEN, NO = ENTAILMENT, NEUTRAL, CONTRADICTION
LEFT, MIDDLE, RIGHT = range(3)
BIG_SQUARE = Thing("square", "blue", 30, 0, 30, LEFT)  # at the left wall
CIRCLE = Thing("circle", "yellow", 10, 50, 50, LEFT)  # at no wall
SMALL_SQUARE = Thing("square", "blue", 10, 40, 90, MIDDLE)  # at the bottom
TRIANGLE = Thing("triangle", "black", 20, 80, 80, MIDDLE)  # in the right lower corner
RING = Thing("circle", "yellow", 20, 40, 0, RIGHT)  # at the top
SCATTERED = Scene((BIG_SQUARE, CIRCLE, SMALL_SQUARE, TRIANGLE, RING), towers=False)


def block(colour: str, level: int, box: int) -> Thing:
    """Level 0 is the base."""
    return Thing("square", colour, 20, 40, 80 - 21 * level, box)


LOW = (block("blue", 0, LEFT), block("yellow", 1, LEFT))
HIGH = (block("black", 0, MIDDLE), block("blue", 1, MIDDLE), block("blue", 2, MIDDLE))
ALONE = (block("yellow", 0, RIGHT),)
TOWERS = Scene((*LOW, *HIGH, *ALONE), towers=True)

BLUE, BLACK, YELLOW, ANY = Kind("blue"), Kind("black"), Kind("yellow"), Kind()
SQUARES, CIRCLES = Kind(shape="square"), Kind(shape="circle")


def exactly(n: int) -> Number:
    return Number("exactly", n)


def at_least(n: int) -> Number:
    return Number("at least", n)


def at_most(n: int) -> Number:
    return Number("at most", n)


@pytest.mark.parametrize(
    ("number", "true_for"),
    [(exactly(2), {2}), (at_least(2), {2, 3, 4}), (at_most(2), {0, 1, 2}), (exactly(0), {0})],
)
def test_a_number_is_met_by_these_counts(number: Number, true_for: set[int]) -> None:
    assert {count for count in range(5) if number.met(count)} == true_for


@pytest.mark.parametrize(
    "number", [exactly(0), exactly(2), exactly(3), at_least(1), at_least(3), at_most(0), at_most(2)]
)
def test_of_a_count_with_bounds_a_number_is_judged_as_all_counts_between_them_agree(number: Number) -> None:
    for low in range(6):
        for high in range(low, 6):
            met = {number.met(count) for count in range(low, high + 1)}
            assert number.judge(low, high) == (OPEN if len(met) == 2 else YES if True in met else NO)


@pytest.mark.parametrize(
    ("kind", "fitting"),
    [
        (BLUE, {BIG_SQUARE, SMALL_SQUARE}),
        (CIRCLES, {CIRCLE, RING}),
        (Kind(size="small"), {CIRCLE, SMALL_SQUARE}),
        (Kind("blue", "square", "big"), {BIG_SQUARE}),
        (Kind(location="wall"), {BIG_SQUARE, SMALL_SQUARE, TRIANGLE, RING}),
        (Kind(location="wall", apart=True), {CIRCLE}),
        (Kind(location="left"), {BIG_SQUARE}),
        (Kind(location="right"), {TRIANGLE}),
        (Kind(location="top"), {RING}),
        (Kind(location="bottom"), {SMALL_SQUARE, TRIANGLE}),
        (Kind(location="corner"), {TRIANGLE}),
        (ANY, set(SCATTERED.things)),
    ],
)
def test_a_kind_fits_these_things(kind: Kind, fitting: set[Thing]) -> None:
    assert set(kind.among(SCATTERED.things, SCATTERED)) == fitting


def test_the_top_of_a_tower_is_its_highest_block_and_its_base_the_lowest() -> None:
    assert Kind(location="peak").among(TOWERS.things, TOWERS) == (LOW[1], HIGH[2], ALONE[0])
    assert Kind(location="bottom").among(TOWERS.things, TOWERS) == (LOW[0], HIGH[0], ALONE[0])


@pytest.mark.parametrize(
    ("number", "uncovered", "left_covered"),
    [  # two circles, of which one is in the left box
        (exactly(2), YES, OPEN),
        (exactly(1), NO, OPEN),
        (exactly(0), NO, NO),  # one is seen already
        (exactly(3), NO, OPEN),
        (at_least(1), YES, YES),
        (at_least(2), YES, OPEN),
        (at_least(3), NO, OPEN),
        (at_most(2), YES, OPEN),
        (at_most(1), NO, OPEN),
        (at_most(0), NO, NO),
    ],
)
def test_things_are_counted_and_a_cover_leaves_open_what_it_could_change(
    number: Number, uncovered: int, left_covered: int
) -> None:
    statement = Count(CIRCLES, number)
    assert statement.judgement(SCATTERED).label == uncovered
    assert statement.judgement(replace(SCATTERED, covered=LEFT)).label == left_covered


def test_the_things_that_were_counted_decide() -> None:
    result = Count(BLUE, exactly(2)).judgement(SCATTERED)
    assert (result.things, result.count) == ((BIG_SQUARE, SMALL_SQUARE), 2)
    hidden = Count(BLUE, exactly(2)).judgement(replace(SCATTERED, covered=MIDDLE))
    assert (hidden.things, hidden.count) == ((BIG_SQUARE,), 1)


@pytest.mark.parametrize(
    ("condition", "boxes"),
    [
        (Has(BLUE, at_least(1)), {LEFT, MIDDLE}),
        (Has(ANY, exactly(2)), {LEFT, MIDDLE}),
        (Has(ANY, at_most(1)), {RIGHT}),
        (Has(Kind("blue", "circle"), exactly(0)), {LEFT, MIDDLE, RIGHT}),
        (Has(Kind(shape="circle", location="wall"), exactly(1)), {RIGHT}),
        (Only(CIRCLES), {RIGHT}),
        (Only(BLUE), set()),
        (Hues(exactly(1)), {RIGHT}),
        (Hues(exactly(2)), {LEFT, MIDDLE}),
        (Next(YELLOW, "right", BLUE), {LEFT}),  # 50 is right of 0 + 30
        (Next(BLUE, "left", YELLOW), {LEFT}),
        (Next(BLUE, "above", YELLOW), set()),  # 30 + 30 is below 50: they stand beside each other
        (Next(BLACK, "right", BLUE), {MIDDLE}),
        (Within(frozenset({"blue", "yellow"})), {LEFT}),
        (Within(frozenset({"yellow"})), {RIGHT}),
        (Alike(ANY, "colour", exactly(1)), {LEFT, MIDDLE, RIGHT}),
        (Alike(SQUARES, "shape", at_least(1)), {LEFT, MIDDLE}),
    ],
)
def test_a_condition_holds_in_these_boxes_of_scattered_things(condition: Condition, boxes: set[int]) -> None:
    assert {box for box in range(3) if condition.holds(box, SCATTERED)} == boxes


@pytest.mark.parametrize(
    ("condition", "boxes"),
    [
        (Next(BLUE, "above", BLACK), {MIDDLE}),
        (Next(BLUE, "above", BLUE), {MIDDLE}),
        (Next(BLACK, "below", BLUE), {MIDDLE}),
        (Next(YELLOW, "above", BLUE), {LEFT}),
        (Next(BLACK, "above", BLUE), set()),
        (Level(1, YELLOW), {RIGHT}),
        (Level(2, BLUE), {MIDDLE}),
        (Level(-1, YELLOW), {LEFT, RIGHT}),
        (Level(0, BLUE), {MIDDLE}),  # a tower of two has no middle
        (Level(0, YELLOW), {RIGHT}),
        (Level(3, ANY), {MIDDLE}),
        (Stacked(BLUE, exactly(2)), {MIDDLE}),
        (Stacked(BLUE, exactly(1)), {LEFT}),
        (Has(Kind("yellow", location="peak"), at_least(1)), {LEFT, RIGHT}),
        (Has(ANY, exactly(3)), {MIDDLE}),
    ],
)
def test_a_condition_holds_in_these_towers(condition: Condition, boxes: set[int]) -> None:
    assert {box for box in range(3) if condition.holds(box, TOWERS)} == boxes


def test_a_block_two_levels_higher_is_not_next_to_it() -> None:
    apart = Scene((block("black", 0, 0), block("blue", 1, 0), block("yellow", 2, 0)), towers=True)
    assert not Next(YELLOW, "above", BLACK).holds(0, apart)
    assert Next(YELLOW, "above", BLACK).holds(
        0, replace(apart, towers=False)
    )  # scattered things need not be neighbours


@pytest.mark.parametrize(
    ("number", "uncovered", "right_covered", "left_covered"),
    [  # a blue thing is in the left and in the middle box, not in the right one
        (at_least(1), YES, YES, YES),
        (at_least(2), YES, YES, OPEN),
        (exactly(2), YES, OPEN, OPEN),
        (exactly(1), NO, NO, OPEN),
        (exactly(3), NO, OPEN, NO),
        (exactly(0), NO, NO, NO),
        (at_most(1), NO, NO, OPEN),
        (at_most(2), YES, OPEN, YES),
    ],
)
def test_boxes_are_counted_and_the_covered_one_may_be_one_more(
    number: Number, uncovered: int, right_covered: int, left_covered: int
) -> None:
    statement = Boxes((Has(BLUE, at_least(1)),), number)
    assert statement.judgement(SCATTERED).label == uncovered
    assert statement.judgement(replace(SCATTERED, covered=RIGHT)).label == right_covered
    assert statement.judgement(replace(SCATTERED, covered=LEFT)).label == left_covered


def test_a_box_must_meet_all_conditions() -> None:
    both = Boxes((Has(BLUE, at_least(1)), Has(CIRCLES, at_least(1))), exactly(1)).judgement(SCATTERED)
    assert (both.label, both.boxes, both.things) == (YES, (LEFT,), (BIG_SQUARE, CIRCLE))


def test_where_all_boxes_are_meant_those_that_fail_decide() -> None:
    result = Boxes((Only(Kind("yellow", "circle")),), exactly(3)).judgement(SCATTERED)
    assert (result.label, result.boxes) == (NO, (LEFT, MIDDLE))
    assert result.things == (BIG_SQUARE, CIRCLE, SMALL_SQUARE, TRIANGLE)


@pytest.mark.parametrize(
    ("quantifier", "kind", "predicate", "label", "deciding"),
    [
        ("all", BLUE, SQUARES, YES, {BIG_SQUARE, SMALL_SQUARE}),
        ("all", SQUARES, Kind(location="bottom"), NO, {BIG_SQUARE}),
        ("all", CIRCLES, BLUE, NO, {CIRCLE, RING}),
        ("no", CIRCLES, BLUE, YES, {CIRCLE, RING}),
        ("no", CIRCLES, Kind(location="wall"), NO, {RING}),
        ("not all", CIRCLES, Kind(location="wall"), YES, {CIRCLE}),
        ("not all", BLUE, SQUARES, NO, {BIG_SQUARE, SMALL_SQUARE}),
    ],
)
def test_all_none_and_not_all_and_what_decides_them(
    quantifier: str, kind: Kind, predicate: Kind, label: int, deciding: set[Thing]
) -> None:
    result = Every(quantifier, kind, predicate).judgement(SCATTERED)
    assert (result.label, set(result.things)) == (label, deciding)


@pytest.mark.parametrize(
    ("quantifier", "predicate", "label"),
    [  # of the squares one is seen: the small blue one at the bottom
        ("all", BLUE, OPEN),
        ("no", YELLOW, OPEN),
        ("not all", BLUE, OPEN),
        ("all", YELLOW, NO),
        ("no", BLUE, NO),
        ("not all", YELLOW, YES),
    ],
)
def test_one_counterexample_decides_whatever_is_under_the_cover(quantifier: str, predicate: Kind, label: int) -> None:
    assert Every(quantifier, SQUARES, predicate).judgement(replace(SCATTERED, covered=LEFT)).label == label


def test_what_no_image_shows_is_open_with_and_without_a_cover() -> None:
    statement = Unanswerable(BLUE, "made of wood")
    assert statement.judgement(SCATTERED).label == statement.judgement(replace(SCATTERED, covered=LEFT)).label == OPEN
    assert statement.judgement(SCATTERED).things == (BIG_SQUARE, SMALL_SQUARE)


CATALOGUE = tuple(
    Thing(shape, colour, size, left, top, 0)
    for shape, colour, size, left, top in [
        ("square", "blue", 10, 0, 90),
        ("square", "yellow", 30, 40, 5),
        ("square", "black", 20, 30, 30),
        ("circle", "black", 20, 80, 0),
        ("circle", "blue", 10, 50, 50),
        ("circle", "yellow", 30, 0, 40),
        ("triangle", "yellow", 20, 80, 80),
        ("triangle", "black", 30, 40, 70),
        ("triangle", "blue", 10, 20, 20),
    ]
)


def fillings(box: int) -> Iterator[tuple[Thing, ...]]:
    """Up to two things under the cover, of every shape in every colour, at walls and away from them."""
    for number in range(3):
        for chosen in combinations_with_replacement(CATALOGUE, number):
            yield tuple(replace(thing, box=box) for thing in chosen)


def whatever_is_hidden(statement: Statement, scene: Scene) -> int:
    """The label that all fillings of the box have without a cover, or open if they differ."""
    assert scene.covered is not None
    labels = {
        statement.judgement(Scene((*scene.visible(), *hidden), scene.towers)).label
        for hidden in fillings(scene.covered)
    }
    return labels.pop() if len(labels) == 1 else OPEN


HANDMADE: list[Statement] = [
    *(
        Count(kind, number)
        for kind in (BLUE, CIRCLES, Kind(location="corner"), Kind("blue", location="wall", apart=True))
        for number in (exactly(0), exactly(1), exactly(2), at_least(1), at_least(2), at_most(0), at_most(1))
    ),
    *(
        Boxes(conditions, number)
        for conditions in (
            (Has(BLUE, at_least(1)),),
            (Only(YELLOW),),
            (Hues(exactly(2)),),
            (Next(BLUE, "above", BLACK),),
            (Has(CIRCLES, exactly(1)), Has(YELLOW, at_least(1))),
        )
        for number in (exactly(0), exactly(1), exactly(2), exactly(3), at_least(1), at_least(2), at_most(1), at_most(2))
    ),
]


@pytest.mark.parametrize("covered", [LEFT, MIDDLE, RIGHT])
def test_under_a_cover_the_judgement_is_that_of_all_fillings(covered: int) -> None:
    rng = random.Random(covered)
    for _ in range(2):
        scene = replace(random_scene(rng, towers=False, covered=False), covered=covered)
        for statement in HANDMADE:
            assert statement.judgement(scene).label == whatever_is_hidden(statement, scene), statement


@pytest.mark.parametrize("quantifier", ["all", "no", "not all"])
def test_all_and_none_under_a_cover_are_those_of_all_fillings(quantifier: str) -> None:
    for covered in range(3):
        scene = replace(SCATTERED, covered=covered)
        for kind in (BLUE, CIRCLES, SQUARES, YELLOW):
            if kind.among(scene.visible(), scene):
                for predicate in (Kind(location="wall"), BLUE, Kind(shape="square"), BLACK):
                    statement = Every(quantifier, kind, predicate)
                    if not (predicate.colour and kind.colour) and not (predicate.shape and kind.shape):
                        assert statement.judgement(scene).label == whatever_is_hidden(statement, scene), statement


def towers_of(box: int) -> list[tuple[Thing, ...]]:
    rng = random.Random(0)
    return [tuple(tower(rng, box, height)) for height in (1, 2, 3, 4) for _ in range(25)]


def test_what_is_generated_about_covered_towers_is_decided_only_where_every_tower_agrees() -> None:
    generated = islice(generate_items(3, held_out=False), 500)
    decided = [
        item for item in generated if item.scene.towers and item.scene.covered is not None and item.label != OPEN
    ]
    assert len(decided) > 20
    for item in decided:
        hidden = towers_of(item.scene.covered or 0)
        labels = {item.statement.judgement(Scene((*item.scene.visible(), *box), towers=True)).label for box in hidden}
        assert labels == {item.label}, item.wording.text
