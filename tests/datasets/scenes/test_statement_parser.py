import pytest

from explainers.datasets.scenes.statement_parser import parse_statement
from explainers.datasets.scenes.statements import (
    NAMES,
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
    Within,
    kind_of,
)

SOME, ONE, TWO, NONE, ALL = (
    Number("at least", 1),
    Number("exactly", 1),
    Number("exactly", 2),
    Number("exactly", 0),
    Number("exactly", 3),
)
FOUR = Has(Kind(), Number("exactly", 4))
BLUE, BLACK, YELLOW = Kind("blue"), Kind("black"), Kind("yellow")


@pytest.mark.parametrize(
    ("sentence", "meaning"),
    [
        ("There are two yellow squares.", Count(Kind("yellow", "square"), TWO)),
        ("there is atleast one circle", Count(Kind(shape="circle"), SOME)),
        ("There are at most 3 small items", Count(Kind(size="small"), Number("at most", 3))),
        ("There are exactly two blue circles touching the edge", Count(Kind("blue", "circle", location="wall"), TWO)),
        ("There is no traingle touching a corner", Count(Kind(shape="triangle", location="corner"), NONE)),
        ("there is a black item not touching any edge", Count(Kind("black", location="wall", apart=True), SOME)),
        (
            "There is a yellow item closely touching the bottom of a box.",
            Count(Kind("yellow", location="bottom"), SOME),
        ),
        ("None of the circles are touching the wall", Every("no", Kind(shape="circle"), Kind(location="wall"))),
    ],
)
def test_statements_about_things_are_parsed(sentence: str, meaning: Statement) -> None:
    assert parse_statement(sentence) == meaning


@pytest.mark.parametrize(
    ("sentence", "meaning"),
    [
        ("There is a tower with 2 blue blocks", Boxes((Has(BLUE, TWO),), SOME)),
        ("There is a blue tower.", Boxes((Has(Kind(), SOME), Only(BLUE)), SOME)),
        ("There is one tower with four blocks", Boxes((FOUR,), ONE)),
        (
            "There are two towers with a black block at the base",
            Boxes((Has(Kind("black", location="bottom"), SOME),), TWO),
        ),
        (
            "There is a black block as the top of a tower with four blocks.",
            Boxes((Has(Kind("black", location="peak"), SOME), FOUR), SOME),
        ),
        ("There is no blue block on a black block.", Boxes((Next(BLUE, "above", BLACK),), NONE)),
        (
            "the tower with four blocks has a blue block below a black block",
            Boxes((FOUR, Next(BLUE, "below", BLACK)), SOME),
        ),
        ("There is a tower with 2 blue blocks stacked together", Boxes((Stacked(BLUE, TWO),), SOME)),
        ("The second block from the base of a tower is black.", Boxes((Level(2, BLACK),), SOME)),
    ],
)
def test_statements_about_towers_are_parsed(sentence: str, meaning: Statement) -> None:
    assert parse_statement(sentence) == meaning


@pytest.mark.parametrize(
    ("sentence", "meaning"),
    [
        ("One of the grey box has exactly two blue objects", Boxes((Has(BLUE, TWO),), SOME)),
        ("ll boxes have 2 yellow items", Boxes((Has(YELLOW, TWO),), ALL)),
        ("There is a black item in every box.", Boxes((Has(BLACK, SOME),), ALL)),
        ("There is a box without a blue item.", Boxes((Has(BLUE, NONE),), SOME)),
        ("There is 1 box with only black and blue items", Boxes((Within(frozenset({"black", "blue"})),), ONE)),
        ("There is a box with items of two different colours.", Boxes((Has(Kind(), SOME), Hues(TWO)), SOME)),
        ("There is a box with 4 items of which one is blue.", Boxes((FOUR, Has(BLUE, ONE)), SOME)),
        ("There is a box with four items and the two are blue.", Boxes((FOUR, Has(BLUE, TWO)), SOME)),
        (
            "There is a box with 2 yellow, 1 blue and two black items.",
            Boxes((Has(YELLOW, TWO), Has(BLUE, ONE), Has(BLACK, TWO)), SOME),
        ),
        (
            "There is a box with a black circle and two items.",
            Boxes((Has(Kind("black", "circle"), SOME), Has(Kind(), TWO)), SOME),
        ),
    ],
)
def test_statements_about_boxes_are_parsed(sentence: str, meaning: Statement) -> None:
    assert parse_statement(sentence) == meaning


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "A film about love.",
        "There is a box",
        "There are two boxes with the same number of items.",
        "there there is",
    ],
)
def test_sentences_of_other_forms_are_not_parsed(sentence: str) -> None:
    assert parse_statement(sentence) is None


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("There is a tower with a blue block at the base", "base or top"),
        ("There are 2 yellow squares", "counting things"),
        ("There is a circle touching a wall", "touching"),
        ("There is a box with a circle and a square", "several conditions"),
        ("There is a blue block on a black block", "relations"),
        ("None of the circles are touching the wall", "all or none"),
        ("There are two towers of the same height", "sameness, colours of many"),
        ("There is a box with 2 items", "boxes and towers"),
        ("Hello", "other"),
    ],
)
def test_the_words_decide_the_kind_of_a_statement(sentence: str, kind: str) -> None:
    assert kind_of(sentence) == kind
    assert kind in NAMES
