"""Undo takes back one question after another."""

from types import SimpleNamespace
from typing import Any

import pytest

from app.compare import state as compare
from app.compare.panels import last_change
from app.compare.state import CompareState, bounded
from app.compare.stored_results import OWN_TEXT
from tests.app.compare.conftest import ask, opened


def change(state: CompareState, **values: Any) -> None:
    state.change(**values)
    ask(state)


@pytest.fixture
def asked(page: Any) -> CompareState:
    """After the first drawing of a page with the text "one"."""
    state = opened(page, text="one")
    ask(state)
    return state


def test_every_change_can_be_taken_back_one_by_one(asked: CompareState) -> None:
    change(asked, removed=(1,))
    change(asked, removed=(1, 4))
    change(asked, text="two", removed=())
    for text, removed in (("one", (1, 4)), ("one", (1,)), ("one", ())):
        assert asked.steps
        asked.undo()
        ask(asked)  # the run of the page that follows is no new step
        assert (asked.controls.text, asked.controls.removed) == (text, removed)
    assert not asked.steps
    asked.undo()
    assert asked.controls.text == "one"


def test_the_same_question_is_no_step_and_neither_is_another_drawing(asked: CompareState) -> None:
    change(asked, removed=())
    change(asked, top=50, view="matrix", large=True)
    assert not asked.steps
    change(asked, seed=1)
    asked.undo()
    assert (asked.controls.seed, asked.controls.top) == (0, 50)


def test_only_the_last_steps_are_kept(asked: CompareState) -> None:
    for number in range(compare.STEPS_KEPT + 50):
        change(asked, removed=(number,))
    assert len(asked.steps) == compare.STEPS_KEPT


def test_images_are_kept_as_far_back_as_they_fit() -> None:
    images = [SimpleNamespace(content=bytes([number]) * (compare.IMAGES_KEPT // 3)) for number in range(8)]
    steps: Any = [SimpleNamespace(own_image=image) for image in [*images, None]]
    assert [step.own_image for step in bounded(steps)] == [*images[-3:], None]


def test_an_undone_step_asks_once_for_the_whole_page(asked: CompareState) -> None:
    change(asked, removed=(1,))
    asked.undo()
    assert [asked.take_undone(), asked.take_undone()] == [True, False]


def test_a_change_forgets_what_was_wrong_with_the_address(asked: CompareState) -> None:
    asked.note("class", "The address names…")
    change(asked, seed=2)
    assert asked.problems  # noted in this very run of the page
    asked.begin()
    change(asked, removed=(3,))
    assert asked.problems  # what stands above the words does not go while a person presses them
    change(asked, seed=3)
    assert not asked.problems


def test_what_undo_took_back_has_a_name(asked: CompareState) -> None:
    for label, values in {
        "removal": {"removed": (1,)},
        "text": {"text": "two", "example": OWN_TEXT, "removed": ()},
        "class": {"class_": "negative"},
        "method": {"learned": ()},
        "image": {"picture": "tower 1"},
        "operator": {"erase": "delete"},
    }.items():
        change(asked, **values)
        assert last_change(asked) == label
    asked.undo()
    ask(asked)
    assert last_change(asked) == "image"
