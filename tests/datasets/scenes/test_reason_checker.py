"""The checker of reasons: it reads every sentence that the generator writes, and judges it by what the image holds."""

from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise

import pytest

from explainers.datasets.example import Example, InputImage
from explainers.datasets.scenes.generator import generate_items
from explainers.datasets.scenes.nlvr import recover_scene
from explainers.datasets.scenes.reason_checker import check_reason, parse_reason, reason_truth
from explainers.datasets.scenes.world import Scene, Thing, draw

TOWERS = Scene(  # left: black, blue on it; middle: black; right: three yellow ones
    tuple(
        Thing("square", colour, 20, 40, 80 - 21 * level, box)
        for box, colours in enumerate((("black", "blue"), ("black",), ("yellow",) * 3))
        for level, colour in enumerate(colours)
    ),
    towers=True,
)
SCATTERED = Scene(
    (
        Thing("circle", "blue", 10, 0, 50, 0),  # touches the left wall
        Thing("square", "blue", 30, 40, 70, 0),  # touches the bottom
        Thing("triangle", "black", 20, 50, 20, 2),
    ),
    towers=False,
    covered=1,
)


@pytest.mark.parametrize("held_out", [True, False])
def test_every_reason_of_the_generator_is_true_of_its_image_and_most_are_not_of_the_next(held_out: bool) -> None:
    items = list(islice(generate_items(4000 + held_out, held_out=held_out), 150))
    reasons = [parse_reason(item.reason) for item in items]
    assert None not in reasons
    scenes = [recover_scene(draw(item.scene)) for item in items]
    for item, reason, scene in zip(items, reasons, scenes, strict=True):
        assert reason_truth(reason, scene).true is True, (item.reason, item.scene)  # type: ignore[arg-type]
    pairs = zip(reasons, pairwise([*scenes, scenes[0]]), strict=True)
    elsewhere = Counter(reason_truth(reason, other).true for reason, (_, other) in pairs)  # type: ignore[arg-type]
    assert elsewhere[True] < 0.3 * len(items) < elsewhere[False]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("there are two black blocks", True),
        ("there are two black blocks at the base of a tower", True),
        ("there is one black block at the top of a tower", True),  # that of one block
        ("there are three black blocks", False),
        ("no tower has exactly two blocks", False),
        ("no tower has exactly four blocks", True),
        ("the right tower has only yellow blocks", True),
        ("the left and middle towers have at least one black block at the base", True),
        ("the left and right towers have at least one black block at the base", False),
        ("the left tower does not have a blue block above a black block", False),
        ("the left tower has a blue block above a black block and exactly two colours", True),
        ("a black block at the base of a tower in the middle box is not blue", True),
        ("there are three yellow blocks and none is black", True),
        ("there are three yellow blocks and each is black", False),
        ("two blue items can be seen", False),
        ("the right box is covered and two black blocks can be seen", False),
        ("the picture does not show what is made of wood", True),
        ("the picture does not show what is made of cheese", None),
        ("the blocks look nice", None),
    ],
)
def test_towers(reason: str, expected: bool | None) -> None:
    assert judged(reason, TOWERS) is expected


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("the middle box is covered and two blue items can be seen", True),
        ("two blue items can be seen", True),
        ("there are two blue items", None),  # the covered box may hold more
        ("there is one blue item", False),
        ("no box has exactly three colours", None),
        ("no visible box has exactly three colours", True),
        ("no box has exactly one blue circle", False),
        ("the middle box has only circles", None),
        ("the left and middle boxes have only circles", False),
        ("one blue item not touching a wall can be seen", False),
        ("one small blue circle touching the left wall can be seen", True),
        ("a blue square in the left box is touching a wall", True),
        ("a blue square in the left box is not small", True),
        ("a blue square in the right box is touching a wall", False),
        ("two blue blocks can be seen", False),  # the image has no towers
    ],
)
def test_a_covered_box_leaves_some_open(reason: str, expected: bool | None) -> None:
    assert judged(reason, SCATTERED) is expected


def judged(reason: str, scene: Scene) -> bool | None:
    image = InputImage.of(draw(scene))
    return check_reason(reason, Example("", image=image)).true


def test_an_image_of_another_kind_is_not_judged() -> None:
    image = InputImage.of(draw(SCATTERED)[:, :300])
    truth = check_reason("there are two blue items", Example("", image=image))
    assert (truth.true, truth.note) == (None, "the contents of this image are not known")
    assert check_reason("there are two blue items", Example("")).true is None


def test_the_note_says_what_the_image_shows() -> None:
    image = InputImage.of(draw(replace(SCATTERED, covered=None)))
    assert check_reason("there are five blue items", Example("", image=image)).note == "the image shows 2 of them"
