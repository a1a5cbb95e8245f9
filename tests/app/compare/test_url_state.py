from types import SimpleNamespace
from typing import Any

import pytest

from app.compare import url_state
from app.compare.curated_examples import OWN_TEXT, curated_examples, titles
from app.compare.url_state import OWN_IMAGE
from explainers.datasets.example import Example
from explainers.datasets.image import InputImage

FIRST, SECOND = curated_examples()[:2]
PAIR = next(sample for sample in curated_examples() if sample.model == "nli")


@pytest.fixture
def page(query: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """What Streamlit remembers of a session, and the address."""
    state = SimpleNamespace(session_state={}, query_params=query)
    monkeypatch.setattr(url_state, "st", state)
    return state


def opened(page: Any, **address: str) -> dict[str, Any]:
    page.query_params.update(address)
    url_state.begin()
    page.session_state.setdefault("example", address.get("example", FIRST.title))  # the widget's own value
    remembered: dict[str, Any] = page.session_state
    return remembered


def explained(page: Any) -> Example:
    """The input in the boxes: an empty second text is none."""
    return Example(page.session_state["text"], page.session_state["pair"] or None)


def test_a_session_opens_with_the_first_example(page: Any) -> None:
    state = opened(page)
    assert (state["text"], state["removed"]) == (FIRST.text, ())


def test_titles_are_unique_and_every_example_has_a_text() -> None:
    every = [sample.title for sample in curated_examples()]
    assert len(set(every)) == len(every)
    assert all(sample.text.strip() for sample in curated_examples())
    assert all((sample.pair is not None) == (sample.model == "nli") for sample in curated_examples())


@pytest.mark.parametrize(
    ("model", "offered"),
    [("sst2", {"sst2"}), ("sst2-ivra-comp", {"sst2"}), ("nli", {"nli"}), ("owner/model", {"sst2", "nli"})],
)
def test_a_model_offers_its_own_examples_and_one_without_any_all(model: str, offered: set[str]) -> None:
    assert titles(model) == [*(each.title for each in curated_examples() if each.model in offered), OWN_TEXT]


def test_choosing_a_model_brings_its_first_example(page: Any) -> None:
    state = opened(page, removed="1")
    url_state.model_chosen("sst2-ivra-comp")
    assert (state["example"], state["removed"]) == (FIRST.title, (1,))
    url_state.model_chosen("nli")
    assert (state["example"], state["text"], state["pair"], state["removed"]) == (PAIR.title, *PAIR.texts, ())
    url_state.model_chosen("sst2")
    assert (state["text"], state["pair"]) == (FIRST.text, "")


def test_choosing_a_model_leaves_an_own_text(page: Any) -> None:
    state = opened(page, text="mine")
    url_state.model_chosen("nli")
    assert (state["example"], state["text"], state["pair"]) == (OWN_TEXT, "mine", "")


def test_the_address_brings_the_first_example_of_its_model(page: Any) -> None:
    assert opened(page, model="nli")["pair"] == PAIR.pair


def test_the_address_brings_back_an_own_pair(page: Any) -> None:
    state = opened(page, text="mine", pair="yours", model="nli")
    assert (state["text"], state["pair"], state["example"]) == ("mine", "yours", OWN_TEXT)
    url_state.to_address(explained(page))
    assert (page.query_params["text"], page.query_params["pair"]) == ("mine", "yours")


def test_half_a_pair_comes_back_as_it_was(page: Any) -> None:
    state = opened(page, pair="yours", model="nli")
    assert (state["text"], state["pair"], state["example"]) == ("", "yours", OWN_TEXT)


def test_a_pair_with_a_long_text_is_not_put_into_the_address_at_all(page: Any) -> None:
    opened(page, text="mine", pair="x" * 401, model="nli")
    url_state.to_address(explained(page))
    assert not {"text", "pair"} & page.query_params.keys()
    assert url_state.left_out_of_address() == "text"


def test_the_second_text_is_remembered_while_nobody_asks_for_it(page: Any) -> None:
    state = opened(page, text="mine", pair="yours")
    url_state.to_address(Example("mine"))
    assert "pair" not in page.query_params
    del state["text"], state["pair"]  # as Streamlit does when the boxes are not drawn
    url_state.begin()
    assert (state["text"], state["pair"]) == ("mine", "yours")


def test_the_address_brings_back_example_and_removed_words(page: Any) -> None:
    state = opened(page, example=SECOND.title, removed="1.4")
    assert (state["text"], state["removed"]) == (SECOND.text, (1, 4))


def test_the_address_brings_back_an_own_text(page: Any) -> None:
    state = opened(page, text="mine <b>", example=SECOND.title)
    assert (state["text"], state["example"]) == ("mine <b>", OWN_TEXT)


def test_an_unknown_example_is_the_first_one(page: Any) -> None:
    assert opened(page, example="no such")["text"] == FIRST.text


@pytest.mark.parametrize(
    ("address", "removed"),
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
    page: Any, address: str, removed: tuple[int, ...]
) -> None:
    assert opened(page, removed=address)["removed"] == removed


def test_a_session_that_has_begun_keeps_its_text(page: Any) -> None:
    opened(page)["text"] = "changed"
    assert opened(page, example=SECOND.title)["text"] == "changed"


def test_choosing_an_example_replaces_the_text_and_brings_words_back(page: Any) -> None:
    state = opened(page, removed="3")
    state["example"] = SECOND.title
    url_state.example_chosen()
    assert (state["text"], state["removed"]) == (SECOND.text, ())


def test_choosing_the_own_text_leaves_what_is_there(page: Any) -> None:
    state = opened(page, removed="3")
    state["example"] = OWN_TEXT
    url_state.example_chosen()
    assert (state["text"], state["removed"]) == (FIRST.text, (3,))


def test_typing_makes_it_the_own_text_and_brings_words_back(page: Any) -> None:
    state = opened(page, removed="3")
    state["text"] = "mine"
    url_state.text_changed()
    assert (state["example"], state["removed"]) == (OWN_TEXT, ())


def test_typing_the_example_itself_leaves_it_an_example(page: Any) -> None:
    state = opened(page)
    url_state.text_changed()
    assert state["example"] == FIRST.title


def test_a_click_removes_a_unit_and_the_next_one_brings_it_back(page: Any) -> None:
    state = opened(page)
    for moment, (unit, removed) in enumerate(((5, (5,)), (2, (2, 5)), (5, (2,)), (2, ()))):
        state["sheet"] = {"toggled": {"unit": unit, "moment": moment}}
        for _ in range(2):  # delivered twice
            url_state.unit_clicked()
            assert state["removed"] == removed
    state["sheet"] = {"toggled": None}
    url_state.unit_clicked()
    assert state["removed"] == ()


def test_the_address_is_written_only_where_it_changes(page: Any) -> None:
    state, written = opened(page, text="mine"), list[list[str]]()

    class Watched(dict[str, str]):
        def update(self, values: dict[str, str]) -> None:  # type: ignore[override]
            written.append(sorted(values))
            super().update(values)

    page.query_params = Watched(page.query_params)
    for _ in range(2):
        url_state.to_address(explained(page))
    assert written == []
    state["removed"] = (1,)
    for _ in range(2):
        url_state.to_address(explained(page))
    assert written == [["removed"]]
    state["removed"], state["view"] = (2,), "matrix"
    url_state.to_address(explained(page))
    assert written[1:] == [["removed", "view"]]  # two changes are one step of the browser's history


def test_all_words_come_back_at_once(page: Any) -> None:
    state = opened(page, removed="1.2")
    url_state.restore_all()
    assert state["removed"] == ()


def test_the_address_carries_a_short_own_text_and_removed_words(page: Any) -> None:
    state = opened(page, text="mine", removed="1.2")
    url_state.to_address(explained(page))
    assert page.query_params == {"text": "mine", "removed": "1.2"}
    state["removed"] = ()
    url_state.to_address(explained(page))
    assert page.query_params == {"text": "mine"}


def test_the_address_names_an_example_and_does_not_repeat_its_text(page: Any) -> None:
    opened(page)
    url_state.to_address(explained(page))
    assert page.query_params == {}
    assert not url_state.left_out_of_address()


@pytest.mark.parametrize(("length", "carried"), [(400, True), (401, False)])
def test_a_long_text_is_not_put_into_the_address(page: Any, length: int, carried: bool) -> None:
    opened(page, text="x" * length)
    url_state.to_address(explained(page))
    assert ("text" in page.query_params) is carried
    assert (url_state.left_out_of_address() == "") is carried


def test_back_brings_a_long_text_that_the_session_still_has(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * 401
    state = opened(page, text=long)
    url_state.to_address(explained(page))
    there = dict(page.query_params)
    monkeypatch.setattr(url_state, "stepped_back", lambda: True)
    page.query_params.clear()
    page.query_params["text"] = "short"
    url_state.begin()
    assert state["text"] == "short"
    page.query_params.clear()
    page.query_params.update(there)
    url_state.begin()
    assert (state["text"], state["example"]) == (long, OWN_TEXT)


def test_the_address_of_a_long_text_says_in_another_session_that_it_has_none(
    page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[str] = []
    monkeypatch.setattr(url_state.address_check, "note", lambda _name, sentence: noted.append(sentence))
    assert opened(page, own="0123abcd")["text"] == FIRST.text
    assert noted == ["The text of this address was too long for it. Paste the text to see the same page."]


def test_what_the_address_carries_opens_the_same_page(page: Any) -> None:
    before = dict(opened(page, text="«naïve» & <b> 🎬", removed="1"))
    url_state.to_address(explained(page))
    page.session_state.clear()
    assert opened(page) == before


SCENE = next(sample for sample in curated_examples() if sample.model == "scenes")


def test_every_example_of_a_multimodal_model_has_an_image_and_says_why_it_is_there() -> None:
    of_scenes = [sample for sample in curated_examples() if sample.model == "scenes"]
    assert len(of_scenes) >= 8
    assert all(sample.image and sample.why and sample.explanations and sample.evidence for sample in of_scenes)
    assert {sample.model for sample in curated_examples() if sample.image} == {"scenes"}


def test_a_multimodal_model_without_examples_offers_those_with_images() -> None:
    assert set(titles("owner/model", multimodal=True)) == {*titles("scenes")}


def test_an_example_brings_its_image_and_the_address_does_not_repeat_it(page: Any) -> None:
    state = opened(page, model="scenes")
    assert (state["text"], state["picture"]) == (SCENE.text, SCENE.title)
    url_state.to_address(Example(SCENE.text, image=InputImage(b"any")))
    assert "picture" not in page.query_params


def test_another_text_keeps_the_image_and_the_address_names_it(page: Any) -> None:
    state = opened(page, model="scenes", example=SCENE.title)
    state["text"] = "mine"
    url_state.text_changed()
    assert (state["example"], state["picture"]) == (OWN_TEXT, SCENE.title)
    url_state.to_address(Example("mine", image=InputImage(b"any")))
    assert (page.query_params["text"], page.query_params["picture"]) == ("mine", SCENE.title)


@pytest.mark.parametrize(
    ("address", "kept"),
    [("scene 17", "scene 17"), (SCENE.title, SCENE.title), ("../x", ""), ("other 17", ""), (FIRST.title, ""), ("", "")],
)
def test_the_address_brings_back_an_image_that_has_a_name(page: Any, address: str, kept: str) -> None:
    assert opened(page, model="scenes", text="mine", picture=address).get("picture", "") == kept


@pytest.mark.parametrize(("text", "left_out"), [("mine", "picture"), ("x" * 401, "text and picture")])
def test_an_own_image_is_not_in_the_address(page: Any, text: str, left_out: str) -> None:
    state = opened(page, model="scenes", text=text)
    url_state.image_changed(OWN_IMAGE)
    assert state["text"] == text
    url_state.to_address(Example(text, image=InputImage(b"any")))
    assert "picture" not in page.query_params
    assert url_state.left_out_of_address() == left_out


def test_an_image_is_not_in_the_address_of_a_text_model(page: Any) -> None:
    opened(page, model="scenes", text="mine", picture="scene 3")
    url_state.to_address(Example("mine"))
    assert page.query_params.get("picture", "") == ""
