"""The Compare page with a model that reads a premise and a hypothesis."""

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from app.compare.stored_results import OWN_TEXT, curated_examples

Opened = Callable[..., Any]
SINGLE = next(sample for sample in curated_examples() if sample.model == "sst2")
PAIR, OTHER = [sample for sample in curated_examples() if sample.model == "nli"][:2]
ONLY = {"premise_only", "hypothesis_only"}
pytestmark = pytest.mark.usefixtures("both")


def ids(page: Any) -> set[str]:
    return {card["id"] for card in page.sheet["rows"]}


def pieces(page: Any) -> list[str]:
    return ["".join(piece for piece, _ in segment) for segment in page.sheet["segments"]]


def test_it_opens_with_a_single_text_and_no_control_for_pairs(opened: Opened) -> None:
    page = opened().settle()
    assert page.boxes == ["Text"]
    assert page.sheet["labels"] == [""]
    assert not ONLY & ids(page)
    assert "pairs" not in [element.key for element in page.at.main if getattr(element, "key", None)]


def test_choosing_a_model_of_pairs_brings_its_boxes_example_and_controls(opened: Opened) -> None:
    page = opened().settle().choose("model", "nli")
    assert page.boxes == ["Premise", "Hypothesis"]
    assert (page.text, page.pair) == (PAIR.text, PAIR.pair)
    assert page.sheet["labels"] == ["Premise", "Hypothesis"]
    assert pieces(page) == [PAIR.text, PAIR.pair]
    assert ids(page) >= ONLY
    assert {card["status"] for card in page.sheet["rows"]} == {"done"}
    assert SINGLE.title not in page.at.get_by_key("example").options
    page.choose("model", "sst2")
    assert (page.boxes, page.text) == (["Text"], SINGLE.text)
    assert not page.sentences
    assert not page.plain("warning")


def test_both_texts_are_there_while_the_model_is_asked(opened: Opened, gate: Event) -> None:
    gate.clear()
    page = opened(model="nli", text="good film", pair="dull plot")
    assert page.sheet["labels"] == ["Premise", "Hypothesis"]
    assert pieces(page) == ["good film", "dull plot"]
    gate.set()
    page.settle()


def test_one_text_alone_and_swapped_stand_with_the_prediction(opened: Opened) -> None:
    page = opened(model="nli").settle()
    (caption,) = [caption for caption in page.captions if "swapped" in caption]
    assert caption.startswith("Premise alone: ")
    assert " · hypothesis alone: " in caption


def test_an_own_pair_is_in_the_address_and_comes_back(opened: Opened) -> None:
    page = opened(model="nli").settle().write("good film", "dull plot")
    assert page.at.get_by_key("example").value == OWN_TEXT
    assert (page.address["text"], page.address["pair"]) == ("good film", "dull plot")
    again = opened(**page.address).settle()
    assert (again.text, again.pair) == ("good film", "dull plot")
    assert again.words == ["good", "film", "dull", "plot"]


def test_a_missing_hypothesis_is_one_sentence_and_nothing_is_lost(opened: Opened) -> None:
    page = opened(model="nli").settle().write("good film", " ")
    assert page.plain("warning") == ["small needs a premise and a hypothesis; the hypothesis is missing."]
    assert (page.text, page.pair) == ("good film", " ")
    assert pieces(page) == [PAIR.text, PAIR.pair]  # the last comparison that worked
    page.write("good film", "dull plot")
    assert not page.sentences
    assert not page.plain("warning")
    assert pieces(page) == ["good film", "dull plot"]


def test_an_own_text_stays_when_a_model_of_pairs_is_chosen(opened: Opened) -> None:
    page = opened(text="good film").settle().choose("model", "nli")
    assert (page.text, page.pair) == ("good film", "")
    assert page.plain("warning") == ["small needs a premise and a hypothesis; the hypothesis is missing."]
    page.write("good film", "dull plot").choose("model", "sst2")
    assert page.words == ["good", "film"]
    assert "pair" not in page.address
    assert page.choose("model", "nli").pair == "dull plot"


def test_units_of_both_texts_can_be_removed(opened: Opened) -> None:
    page = opened(model="nli", text="good film", pair="dull plot").settle().remove(0, 3)
    assert page.sheet["removed"] == [0, 3]
    assert all(list(card["cells"]) == ["1", "2"] for card in page.sheet["rows"])
    page.press("back").settle()
    assert page.state.controls.removed == ()


def test_choosing_another_example_replaces_both_texts(opened: Opened) -> None:
    page = opened(model="nli").settle().choose("example", OTHER.title)
    assert (page.text, page.pair) == (OTHER.text, OTHER.pair)
    assert pieces(page) == [OTHER.text, OTHER.pair]


def test_both_texts_survive_a_visit_to_another_page(opened: Opened) -> None:
    page = opened(model="nli", text="good film", pair="dull plot").settle().remove(1)
    request = page.state.run.request
    page.at.switch_page("pages/methods.py")
    page.run()
    page.at.switch_page("pages/compare.py")
    page.settle()
    assert page.state.run.request == request
    assert (page.text, page.pair) == ("good film", "dull plot")


def test_equal_texts_cause_a_warning(opened: Opened) -> None:
    page = opened(model="nli", text="good film", pair="good film").settle()
    assert page.plain("warning") == ["Both texts are the same, letter by letter."]


@pytest.mark.parametrize(("pair", "labels"), [("", [""]), ("dull plot", ["Text 1", "Text 2"])])
def test_of_an_unknown_model_a_second_text_may_be_asked(
    opened: Opened, pair: str, labels: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # AppTest cannot run a page twice on which a name was typed that is no option
    monkeypatch.setattr("app.model_info.model_box", lambda _state, fetched: "owner/model")
    page = opened(text="good film", model="owner/model", **({"pair": pair} if pair else {})).settle()
    assert page.boxes == ["Text", "Second text (only for models of pairs)"]
    assert page.sheet["labels"] == labels
    assert bool(ONLY & ids(page)) is bool(pair)
    assert not page.sentences
    assert not page.plain("warning")


def test_a_premise_stays_where_the_hypothesis_is_sent_before_the_browser_has_heard_of_it(opened: Opened) -> None:
    page = opened(model="nli").settle()
    page.at.text_area(key="text").set_value("A man sleeps.")
    page.run()
    page.at.selectbox(key="example").set_value(PAIR.title)  # which the browser shows until the page has answered
    page.at.text_area(key="pair").set_value("A man is awake.")
    page.settle()
    assert (page.text, page.pair) == ("A man sleeps.", "A man is awake.")
    assert page.state.controls.example == OWN_TEXT
    page.choose("example", PAIR.title)
    assert (page.text, page.pair) == (PAIR.text, PAIR.pair)
