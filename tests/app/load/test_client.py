import json

import pytest

from app.load.client import MOST_RUNS, HeldMessages, Sheet, sheet_of
from app.streamlit_shims import Element, ForwardMsg


def large(body: str, fragment: str = "") -> bytes:
    message = ForwardMsg(hash=body)
    message.metadata.cacheable = True
    message.delta.fragment_id = fragment
    message.delta.new_element.text.body = body
    content: bytes = message.SerializeToString()
    return content


def reference(key: str) -> bytes:
    message = ForwardMsg(ref_hash=key)
    message.metadata.delta_path.append(7)
    content: bytes = message.SerializeToString()
    return content


def test_a_reference_is_replaced_by_the_element_that_was_sent_before() -> None:
    held = HeldMessages()
    held.read(large("words"))
    message = held.read(reference("words"))
    assert message.delta.new_element.text.body == "words"
    assert list(message.metadata.delta_path) == [7]  # where it stands now


def test_an_element_is_forgotten_when_it_was_not_used_for_some_runs() -> None:
    held = HeldMessages()
    held.read(large("used"))
    held.read(large("unused"))
    for _ in range(MOST_RUNS + 1):
        held.read(reference("used"))
        held.run_ended([])
    assert list(held.held) == ["used"]


def test_runs_of_a_fragment_leave_the_elements_of_others() -> None:
    held = HeldMessages()
    held.read(large("mine", "fragment"))
    held.read(large("others"))
    for _ in range(MOST_RUNS + 1):
        held.run_ended(["fragment"])
    assert list(held.held) == ["others"]


@pytest.mark.parametrize("mixed", [False, True], ids=["JSON", "JSON beside Arrow"])
def test_the_sheet_is_read_from_the_component(mixed: bool) -> None:
    data = {
        "time": 5.0,
        "segments": [[["good", 0], [" ", -1], ["film", 1]]],
        "rows": [
            {"name": "LIME", "status": "done", "problem": ""},
            {"name": "AML", "status": "failed", "problem": "No weights."},
        ],
    }
    element = Element()
    element.bidi_component.component_name = "crosslight_sheet"
    if mixed:
        element.bidi_component.mixed.json = json.dumps(data)
    else:
        element.bidi_component.json = json.dumps(data)
    sheet = sheet_of(element)
    assert sheet == Sheet(5.0, "good film", ("done", "failed"), ("AML: No weights.",))
    assert sheet.settled


def test_other_elements_are_no_sheet() -> None:
    element = Element()
    element.text.body = "words"
    assert sheet_of(element) is None
