import random
import re
from dataclasses import replace
from itertools import islice

import pytest

from explainers.datasets.scenes.generator import SceneItem, generate_items
from explainers.datasets.scenes.statements import (
    NEUTRAL,
    Boxes,
    Condition,
    Count,
    Every,
    Has,
    Hues,
    Kind,
    Next,
    Number,
    Only,
    Statement,
    Unanswerable,
)
from explainers.datasets.scenes.wording import NUMBERS, put_into_words, reason
from explainers.datasets.scenes.world import BOXES, Scene, Thing

BIG_SQUARE = Thing("square", "blue", 30, 0, 30, 0)  # at the left wall
CIRCLE = Thing("circle", "yellow", 10, 50, 50, 0)
SMALL_SQUARE = Thing("square", "blue", 10, 40, 90, 1)  # at the bottom
RING = Thing("circle", "yellow", 20, 40, 0, 2)  # at the top
SCATTERED = Scene((BIG_SQUARE, CIRCLE, SMALL_SQUARE, RING), towers=False)
TOWERS = Scene(
    (
        Thing("square", "blue", 20, 40, 80, 0),
        Thing("square", "yellow", 20, 40, 59, 0),
        Thing("square", "black", 20, 40, 80, 1),
        Thing("square", "yellow", 20, 40, 80, 2),
    ),
    towers=True,
)
ONE, TWO, SOME, NONE, ALL = (
    Number("exactly", 1),
    Number("exactly", 2),
    Number("at least", 1),
    Number("exactly", 0),
    Number("exactly", 3),
)
SQUARES, CIRCLES = Kind(shape="square"), Kind(shape="circle")


@pytest.mark.parametrize(
    ("statement", "covered", "why"),
    [
        (Count(Kind("blue", "square"), TWO), None, "there are two blue squares"),
        (Count(Kind("black"), SOME), None, "there are no black items"),
        (
            Count(Kind(shape="circle", location="wall", apart=True), ONE),
            None,
            "there is one circle not touching a wall",
        ),
        (Count(CIRCLES, TWO), 0, "the left box is covered and one circle can be seen"),
        (Count(CIRCLES, SOME), 0, "one circle can be seen"),
        (Boxes((Has(CIRCLES, SOME),), TWO), None, "the left and right boxes have at least one circle"),
        (Boxes((Has(CIRCLES, ONE),), NONE), None, "the left and right boxes have exactly one circle"),
        (Boxes((Has(Kind("black"), SOME),), SOME), None, "no box has at least one black item"),
        (
            Boxes((Has(Kind("black"), SOME),), SOME),
            2,
            "the right box is covered and no visible box has at least one black item",
        ),
        (Boxes((Has(SQUARES, ONE),), ALL), None, "the right box does not have exactly one square"),
        (Boxes((Only(SQUARES),), ONE), None, "the middle box has only squares"),
        (Boxes((Hues(ONE),), TWO), None, "the middle and right boxes have exactly one colour"),
        (
            Boxes((Next(Kind("blue"), "left", CIRCLES),), SOME),
            None,
            "the left box has a blue item to the left of a circle",
        ),
        (Every("all", SQUARES, Kind("blue")), None, "there are two squares and each is blue"),
        (Every("no", SQUARES, Kind("black")), None, "there are two squares and none is black"),
        (Every("all", CIRCLES, Kind("blue")), None, "a yellow circle in the left box is not blue"),
        (
            Every("all", SQUARES, Kind(location="bottom")),
            None,
            "a blue square in the left box is not touching the bottom",  # though it touches a wall
        ),
        (Every("no", CIRCLES, Kind(location="wall")), None, "a yellow circle in the right box is touching a wall"),
        (
            Every("all", CIRCLES, Kind(location="wall", apart=True)),
            None,
            "a yellow circle in the right box is touching a wall",
        ),
        (
            Every("all", SQUARES, Kind("blue")),
            2,
            "the right box is covered and two squares can be seen and each is blue",
        ),
        (Unanswerable(SQUARES, "made of wood"), None, "the picture does not show what is made of wood"),
        (Unanswerable(SQUARES, "made of wood"), 1, "the picture does not show what is made of wood"),
    ],
)
def test_the_reason_says_what_decides(statement: Statement, covered: int | None, why: str) -> None:
    with_cover = replace(SCATTERED, covered=covered)
    assert reason(statement, statement.judgement(with_cover), with_cover) == why


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        (Count(Kind("yellow", location="peak"), TWO), "there are two yellow blocks at the top of a tower"),
        (
            Boxes((Has(Kind("yellow", location="peak"), SOME),), TWO),
            "the left and right towers have at least one yellow block at the top",
        ),
        (
            Boxes((Next(Kind("yellow"), "above", Kind("blue")),), SOME),
            "the left tower has a yellow block above a blue block",
        ),
        (
            Every("all", Kind(location="bottom"), Kind("blue")),
            "a black block at the base of a tower in the middle box is not blue",
        ),
    ],
)
def test_of_towers_it_speaks_of_blocks(statement: Statement, why: str) -> None:
    assert reason(statement, statement.judgement(TOWERS), TOWERS) == why


@pytest.fixture(scope="module")
def generated() -> list[SceneItem]:
    return [*islice(generate_items(31, held_out=False), 800), *islice(generate_items(32, held_out=True), 200)]


def fitting(kind: Kind, item: SceneItem) -> int:
    return sum(kind.fits(thing, item.scene) for thing in item.scene.things if thing.box != item.scene.covered)


def test_the_covered_box_is_named_where_it_leaves_the_answer_open_and_nowhere_else(generated: list[SceneItem]) -> None:
    for item in generated:
        result = re.match(r"the (left|middle|right) box is covered and ", item.reason)
        open_for_the_cover = item.label == NEUTRAL and not isinstance(item.statement, Unanswerable)
        assert bool(result) == open_for_the_cover
        if result:
            assert BOXES.index(result[1]) == item.scene.covered


def test_counts_in_the_reason_are_those_of_the_image(generated: list[SceneItem]) -> None:
    for item in generated:
        if isinstance(item.statement, Count):
            words = item.reason.partition(" is covered and ")[2] or item.reason
            words = re.sub(r"^there (is|are) ", "", words)
            assert words.split()[0] == NUMBERS[fitting(item.statement.kind, item)], item.reason


def test_boxes_named_in_the_reason_are_those_that_meet_the_conditions_or_the_one_that_does_not(
    generated: list[SceneItem],
) -> None:
    positive = negative = 0
    for item in generated:
        if not isinstance(item.statement, Boxes):
            continue
        good = {
            box
            for box in range(3)
            if box != item.scene.covered and all(one.holds(box, item.scene) for one in item.statement.conditions)
        }
        words = item.reason.partition(" is covered and ")[2] or item.reason
        if " does not have " in words:
            negative += 1
            assert BOXES.index(words.split()[1]) not in good
        elif words.startswith("no "):
            assert not good
        else:
            positive += 1
            subject = re.split(r" (?:box|boxes|tower|towers) ha", words)[0]
            assert {BOXES.index(name) for name in re.findall("left|middle|right", subject)} == good
    assert positive > 100
    assert negative > 20


CONDITIONS: list[Condition] = [
    *(Has(Kind("blue"), Number(how, n)) for how in ("exactly", "at least", "at most") for n in (1, 2)),
    Has(Kind("blue"), NONE),
    Only(Kind("yellow")),
    *(Hues(Number("exactly", n)) for n in (1, 2, 3)),
    *(Next(Kind("blue"), relation, Kind("black")) for relation in ("above", "below", "left", "right")),
]
STATEMENTS: list[Statement] = [
    *(Count(Kind("blue"), Number(how, n)) for how in ("exactly", "at least", "at most") for n in (1, 2, 7)),
    *(
        Count(Kind(shape="circle", location=location), SOME)
        for location in ("wall", "bottom", "top", "left", "right", "corner")
    ),
    *(Boxes((condition,), number) for condition in CONDITIONS for number in (ALL, NONE, SOME, TWO)),
    *(
        Every(quantifier, Kind("blue"), predicate)
        for quantifier in ("all", "no", "not all")
        for predicate in (SQUARES, Kind("black"), Kind(size="small"), Kind(location="wall"))
    ),
    Unanswerable(Kind("blue"), "warm"),
]


@pytest.mark.parametrize("statement", STATEMENTS, ids=str)
def test_every_statement_has_words_and_a_reason(statement: Statement) -> None:
    for covered in (None, 0, 1, 2):
        with_cover = replace(SCATTERED, covered=covered)
        for seed in range(10):
            worded = put_into_words(statement, random.Random(seed), towers=False)
            assert re.fullmatch(r"[A-Za-z0-9 ]+\.?", worded.text)
            assert "  " not in worded.text
            assert worded.decisive
        why = reason(statement, statement.judgement(with_cover), with_cover)
        assert re.fullmatch(r"[a-z, ]+", why), why
        assert "  " not in why
        assert "None" not in why
