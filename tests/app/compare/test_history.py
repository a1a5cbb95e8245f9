from types import SimpleNamespace
from typing import Any

import pytest

from app.compare import address_check, history


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    session: dict[str, Any] = {"text": "one", "removed": ()}
    for module in (history, address_check):
        monkeypatch.setattr(module, "st", SimpleNamespace(session_state=session))
    history.note()
    return session


def change(state: dict[str, Any], **values: Any) -> None:
    state.update(values)
    history.note()


def test_every_change_can_be_taken_back_one_by_one(state: dict[str, Any]) -> None:
    change(state, removed=(1,))
    change(state, removed=(1, 4))
    change(state, text="two", removed=())
    for text, removed in (("one", (1, 4)), ("one", (1,)), ("one", ())):
        assert history.can_undo()
        history.undo()
        history.note()  # the run of the page that follows is no new step
        assert (state["text"], state["removed"]) == (text, removed)
    assert not history.can_undo()
    history.undo()
    assert state["text"] == "one"


def test_the_same_question_is_no_step_and_neither_is_a_control_that_appears(state: dict[str, Any]) -> None:
    change(state, removed=())
    change(state, pair="")
    assert not history.can_undo()


def test_only_the_last_steps_are_kept(state: dict[str, Any]) -> None:
    for number in range(history.LONGEST + 50):
        change(state, removed=(number,))
    assert len(state[history.STEPS]) == history.LONGEST


def test_images_are_kept_as_far_back_as_they_fit(state: dict[str, Any]) -> None:
    for number in range(8):
        change(state, **{"own picture": SimpleNamespace(content=bytes([number]) * (history.IMAGES_KEPT // 3))})
    state["own picture"] = None
    history.note()
    images = {id(step["own picture"]) for step in state[history.STEPS] if "own picture" in step}
    assert len(images) == 3


def test_an_undone_step_asks_once_for_the_whole_page(state: dict[str, Any]) -> None:
    change(state, removed=(1,))
    history.undo()
    assert [history.undone(), history.undone()] == [True, False]


def test_a_change_forgets_what_was_wrong_with_the_address(state: dict[str, Any]) -> None:
    address_check.note("class", "The address names…")
    change(state, removed=(2,))
    assert state[address_check.PROBLEMS]  # noted in this very run of the page
    address_check.begin()
    change(state, removed=(3,))
    assert not state[address_check.PROBLEMS]
