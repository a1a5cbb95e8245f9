"""Whether a reason is on the topic of the true one: the same claim about the same things."""

from itertools import islice, pairwise

import pytest

from explainers.datasets.scenes.generator import generate_items
from explainers.datasets.scenes.reason_checker import on_topic
from explainers.models.tasks import reason_on_topic


@pytest.mark.parametrize(
    ("reason", "reference", "expected"),
    [
        # counts: the number is the image's, the things are the topic's
        ("there are three blue circles", "there are two blue circles", True),
        ("there are two black circles", "there are two blue circles", False),
        ("there are two circles", "there are two blue circles", False),
        ("there are two blue squares", "there are two blue circles", False),
        ("there are two small blue circles", "there are two blue circles", False),
        ("there are two blue circles touching a wall", "there are two blue circles", False),
        ("there are two items not in a corner", "there are two items in a corner", False),
        ("two blue circles can be seen", "there are two blue circles", True),
        # a covered box: that there is one is the topic, which one it is the image's
        ("the left box is covered and one item can be seen", "the right box is covered and no items can be seen", True),
        ("two items can be seen", "the right box is covered and two items can be seen", False),
        # every and none
        ("there are two items and each is blue", "there are three items and each is blue", True),
        ("there are two items and none is blue", "there are two items and each is blue", False),
        ("there are two items and each is not in a corner", "there are two items and none is in a corner", True),
        ("there are two items", "there are two items and each is blue", False),
        # counterexamples: in whichever box
        ("a blue circle in the left box is not small", "a blue circle in the right box is not small", True),
        ("a blue circle in the left box is small", "a blue circle in the left box is not small", False),
        ("a black circle in the left box is not small", "a blue circle in the left box is not small", False),
        ("the left tower does not have two colours", "the right tower does not have two colours", True),
        ("the left tower has two colours", "the left tower does not have two colours", False),
        # what boxes have: the same conditions in any order, the same boxes in any order
        ("the left box has two circles and no squares", "the left box has no squares and two circles", True),
        ("the left and right boxes have two circles", "the right and left boxes have two circles", True),
        ("the left box has two circles", "the left and right boxes have two circles", False),
        ("the left box has two circles", "the left box has two circles and no squares", False),
        ("the left box has at least two circles", "the left box has exactly two circles", False),
        ("the left box has a circle above a square", "the left box has a square above a circle", False),
        ("no visible box has two circles", "no box has two circles", True),
        ("no box has two circles", "the left box has two circles", False),
        ("the picture does not show what is warm", "the picture does not show what is soft", False),
        ("the blocks look nice", "there are two blocks", False),
        ("", "there are two blocks", False),
        ("there are two blocks", "the blocks look nice", None),
    ],
)  # fmt: skip
def test_the_topic_is_the_claim_without_what_the_image_decides(
    reason: str, reference: str, expected: bool | None
) -> None:
    assert on_topic(reason, [reference]) is expected


def test_one_of_several_references_suffices() -> None:
    assert on_topic("there are two circles", ["the blocks look nice", "there is one circle"]) is True
    assert on_topic("there are two circles", []) is None


def test_every_reason_of_the_generator_is_on_its_own_topic_and_few_on_that_of_the_next() -> None:
    reasons = [item.reason for item in islice(generate_items(4002, held_out=False), 300)]
    assert all(on_topic(reason, [reason]) is True for reason in reasons)
    assert sum(on_topic(one, [other]) is True for one, other in pairwise(reasons)) < 0.1 * len(reasons)


def test_the_task_has_the_rule_and_other_models_have_none() -> None:
    assert reason_on_topic("scenes", "there are two circles", ["there is one circle"]) is True
    assert reason_on_topic("nli", "a man is a person", ["a man is a person"]) is None
