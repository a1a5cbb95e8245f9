"""The marks themselves are made in the browser: assets/guess.js sends them as a whole, with their moment."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app.compare import guess
from app.compare.runs import Run
from app.compare.state import CompareControls, CompareState, Guess
from explainers.datasets.example import Example

Ran = Callable[..., Run]
TEXT = "a good film but dull"


def script() -> None:
    import streamlit as st

    from app.compare import guess
    from app.compare.state import compare_state

    state = compare_state()
    state.begin()
    guess.switch()
    state.finish()
    run = state.run
    assert run is not None
    order = guess.order(run.request.model, run.request.example, run.request.settings.units)
    if guess.waiting(run):
        guess.show_guess(run)
    else:
        st.text(f"explanations beside {order}")


@pytest.fixture
def page(ran: Ran) -> Callable[..., AppTest]:
    """A page that asks for a guess, or shows the order in place of the explanations."""

    def opened(text: str = TEXT, **address: str) -> AppTest:
        at = AppTest.from_function(script, default_timeout=60)
        at.session_state["CompareState"] = CompareState()
        look_at(at, ran(text, methods=("occlusion",)))
        for name, value in address.items():
            at.query_params[name] = value
        return at.run()

    return opened


def look_at(at: AppTest, run: Run) -> None:
    at.session_state["CompareState"].run = run
    at.session_state["CompareState"].asked = run.request.example


def marks(at: AppTest, *units: int, moment: float = 1.0, about: str = "") -> None:
    """As the component sends them."""
    state = at.session_state["CompareState"]
    sent = {"about": about or state.guess.id, "units": list(units), "moment": moment}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(st, "session_state", {"CompareState": state, "guess marks": {"marked": sent}})
        guess._marked()


def payload(at: AppTest) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(at.get_by_key("guess marks").proto.json)
    return data


def texts(at: AppTest) -> list[str]:
    return [element.value for element in at.text]


def test_without_the_switch_nothing_is_hidden(page: Callable[..., AppTest]) -> None:
    at = page()
    assert not at.exception
    assert texts(at) == ["explanations beside ()"]
    assert "guess" not in at.query_params


def test_the_address_switches_it_on_and_the_switch_writes_the_address(page: Callable[..., AppTest]) -> None:
    at = page(guess="first")
    assert at.toggle(key="guess first").value
    assert texts(at) == []
    at.toggle(key="guess first").set_value(False).run()
    assert texts(at) == ["explanations beside ()"]
    assert "guess" not in at.query_params
    at.toggle(key="guess first").set_value(True).run()
    assert at.query_params["guess"] == "first"
    assert not page(guess="nonsense").toggle(key="guess first").value


def test_the_marks_are_an_order_once_the_explanations_are_shown(page: Callable[..., AppTest]) -> None:
    at = page(guess="first")
    assert payload(at)["segments"][0][:3] == [["a", 0], [" ", -1], ["good", 1]]
    assert payload(at)["marked"] == []
    marks(at, 4, 1)
    assert payload(at.run())["marked"] == [4, 1]
    at.button(key="guess show").click().run()
    assert not at.exception
    assert texts(at.run()) == ["explanations beside (4, 1)"]


def test_a_click_counts_once_and_a_late_one_not_at_all(page: Callable[..., AppTest]) -> None:
    at = page(guess="first")
    marks(at, 1, moment=2.0)
    marks(at, moment=2.0)
    marks(at, 3, moment=1.0)
    assert payload(at.run())["marked"] == [1]
    marks(at, 1, 99, 1, 3, moment=3.0)  # no unit has the number 99
    assert payload(at.run())["marked"] == [1, 3]


def test_clear_takes_all_marks_back(page: Callable[..., AppTest]) -> None:
    at = page(guess="first")
    assert at.button(key="guess clear").disabled
    marks(at, 1)
    at.run().button(key="guess clear").click().run()
    assert payload(at)["marked"] == []


def test_another_text_model_or_unit_is_guessed_anew(page: Callable[..., AppTest], ran: Ran) -> None:
    at = page(guess="first")
    marks(at, 1)
    at.run().button(key="guess show").click().run()
    before = at.session_state["CompareState"].run
    look_at(at, ran("a dull film", methods=("occlusion",)))
    assert payload(at.run())["marked"] == []
    look_at(at, before)
    assert payload(at.run())["marked"] == []  # forgotten


def test_marks_that_come_after_another_guess_has_begun_are_not_kept(page: Callable[..., AppTest], ran: Ran) -> None:
    at = page(guess="first")
    first = payload(at)["about"]
    marks(at, 1)
    assert payload(at.run())["about"] == first
    look_at(at, ran("dull", methods=("occlusion",)))
    second = payload(at.run())["about"]
    assert second != first
    marks(at, 0, moment=2.0, about=first)
    assert payload(at.run())["marked"] == []
    marks(at, 0, moment=2.0, about=second)
    assert payload(at.run())["marked"] == [0]


@pytest.mark.parametrize(
    "other", [("m", Example("b"), "word"), ("n", Example("a"), "word"), ("m", Example("a"), "token")]
)
def test_an_order_belongs_to_model_input_and_unit(monkeypatch: pytest.MonkeyPatch, other: Any) -> None:
    about = ("m", Example("a"), "word")
    state = CompareState(CompareControls(guess_first=True), guess=Guess(about, (2, 0), shown=True))
    monkeypatch.setattr(st, "session_state", {"CompareState": state})
    assert guess.order(*about) == (2, 0)
    assert guess.order(*other) == ()
    assert guess.order(*about) == ()
