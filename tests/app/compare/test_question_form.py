"""What becomes of an image that is pasted, and which images have a name."""

import base64
from types import SimpleNamespace
from typing import Any

import pytest

from app import session
from app.compare import question_form
from app.compare import state as compare
from app.compare.question_form import MEGABYTES, TOO_LARGE
from app.compare.state import OWN_IMAGE, CompareState, compare_state
from app.compare.stored_results import (
    OWN_TEXT,
    curated_examples,
    example_of,
    generated_example,
)
from app.components import ASSETS
from explainers.datasets.example import Example
from explainers.datasets.scenes.nlvr import recover_scene
from explainers.datasets.scenes.statement_parser import parse_statement

SAMPLE = next(sample for sample in curated_examples() if sample.image)
REFERENCE = example_of(SAMPLE)


@pytest.fixture
def page(query: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """What Streamlit remembers of a session that looks at an example."""
    query |= {"model": SAMPLE.model, "example": SAMPLE.title}
    browser = SimpleNamespace(session_state={}, query_params=query)
    for module in (session, compare):
        monkeypatch.setattr(module, "st", browser)
    compare_state().begin()
    return browser


@pytest.fixture
def state(page: Any) -> CompareState:
    return compare_state()


def data_address(content: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def test_every_image_of_an_example_can_be_read_and_holds_its_evidence() -> None:
    for sample in curated_examples():
        if sample.image:
            example = example_of(sample)
            assert example.image is not None
            assert example.evidence is not None
            width, height = example.image.size
            assert all(right <= width and bottom <= height for _, _, right, bottom in example.evidence.boxes)
            assert all(example.text[start:end].strip() for start, end in example.evidence.words)


def test_the_correct_class_of_an_example_is_what_its_words_mean_of_its_image() -> None:
    compared = 0
    for sample in curated_examples():
        example = example_of(sample)
        if example.image is not None:
            meaning, scene = parse_statement(sample.text), recover_scene(example.image.pixels())
            assert scene is not None
            assert example.label is not None
            if meaning is not None:  # people's ways of saying it are, and some of the generator's
                assert meaning.judgement(scene).label == example.label
                compared += 1
    assert compared >= 3


def test_a_generated_example_is_the_same_every_time() -> None:
    first = generated_example("scene 5")
    generated_example.cache_clear()
    assert generated_example("scene 5") == first
    assert generated_example("scene 6") != first


def test_a_pasted_image_takes_the_place_of_the_one_before(page: Any, state: CompareState) -> None:
    other = generated_example("scene 1").image
    assert other is not None
    page.session_state["paste"] = {"pasted": data_address(other.content)}
    question_form.pasted()
    assert state.image() == other
    assert (state.controls.text, state.controls.example) == (SAMPLE.text, OWN_TEXT)
    assert state.controls.picture == OWN_IMAGE


def test_a_first_image_that_is_none_leaves_no_previous_one(state: CompareState) -> None:
    state.take_image(b"this is text")
    assert state.image_problem.endswith(" The previous image stays.")
    state.change(picture="")
    state.take_image(b"this is text")
    assert state.image_problem.startswith("The file cannot be read as an image.")
    assert "previous" not in state.image_problem


@pytest.mark.parametrize(
    ("pasted", "sentence"),
    [
        (f"too large {MEGABYTES}", TOO_LARGE),
        ("", TOO_LARGE),
        ("data:image/png;base64,%%%", TOO_LARGE),
        (data_address(b"this is text"), "The file cannot be read as an image."),
    ],
)
def test_what_is_no_image_is_reported_and_the_previous_one_stays(
    page: Any, state: CompareState, pasted: str, sentence: str
) -> None:
    page.session_state["paste"] = {"pasted": pasted}
    question_form.pasted()
    problem = state.image_problem
    assert problem.startswith(sentence)
    assert state.image() == REFERENCE.image
    assert problem.endswith("The previous image stays.") == (sentence != TOO_LARGE)
    for heals in (state.example_chosen, state.text_changed):
        state.image_problem = problem
        heals()
        assert not state.image_problem


def test_another_generated_example_follows_the_current_one(state: CompareState) -> None:
    state.next_generated("scene")
    assert (state.controls.picture, state.controls.text) == ("scene 1", generated_example("scene 1").text)
    state.next_generated("scene")
    assert state.controls.picture == "scene 2"
    state.image_changed(OWN_IMAGE)
    state.next_generated("scene")
    assert state.controls.picture == "scene 3"


def test_reasons_and_evidence_belong_to_text_and_image_together(state: CompareState) -> None:
    other = generated_example("scene 1")
    assert state.reference(Example(SAMPLE.text, image=REFERENCE.image)) == REFERENCE
    assert state.reference(Example(SAMPLE.text, image=other.image)) is None
    assert state.reference(Example("mine", image=REFERENCE.image)) is None
    state.change(picture="scene 1")
    assert state.reference(Example(other.text, image=other.image)) == other


def test_reasons_of_a_pair_are_known_too(state: CompareState) -> None:
    pair = next(sample for sample in curated_examples() if sample.pair and sample.explanations)
    example = state.reference(Example(pair.text, pair.pair))
    assert example is not None
    assert example.explanations == pair.explanations
    assert state.reference(Example(pair.text, "another hypothesis")) is None


@pytest.mark.usefixtures("page")
def test_a_component_sends_what_is_pasted_and_writes_no_html() -> None:
    script = (ASSETS / "paste.js").read_text()
    assert "innerHTML" not in script
    assert "insertAdjacentHTML" not in script
