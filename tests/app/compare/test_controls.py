"""Every control of Compare, declared once: widget, address, Undo and downloads."""

import json
from dataclasses import dataclass, field, fields, make_dataclass
from typing import Any

import pytest

from app import session
from app.compare import state as compare
from app.compare.state import CompareState
from explainers.methods.registry import METHODS
from tests.app.compare.conftest import ask, opened


def test_a_widget_shows_its_control_and_a_person_changes_it(page: Any) -> None:
    state, offered = opened(page, learned="AML"), ["AML", "CIMI", "CIEM"]
    widget = state.widget("learned", options=offered, default=["CIMI"])
    assert page.session_state["learned"] == ["AML"]
    both = ["AML", "CIMI"]
    for chosen, kept, address in (([], (), ""), (["CIMI"], None, None), (both, tuple(both), both)):
        page.session_state["learned"] = chosen
        widget["on_change"](*widget["args"])
        assert state.controls.learned == kept
        ask(state)
        assert page.query_params.get("learned") == address


def test_a_closed_popover_cannot_bring_back_what_the_page_has_replaced(page: Any) -> None:
    """Its browser still has the widget of the model before, and sends its value with whatever is pressed next."""
    state, offered = opened(page), ["AML", "CIMI", "CIEM"]
    before = state.widget("learned", options=offered, default=["AML", "CIMI"], folded=True)
    after = state.widget("learned", options=offered, default=["AML"], folded=True)
    assert page.session_state[after["key"]] == ["AML"]
    page.session_state[before["key"]] = ["AML", "CIMI"]
    before["on_change"](*before["args"])
    assert state.controls.learned is None
    page.session_state[after["key"]] = ["CIEM", "AML"]
    after["on_change"](*after["args"])
    assert state.controls.learned == ("CIEM", "AML")
    same = state.widget("learned", options=offered, default=["AML", "CIEM"], folded=True)
    assert same["key"] == after["key"]  # an open one stays as it is, in whatever order its options were chosen


def test_what_is_being_typed_is_left_alone(page: Any) -> None:
    written: list[str] = []

    class Watched(dict[str, Any]):
        def __setitem__(self, key: str, value: Any) -> None:
            written.append(key)
            super().__setitem__(key, value)

    page.session_state = Watched()
    state = opened(page, text="one")
    for _ in range(3):
        state.widget("text")
    assert written.count("text") == 1


YOURS = "Yours"  # the group of methods that other packages add
DECLARED = session.controls_of(compare.CompareControls)


def test_every_control_declares_address_undo_and_download() -> None:
    assert [field.name for field in fields(compare.CompareControls) if "control" not in field.metadata] == []
    addresses = [spec.address for spec in DECLARED.values() if spec.address]
    assert len(set(addresses)) == len(addresses)
    assert [name for name, spec in DECLARED.items() if not spec.address] == ["own_image"]  # has no name elsewhere
    assert [name for name, spec in DECLARED.items() if not spec.download] == ["own_image"]


def test_every_group_of_methods_has_a_control() -> None:
    general = {spec.group.lower() for spec in METHODS if not spec.needs}
    assert {*general, YOURS.lower()} <= {*DECLARED}


SAMPLES: dict[str, Any] = {
    "removed": (1, 2), "opened": (0, 3), "variants": ("AML (comp)",), "colours": "captum", "samples": 60, "steps": 10,
    "budget": 5, "seed": 7, "sentences": 28,
    "top": 40, "opacity": 30, "view": "matrix", "duel": "lime.aml", "own_image": None,
}  # fmt: skip


@pytest.mark.parametrize("name", DECLARED)
def test_every_control_comes_back_from_its_address(name: str) -> None:
    spec, default = DECLARED[name], session.default_of(compare.CompareControls(), name)
    value = SAMPLES.get(name, ("a", "b") if default is None else True if default is False else "sample")
    texts = session.encoded(compare.CompareControls(**{name: value})).get(spec.address, [])
    assert bool(texts) is bool(spec.address)
    assert not texts or spec.codec.decode(texts) == value
    assert session.encoded(compare.CompareControls()).get(spec.address, []) == []


def test_a_new_control_is_in_address_undo_and_download_by_its_declaration_alone(page: Any) -> None:
    new = field(default=1, metadata=session.carried(session.whole_number(0, 9), "new", undo=True, download=True))
    wider = make_dataclass("Wider", [("new", int, new)], bases=(compare.CompareControls,), frozen=True)

    @dataclass
    class Wide(CompareState):
        controls: Any = field(default_factory=wider)

    page.query_params.update({"new": "5", "text": "one"})
    state = Wide()
    state.begin()
    assert state.controls.new == 5
    ask(state)
    state.change(new=6)
    ask(state)
    assert page.query_params["new"] == "6"
    assert json.loads(json.dumps(session.described(state.controls)))["new"] == 6
    state.undo()
    assert state.controls.new == 5
    page.session_state["new"] = 7
    widget = state.widget("new")
    assert (widget["key"], page.session_state["new"]) == ("new", 5)


def test_what_a_timer_brings_of_the_form_is_no_choice(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser asked before it had drawn the text that Undo brought back."""
    state = opened(page, text="A fine film")
    box = state.widget("text", then=state.text_changed)
    page.session_state[box["key"]] = "A dull film"
    monkeypatch.setattr(session.streamlit_shims, "is_of_other_fragment", lambda: True)
    box["on_change"](*box["args"])
    assert state.controls.text == "A fine film"
    monkeypatch.setattr(session.streamlit_shims, "is_of_other_fragment", lambda: False)
    box["on_change"](*box["args"])
    assert state.controls.text == "A dull film"
