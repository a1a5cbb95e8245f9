from collections.abc import Mapping
from typing import Any

import pytest

from app import session
from app.compare.kept_inputs import IMAGE_NAME, TEXTS_NAME, name_of, remember_texts
from app.compare.state import IMAGE_NOT_HERE, NOT_HERE, OWN_IMAGE
from app.compare.stored_results import OWN_TEXT, curated_examples, titles
from app.model_pool import first_model
from explainers.datasets.example import InputImage
from tests.app.compare.conftest import ask, opened
from tests.app.conftest import Address

FIRST, SECOND = curated_examples()[:2]
PAIR = next(sample for sample in curated_examples() if sample.model == "nli")


def clicked(page: Any, name: str, value: object) -> None:
    page.session_state["sheet"] = {name: value}


def test_a_session_opens_with_the_first_example(page: Any) -> None:
    state = opened(page)
    assert (state.controls.text, state.controls.removed) == (FIRST.text, ())


def test_titles_are_unique_and_every_example_has_a_text() -> None:
    every = [(sample.model, sample.title) for sample in curated_examples()]
    assert len(set(every)) == len(every)
    inputs = {(sample.title, sample.text, sample.pair, sample.image) for sample in curated_examples()}
    assert len(inputs) == len({title for _, title in every})  # a title is one input, whichever model answers it
    assert all(sample.text.strip() for sample in curated_examples())
    assert all((sample.pair is not None) == (sample.model == "nli") for sample in curated_examples())


@pytest.mark.parametrize(
    ("model", "offered"),
    [
        ("sst2", {"sst2"}),
        ("sst2-ivra-comp", {"sst2"}),
        ("nli", {"nli"}),
        ("smollm2:completion", {"smollm2:completion"}),
        ("owner/model", {"sst2", "nli"}),
    ],
)
def test_a_model_offers_its_own_examples_and_one_without_any_all(model: str, offered: set[str]) -> None:
    assert titles(model) == [*(example.title for example in curated_examples() if example.model in offered), OWN_TEXT]


def test_choosing_a_model_brings_its_first_example(page: Any) -> None:
    state = opened(page, removed="1")
    state.change(model="sst2-ivra-comp")
    state.model_chosen()
    assert (state.controls.example, state.controls.removed) == (FIRST.title, (1,))
    state.change(model="nli")
    state.model_chosen()
    assert (state.controls.example, state.controls.texts, state.controls.removed) == (PAIR.title, PAIR.texts, ())
    state.change(model="sst2")
    state.model_chosen()
    assert (state.controls.text, state.controls.pair) == (FIRST.text, "")


def test_choosing_a_model_leaves_an_own_text(page: Any) -> None:
    state = opened(page, text="mine")
    state.change(model="nli")
    state.model_chosen()
    assert (state.controls.example, state.controls.text, state.controls.pair) == (OWN_TEXT, "mine", "")


def test_the_address_brings_the_first_example_of_its_model(page: Any) -> None:
    assert opened(page, model="nli").controls.pair == PAIR.pair


def test_the_address_brings_back_an_own_pair(page: Any) -> None:
    state = opened(page, text="mine", pair="yours", model="nli")
    assert (state.controls.text, state.controls.pair, state.controls.example) == ("mine", "yours", OWN_TEXT)
    ask(state)
    assert (page.query_params["text"], page.query_params["pair"]) == ("mine", "yours")


def test_half_a_pair_comes_back_as_it_was(page: Any) -> None:
    state = opened(page, pair="yours", model="nli")
    assert (state.controls.text, state.controls.pair, state.controls.example) == ("", "yours", OWN_TEXT)


def test_a_pair_with_a_long_text_is_not_put_into_the_address_at_all(page: Any) -> None:
    state = opened(page, text="mine", pair="x" * 401, model="nli")
    ask(state)
    assert not {"text", "pair"} & page.query_params.keys()
    assert state.left_out == "text"


def test_the_second_text_is_remembered_while_nobody_asks_for_it(page: Any) -> None:
    state = opened(page, text="mine", pair="yours")
    ask(state, pair=False)
    assert "pair" not in page.query_params
    state.begin()
    assert state.controls.texts == ("mine", "yours")


def test_the_address_brings_back_example_and_removed_words(page: Any) -> None:
    state = opened(page, example=SECOND.title, removed="1.4")
    assert (state.controls.text, state.controls.removed) == (SECOND.text, (1, 4))


def test_the_address_brings_back_an_own_text(page: Any) -> None:
    state = opened(page, text="mine <b>", example=SECOND.title)
    assert (state.controls.text, state.controls.example) == ("mine <b>", OWN_TEXT)


def test_an_unknown_example_is_the_first_one(page: Any) -> None:
    assert opened(page, example="no such").controls.text == FIRST.text


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
    assert opened(page, removed=address).controls.removed == removed


def test_a_session_that_has_begun_keeps_its_text(page: Any) -> None:
    opened(page).change(text="changed")
    assert opened(page, example=SECOND.title).controls.text == "changed"


def test_a_link_from_another_page_brings_what_it_names_and_leaves_the_rest(page: Any) -> None:
    state = opened(page, seed="7", text="mine")
    ask(state)
    page.query_params.clear()
    session.visit().page = "another"
    opened(page, model="nli", variants="AML (comp)")
    assert (state.controls.model, state.controls.variants) == ("nli", ("AML (comp)",))
    assert (state.controls.seed, state.controls.text) == (7, "mine")


def test_the_model_of_another_page_comes_along(page: Any) -> None:
    state = opened(page)
    session.visit().page, session.visit().model = "another", "nli"
    assert opened(page).controls.model == "nli"
    assert state.controls.texts == PAIR.texts


def test_choosing_an_example_replaces_the_text_and_brings_words_back(page: Any) -> None:
    state = opened(page, removed="3")
    state.change(example=SECOND.title)
    state.example_chosen()
    assert (state.controls.text, state.controls.removed) == (SECOND.text, ())


def test_choosing_the_own_text_leaves_what_is_there(page: Any) -> None:
    state = opened(page, removed="3")
    state.change(example=OWN_TEXT)
    state.example_chosen()
    assert (state.controls.text, state.controls.removed) == (FIRST.text, (3,))


def test_typing_makes_it_the_own_text_and_brings_words_back(page: Any) -> None:
    state = opened(page, removed="3")
    state.change(text="mine")
    state.text_changed()
    assert (state.controls.example, state.controls.removed) == (OWN_TEXT, ())


def test_typing_the_example_itself_leaves_it_an_example(page: Any) -> None:
    state = opened(page)
    state.text_changed()
    assert state.controls.example == FIRST.title


def test_a_click_removes_a_unit_and_the_next_one_brings_it_back(page: Any) -> None:
    state = opened(page)
    for moment, (unit, removed) in enumerate(((5, (5,)), (2, (2, 5)), (5, (2,)), (2, ()))):
        clicked(page, "toggled", {"unit": unit, "moment": moment})
        for _ in range(2):  # delivered twice
            state.unit_clicked()
            assert state.controls.removed == removed
    clicked(page, "toggled", None)
    state.unit_clicked()
    assert state.controls.removed == ()


def test_the_address_is_written_only_where_it_changes(page: Any) -> None:
    state, written = opened(page, text="mine"), list[list[str]]()

    class Watched(Address):
        def update(self, values: Mapping[str, str | list[str]] = {}) -> None:  # type: ignore[override]
            written.append(sorted(values))
            super().update(values)

    page.query_params = Watched(page.query_params)
    for _ in range(2):
        ask(state)
    assert written == []
    state.change(removed=(1,))
    for _ in range(2):
        ask(state)
    assert written == [["removed"]]
    state.change(removed=(2,), view="matrix")
    ask(state)
    assert written[1:] == [["removed", "view"]]  # two changes are one step of the browser's history


def test_all_words_come_back_at_once(page: Any) -> None:
    state = opened(page, removed="1.2")
    state.restore_all()
    assert state.controls.removed == ()


def test_the_address_carries_a_short_own_text_and_removed_words(page: Any) -> None:
    state = opened(page, text="mine", removed="1.2")
    ask(state)
    assert page.query_params == {"text": "mine", "removed": "1.2"}
    state.change(removed=())
    ask(state)
    assert page.query_params == {"text": "mine"}


def test_the_address_names_an_example_and_does_not_repeat_its_text(page: Any) -> None:
    state = opened(page)
    ask(state)
    assert page.query_params == {}
    assert not state.left_out


@pytest.mark.parametrize(("length", "carried"), [(400, True), (401, False)])
def test_a_long_text_is_not_put_into_the_address(page: Any, length: int, carried: bool) -> None:
    state = opened(page, text="x" * length)
    ask(state)
    assert ("text" in page.query_params) is carried
    assert (state.left_out == "") is carried


def test_back_brings_a_long_text_that_the_session_still_has(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * 401
    state = opened(page, text=long)
    ask(state)
    there = dict(page.query_params)
    monkeypatch.setattr(session.streamlit_shims, "is_history_navigation", lambda: True)
    page.query_params.clear()
    page.query_params["text"] = "short"
    state.begin()
    assert state.controls.text == "short"
    page.query_params.clear()
    page.query_params.update(there)
    state.begin()
    assert (state.controls.text, state.controls.example) == (long, OWN_TEXT)


def test_back_to_an_address_without_a_model_is_back_to_the_first(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    state = opened(page)
    ask(state)
    state.change(model="nli")
    state.model_chosen()
    ask(state)
    assert page.query_params == {"model": "nli"}
    monkeypatch.setattr(session.streamlit_shims, "is_history_navigation", lambda: True)
    page.query_params.clear()
    state.begin()
    assert (state.controls.model, state.controls.text) == (first_model(), FIRST.text)


VERY_LONG = "A film without an end. " * 30


def test_the_address_of_a_long_text_says_in_another_session_that_it_has_none(page: Any) -> None:
    state = opened(page, own="0123abcd")
    assert state.controls.text == FIRST.text
    assert list(state.problems.values()) == [NOT_HERE]


def test_another_session_finds_a_long_text_that_the_server_keeps(page: Any) -> None:
    state = opened(page, text=VERY_LONG, pair="yours", model="nli", removed="2.3")
    ask(state)
    assert VERY_LONG not in str(page.query_params)
    page.session_state.clear()
    again = opened(page)
    assert again is not state
    assert (again.controls, again.problems) == (state.controls, {})


def test_another_page_links_to_a_long_text(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    state = opened(page)
    ask(state)
    page.query_params.clear()
    page.query_params.update({"model": "sst2", TEXTS_NAME: remember_texts((VERY_LONG, ""))})
    monkeypatch.setattr(session, "came_from_another_page", lambda: True)
    state.begin()
    assert (state.controls.text, state.controls.example) == (VERY_LONG, OWN_TEXT)


def test_what_an_address_says_of_a_long_text_waits_until_the_text_is_pasted(page: Any) -> None:
    state = opened(page, own=name_of((VERY_LONG, "")), removed="2.3", opened="1")
    assert (state.controls.removed, state.controls.opened) == ((), ())  # nothing of it belongs to the first example
    state.change(text="another text")
    state.text_changed()
    assert (state.controls.removed, state.controls.opened) == ((), ())
    state.change(text=VERY_LONG)
    state.text_changed()
    assert (state.controls.removed, state.controls.opened) == ((2, 3), (1,))
    assert {"removed", "opened"} <= state.unchecked  # how the text is cut today is not known yet
    state.text_changed()
    assert (state.controls.removed, state.controls.opened) == ((), ())  # once


def test_what_the_address_carries_opens_the_same_page(page: Any) -> None:
    state = opened(page, text="«naïve» & <b> 🎬", removed="1")
    ask(state)
    page.session_state.clear()
    assert opened(page).controls == state.controls


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
    assert (state.controls.text, state.controls.picture) == (SCENE.text, SCENE.title)
    ask(state, InputImage(b"any"))
    assert "picture" not in page.query_params


def test_another_text_keeps_the_image_and_the_address_names_it(page: Any) -> None:
    state = opened(page, model="scenes", example=SCENE.title)
    state.change(text="mine")
    state.text_changed()
    assert (state.controls.example, state.controls.picture) == (OWN_TEXT, SCENE.title)
    ask(state, InputImage(b"any"))
    assert (page.query_params["text"], page.query_params["picture"]) == ("mine", SCENE.title)


@pytest.mark.parametrize(
    ("address", "kept"),
    [("scene 17", "scene 17"), (SCENE.title, SCENE.title), ("../x", ""), ("other 17", ""), (FIRST.title, ""), ("", "")],
)
def test_the_address_brings_back_an_image_that_has_a_name(page: Any, address: str, kept: str) -> None:
    assert opened(page, model="scenes", text="mine", picture=address).controls.picture == kept


@pytest.mark.parametrize(("text", "left_out"), [("mine", "picture"), ("x" * 401, "text and picture")])
def test_an_own_image_is_not_in_the_address(page: Any, text: str, left_out: str) -> None:
    state = opened(page, model="scenes", text=text)
    state.image_changed(OWN_IMAGE)
    assert state.controls.text == text
    ask(state, InputImage(b"any"))
    assert "picture" not in page.query_params
    assert state.left_out == left_out


def test_another_session_finds_an_own_image_that_the_server_keeps(page: Any) -> None:
    state, image = opened(page, model="scenes", text="mine", removed="50"), InputImage(b"any")
    state.change(own_image=image)
    state.image_changed(OWN_IMAGE)
    state.change(removed=(50,))
    ask(state, image)
    page.session_state.clear()
    again = opened(page)
    assert again.image() == image
    assert (again.controls, again.problems) == (state.controls, {})
    page.session_state.clear()
    page.query_params[IMAGE_NAME] = "0" * 32
    lost = opened(page)
    assert (lost.controls.text, lost.controls.removed, lost.image()) == ("mine", (), None)
    assert list(lost.problems.values()) == [IMAGE_NOT_HERE]


def test_an_image_is_not_in_the_address_of_a_text_model(page: Any) -> None:
    state = opened(page, model="scenes", text="mine", picture="scene 3")
    ask(state)
    assert page.query_params.get("picture", "") == ""


@pytest.mark.parametrize("heard", [True, False])
def test_a_value_that_was_undone_may_be_chosen_again_once_the_browser_has_heard_of_it(page: Any, heard: bool) -> None:
    state = opened(page, top="10")
    drawn = state.widget("top"), state.widget("text")
    state.change(top=20)  # by Undo
    for _ in range(2 if heard else 1):  # a browser that has heard sends 20 with what it asks for next
        drawn = state.widget("top"), state.widget("text")
    page.session_state.update({"top": 10, "text": "mine"})  # in one message
    for arguments in drawn:
        arguments["on_change"](*arguments["args"])
    assert (state.controls.top, state.controls.text) == (10 if heard else 20, "mine")


@pytest.mark.parametrize(("given", "taken"), [("0", 0), ("50", 50), ("5000", 5000)])
def test_numbers_of_samples_in_an_address(page: Any, given: str, taken: int) -> None:
    state = opened(page, samples=given)
    assert (state.controls.samples, state.problems) == (taken, {})


@pytest.mark.parametrize("wrong", ["3", "49", "-1", "5001", "many"])
def test_too_few_samples_in_an_address_are_a_sentence(page: Any, wrong: str) -> None:
    state = opened(page, samples=wrong)
    assert state.controls.samples == 0
    assert list(state.problems.values()) == [
        f"The address names the samples “{wrong}”, which is not available here. Choose another one."
    ]


@pytest.mark.parametrize(("name", "noun"), [("class", "class"), ("erase", "erasure operator"), ("learned", "method")])
def test_what_the_address_names_and_nobody_offers_is_a_sentence_once(page: Any, name: str, noun: str) -> None:
    state = opened(page, **{name: "x"})
    control = {"class": "class_"}.get(name, name)
    for _ in range(2):
        state.widget(control, options=("a", "b"))
        assert list(state.problems.values()) == [
            f"The address names the {noun} “x”, which is not available here. Choose another one."
        ]
    assert getattr(state.controls, control) == session.default_of(state.controls, control)
    state.change(**{control: ("y",) if control == "learned" else "y"})  # chosen by a person, for another model
    state.problems = {}
    state.widget(control, options=("a", "b"))
    assert not state.problems


def test_the_sentence_about_units_that_do_not_exist_stays_for_the_run_that_follows(
    page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "rerun", lambda scope: None, raising=False)
    state = opened(page, removed="0.999")
    ask(state)
    state.drop_unknown_units(17)
    state.begin()
    ask(state)
    assert state.controls.removed == (0,)
    assert state.problems["removed"].endswith("the input has 17.")
    assert state.steps == []


@pytest.mark.parametrize("correction", [None, "corrected"])
def test_a_text_that_arrives_while_the_run_before_still_draws_the_box_stays(
    page: Any, monkeypatch: pytest.MonkeyPatch, correction: str | None
) -> None:
    state = opened(page)

    def meanwhile(value: Any, _default: Any) -> Any:
        state.change(text="pasted")  # in the run that replaces this one
        return correction or value

    monkeypatch.setattr(session, "_or_default", meanwhile)
    state.widget("text")
    assert state.controls.text == "pasted"


def test_two_runs_of_a_session_change_controls_one_after_the_other(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    state, made, alone = opened(page), session.replace, []

    def noting(controls: Any, **changes: Any) -> Any:
        alone.append(state.changing.locked())
        return made(controls, **changes)

    monkeypatch.setattr(session, "replace", noting)
    state.change(opened=(), sentences=0)  # as every run does
    assert alone == [True]
