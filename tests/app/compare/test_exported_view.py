"""The JSON export of a page opens the page again."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from app import session
from app.compare.file_rows import JSON_AS_TEXT, NO_IMAGE, json_with_view, text_changed, view_of
from app.compare.runs import Run
from app.compare.state import OWN_IMAGE, CompareState
from app.compare.stored_results import OWN_TEXT, curated_examples
from tests.app.compare.conftest import ask, opened

LONG = "A film without an end. " * 30
FIRST = curated_examples()[0]


def exported(state: CompareState, run: Run) -> str:
    """The content of the file."""
    return json_with_view(run.comparison(), session.described(state.controls))


def pasted(page: Any, content: str) -> CompareState:
    """Another session, in which the content is pasted as the text."""
    page.session_state.clear()
    page.query_params.clear()
    state = opened(page)
    ask(state)
    state.change(text=content)
    text_changed(state)
    return state


def test_a_long_text_is_opened_from_its_json_alone(page: Any, ran: Callable[..., Run]) -> None:
    before = opened(page, text=LONG, unit="sentence", opened="1.3", removed="2", erase="delete", seed="7", budget="60")
    before.change(gradient=(), variants=("AML (comp)",), view="matrix", top=10, sentences=30)
    content, controls = exported(before, ran()), before.controls
    after = pasted(page, content)
    assert after.controls == controls
    assert after.controls.text == LONG
    ask(after)
    assert after.problems == {}
    after.undo()
    assert after.controls.text == FIRST.text


def test_an_example_is_opened_as_that_example(page: Any, ran: Callable[..., Run]) -> None:
    state = pasted(page, exported(opened(page), ran()))
    assert (state.controls.example, state.controls.text) == (FIRST.title, FIRST.text)


def test_what_a_changed_export_asks_for_in_vain_is_named(page: Any) -> None:
    view = {
        "text": LONG,
        "example": "no such",
        "seed": "many",
        "steps": 10**9,
        "unit": 5,
        "removed": 3,
        "large": "x",
        "class": None,
        "gradient": {"a": 1},
    }
    state = pasted(page, json.dumps({"view": view}))
    assert (state.controls.text, state.controls.example) == (LONG, OWN_TEXT)
    controls = state.controls
    assert (controls.seed, controls.steps, controls.unit, controls.removed) == (0, 50, "auto", ())
    assert controls.model
    assert {"seed", "steps", "unit", "removed", "large"} <= state.problems.keys()
    assert all(problem.startswith("The export names the ") for problem in state.problems.values())
    session.visit().page = session.visit().page_before = "here"
    state.begin()
    state.change(variants=("no such",))
    state.unchecked.add("variants")
    state.widget("variants", options=("a", "b"))
    assert state.problems["variants"].startswith("The export names the method “no such”")


def test_what_an_address_asks_for_in_vain_after_an_export_is_said_of_the_address(page: Any) -> None:
    state = pasted(page, json.dumps({"view": {"text": LONG, "seed": "many"}}))
    page.query_params.update({"seed": "more"})
    state.read_address({"seed"})
    assert state.problems["seed"].startswith("The address names the seed “more”")


def test_an_image_of_ones_own_is_not_in_the_export(page: Any) -> None:
    state = pasted(page, json.dumps({"view": {"text": "a man", "picture": OWN_IMAGE}}))
    assert state.problems["picture"] == NO_IMAGE
    assert state.controls.picture != OWN_IMAGE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a film",
        "{",
        '{"view"',
        '{"view": 3}',
        '{"view": {"text": 3}}',
        '["view"]',
        '{"a": "view"}',
        '{"view":' * 9999,
        '{"view": {"text": "\\ud800 hello"}}',  # half of a character, which no message to the browser can hold
        '{"view": {"text": "hello", "pair": "\\uDFFF"}}',
    ],
)
def test_everything_else_is_a_text(page: Any, text: str) -> None:
    assert view_of(text) is None
    assert pasted(page, text).controls.text == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"model": "sst2", "answ', True),
        ('{"view": {"txt": "a film"}}', True),
        ("[1, 2, 3]", True),
        (' [{"a": 1}]', True),
        ("[sic] a dull film", False),
        ("{dull} film", False),
        ("[1] A note on a film.", False),
        ("a film", False),
    ],
)
def test_json_that_is_no_export_is_said_to_be_explained_as_a_text(page: Any, text: str, said: bool) -> None:
    state = pasted(page, text)
    assert state.controls.text == text
    assert state.problems == ({"text": JSON_AS_TEXT} if said else {})
