from types import SimpleNamespace
from typing import Any

import pytest

from app import state
from app.state import OWN_PICTURE, OWN_TEXT, samples
from explainers.datasets.example import Example
from explainers.datasets.picture import Picture

FIRST, SECOND = samples()[:2]
PAIR = next(sample for sample in samples() if sample.model == "nli")


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What Streamlit remembers of a session, and the address."""
    found = SimpleNamespace(session_state={}, query_params={})
    monkeypatch.setattr(state, "st", found)
    return found


def opened(page: Any, **address: str) -> dict[str, Any]:
    page.query_params.update(address)
    state.begin()
    page.session_state.setdefault("example", address.get("example", FIRST.title))  # the widget's own value
    remembered: dict[str, Any] = page.session_state
    return remembered


def asked(page: Any) -> Example:
    """What the boxes ask: a second text that is empty is none."""
    return Example(page.session_state["text"], page.session_state["pair"] or None)


def test_a_session_opens_with_the_first_example(page: Any) -> None:
    found = opened(page)
    assert (found["text"], found["removed"]) == (FIRST.text, ())


def test_titles_are_unique_and_every_example_has_a_text() -> None:
    titles = [sample.title for sample in samples()]
    assert len(set(titles)) == len(titles)
    assert all(sample.text.strip() for sample in samples())
    assert all((sample.pair is not None) == (sample.model == "nli") for sample in samples())


@pytest.mark.parametrize(
    ("model", "offered"),
    [("sst2", {"sst2"}), ("sst2-ivra-comp", {"sst2"}), ("nli", {"nli"}), ("owner/model", {"sst2", "nli"})],
)
def test_a_model_offers_its_own_examples_and_one_without_any_all(model: str, offered: set[str]) -> None:
    assert state.titles(model) == [*(each.title for each in samples() if each.model in offered), OWN_TEXT]


def test_choosing_a_model_brings_its_first_example(page: Any) -> None:
    found = opened(page, removed="1")
    state.model_chosen("sst2-ivra-comp")
    assert (found["example"], found["removed"]) == (FIRST.title, (1,))
    state.model_chosen("nli")
    assert (found["example"], found["text"], found["pair"], found["removed"]) == (PAIR.title, *PAIR.texts, ())
    state.model_chosen("sst2")
    assert (found["text"], found["pair"]) == (FIRST.text, "")


def test_choosing_a_model_leaves_an_own_text(page: Any) -> None:
    found = opened(page, text="mine")
    state.model_chosen("nli")
    assert (found["example"], found["text"], found["pair"]) == (OWN_TEXT, "mine", "")


def test_the_address_brings_the_first_example_of_its_model(page: Any) -> None:
    assert opened(page, model="nli")["pair"] == PAIR.pair


def test_the_address_brings_back_an_own_pair(page: Any) -> None:
    found = opened(page, text="mine", pair="yours", model="nli")
    assert (found["text"], found["pair"], found["example"]) == ("mine", "yours", OWN_TEXT)
    state.to_address(asked(page))
    assert (page.query_params["text"], page.query_params["pair"]) == ("mine", "yours")


def test_half_a_pair_comes_back_as_it_was(page: Any) -> None:
    found = opened(page, pair="yours", model="nli")
    assert (found["text"], found["pair"], found["example"]) == ("", "yours", OWN_TEXT)


def test_a_pair_with_a_long_text_is_not_put_into_the_address_at_all(page: Any) -> None:
    opened(page, text="mine", pair="x" * 401, model="nli")
    state.to_address(asked(page))
    assert not {"text", "pair"} & page.query_params.keys()
    assert state.left_out_of_address() == "text"


def test_the_second_text_is_remembered_while_nobody_asks_for_it(page: Any) -> None:
    found = opened(page, text="mine", pair="yours")
    state.to_address(Example("mine"))
    assert "pair" not in page.query_params
    del found["text"], found["pair"]  # as Streamlit does when the boxes are not drawn
    state.begin()
    assert (found["text"], found["pair"]) == ("mine", "yours")


def test_the_address_brings_back_example_and_removed_words(page: Any) -> None:
    found = opened(page, example=SECOND.title, removed="1.4")
    assert (found["text"], found["removed"]) == (SECOND.text, (1, 4))


def test_the_address_brings_back_an_own_text(page: Any) -> None:
    found = opened(page, text="mine <b>", example=SECOND.title)
    assert (found["text"], found["example"]) == ("mine <b>", OWN_TEXT)


def test_an_unknown_example_is_the_first_one(page: Any) -> None:
    assert opened(page, example="no such")["text"] == FIRST.text


@pytest.mark.parametrize(
    ("given", "removed"),
    [
        ("", ()),
        ("2", (2,)),
        ("a.1.-3.x", (1,)),
        ("²", ()),
        ("٣", ()),
        ("9" * 5000, ()),
        ("1..2.", (1, 2)),
        ("1.5e3", (1,)),
    ],
    ids=str,
)
def test_whatever_stands_in_the_address_as_removed_is_read_or_passed_over(
    page: Any, given: str, removed: tuple[int, ...]
) -> None:
    assert opened(page, removed=given)["removed"] == removed


def test_a_session_that_has_begun_keeps_its_text(page: Any) -> None:
    opened(page)["text"] = "changed"
    assert opened(page, example=SECOND.title)["text"] == "changed"


def test_choosing_an_example_replaces_the_text_and_brings_words_back(page: Any) -> None:
    found = opened(page, removed="3")
    found["example"] = SECOND.title
    state.example_chosen()
    assert (found["text"], found["removed"]) == (SECOND.text, ())


def test_choosing_the_own_text_leaves_what_is_there(page: Any) -> None:
    found = opened(page, removed="3")
    found["example"] = OWN_TEXT
    state.example_chosen()
    assert (found["text"], found["removed"]) == (FIRST.text, (3,))


def test_typing_makes_it_the_own_text_and_brings_words_back(page: Any) -> None:
    found = opened(page, removed="3")
    found["text"] = "mine"
    state.text_changed()
    assert (found["example"], found["removed"]) == (OWN_TEXT, ())


def test_typing_the_example_itself_leaves_it_an_example(page: Any) -> None:
    found = opened(page)
    state.text_changed()
    assert found["example"] == FIRST.title


def test_a_click_removes_a_unit_and_the_next_one_brings_it_back(page: Any) -> None:
    found = opened(page)
    for clicked, removed in ((5, (5,)), (2, (2, 5)), (5, (2,)), (None, (2,)), (2, ())):
        found["cards"] = {"toggled": clicked}
        state.unit_clicked()
        assert found["removed"] == removed


def test_all_words_come_back_at_once(page: Any) -> None:
    found = opened(page, removed="1.2")
    state.bring_back()
    assert found["removed"] == ()


def test_the_address_carries_a_short_own_text_and_removed_words(page: Any) -> None:
    found = opened(page, text="mine", removed="1.2")
    state.to_address(asked(page))
    assert page.query_params == {"text": "mine", "removed": "1.2"}
    found["removed"] = ()
    state.to_address(asked(page))
    assert page.query_params == {"text": "mine"}


def test_the_address_names_an_example_and_does_not_repeat_its_text(page: Any) -> None:
    opened(page)
    state.to_address(asked(page))
    assert page.query_params == {}
    assert not state.left_out_of_address()


@pytest.mark.parametrize(("length", "carried"), [(400, True), (401, False)])
def test_a_long_text_is_not_put_into_the_address(page: Any, length: int, carried: bool) -> None:
    opened(page, text="x" * length)
    state.to_address(asked(page))
    assert ("text" in page.query_params) is carried
    assert (state.left_out_of_address() == "") is carried


def test_what_the_address_carries_opens_the_same_page(page: Any) -> None:
    before = dict(opened(page, text="«naïve» & <b> 🎬", removed="1"))
    state.to_address(asked(page))
    page.session_state.clear()
    assert opened(page) == before


SCENE = next(sample for sample in samples() if sample.model == "scenes")


def test_every_example_of_a_model_of_pictures_has_a_picture_and_says_why_it_is_there() -> None:
    of_scenes = [sample for sample in samples() if sample.model == "scenes"]
    assert len(of_scenes) >= 8
    assert all(sample.picture and sample.why and sample.explanations and sample.evidence for sample in of_scenes)
    assert {sample.model for sample in samples() if sample.picture} == {"scenes"}


def test_a_model_of_pictures_without_examples_offers_those_with_pictures() -> None:
    assert set(state.titles("owner/model", pictured=True)) == {*state.titles("scenes")}


def test_an_example_brings_its_picture_and_the_address_does_not_repeat_it(page: Any) -> None:
    found = opened(page, model="scenes")
    assert (found["text"], found["picture"]) == (SCENE.text, SCENE.title)
    state.to_address(Example(SCENE.text, picture=Picture(b"any")))
    assert "picture" not in page.query_params


def test_another_text_keeps_the_picture_and_the_address_names_it(page: Any) -> None:
    found = opened(page, model="scenes", example=SCENE.title)
    found["text"] = "mine"
    state.text_changed()
    assert (found["example"], found["picture"]) == (OWN_TEXT, SCENE.title)
    state.to_address(Example("mine", picture=Picture(b"any")))
    assert (page.query_params["text"], page.query_params["picture"]) == ("mine", SCENE.title)


@pytest.mark.parametrize(
    ("given", "kept"), [("scene 17", "scene 17"), (SCENE.title, SCENE.title), ("../x", ""), (FIRST.title, ""), ("", "")]
)
def test_the_address_brings_back_a_picture_that_has_a_name(page: Any, given: str, kept: str) -> None:
    assert opened(page, model="scenes", text="mine", picture=given).get("picture", "") == kept


@pytest.mark.parametrize(("text", "left_out"), [("mine", "picture"), ("x" * 401, "text and picture")])
def test_an_own_picture_is_not_in_the_address(page: Any, text: str, left_out: str) -> None:
    found = opened(page, model="scenes", text=text)
    state.picture_given(OWN_PICTURE)
    assert found["text"] == text
    state.to_address(Example(text, picture=Picture(b"any")))
    assert "picture" not in page.query_params
    assert state.left_out_of_address() == left_out


def test_a_picture_is_not_in_the_address_of_a_model_of_texts(page: Any) -> None:
    opened(page, model="scenes", text="mine", picture="scene 3")
    state.to_address(Example("mine"))
    assert page.query_params.get("picture", "") == ""
