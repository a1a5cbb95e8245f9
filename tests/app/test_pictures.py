"""What becomes of a picture that is pasted, and which pictures have a name."""

import base64
from types import SimpleNamespace
from typing import Any

import pytest

from app import pictures, state
from app.pictures import MEGABYTES, TOO_LARGE, of_sample, scene
from app.state import OWN_PICTURE, OWN_TEXT, samples
from explainers.datasets.example import Example
from explainers.datasets.scenes.seeing import scene_of
from explainers.datasets.scenes.understanding import understood

SAMPLE = next(sample for sample in samples() if sample.picture)
KNOWN = of_sample(SAMPLE)


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What Streamlit remembers of a session that looks at an example."""
    found = SimpleNamespace(session_state={}, query_params={"model": SAMPLE.model, "example": SAMPLE.title})
    monkeypatch.setattr(state, "st", found)
    monkeypatch.setattr(pictures, "st", found)
    state.begin()
    found.session_state["example"] = SAMPLE.title
    return found


def data_address(content: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def test_every_picture_of_an_example_can_be_read_and_holds_its_evidence() -> None:
    for sample in samples():
        if sample.picture:
            found = of_sample(sample)
            assert found.picture is not None
            assert found.evidence is not None
            width, height = found.picture.size
            assert all(right <= width and bottom <= height for _, _, right, bottom in found.evidence.boxes)
            assert all(found.text[start:end].strip() for start, end in found.evidence.words)


def test_the_right_class_of_an_example_is_what_its_words_mean_of_its_picture() -> None:
    looked = 0
    for sample in samples():
        found = of_sample(sample)
        if found.picture is not None:
            meaning, seen = understood(sample.text), scene_of(found.picture.pixels())
            assert seen is not None
            assert found.label is not None
            if meaning is not None:  # people's ways of saying it are, and some of the generator's
                assert meaning.judged(seen).label == found.label
                looked += 1
    assert looked >= 3


def test_a_generated_scene_is_the_same_every_time() -> None:
    first = scene("scene 5")
    scene.cache_clear()
    assert scene("scene 5") == first
    assert scene("scene 6") != first


def test_a_pasted_picture_takes_the_place_of_the_one_before(page: Any) -> None:
    other = scene("scene 1").picture
    assert other is not None
    page.session_state["paste"] = {"pasted": data_address(other.content)}
    pictures.pasted()
    assert pictures.current() == other
    assert (page.session_state["text"], page.session_state["example"]) == (SAMPLE.text, OWN_TEXT)
    assert page.session_state["picture"] == OWN_PICTURE


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (f"too large {MEGABYTES}", TOO_LARGE),
        ("", TOO_LARGE),
        ("data:image/png;base64,%%%", TOO_LARGE),
        (data_address(b"this is text"), "The file cannot be read as a picture."),
    ],
)
def test_what_is_no_picture_is_told_and_the_one_before_stays(page: Any, given: str, sentence: str) -> None:
    page.session_state["paste"] = {"pasted": given}
    pictures.pasted()
    assert page.session_state["picture problem"].startswith(sentence)
    assert pictures.current() == KNOWN.picture
    kept = page.session_state["picture problem"].endswith("The picture above is the one from before.")
    assert kept == (sentence != TOO_LARGE)
    before = dict(page.session_state)
    for heals in (state.example_chosen, state.text_changed):
        page.session_state.update(before)
        heals()
        assert not page.session_state["picture problem"]


def test_another_scene_goes_on_from_the_one_that_is_there(page: Any) -> None:
    pictures.another()
    assert (page.session_state["picture"], page.session_state["text"]) == ("scene 1", scene("scene 1").text)
    pictures.another()
    assert page.session_state["picture"] == "scene 2"
    state.picture_given(OWN_PICTURE)
    pictures.another()
    assert page.session_state["picture"] == "scene 3"


def test_reasons_and_evidence_belong_to_text_and_picture_together(page: Any) -> None:
    other = scene("scene 1")
    assert pictures.known(Example(SAMPLE.text, picture=KNOWN.picture)) == KNOWN
    assert pictures.known(Example(SAMPLE.text, picture=other.picture)) is None
    assert pictures.known(Example("mine", picture=KNOWN.picture)) is None
    page.session_state["picture"] = "scene 1"
    assert pictures.known(Example(other.text, picture=other.picture)) == other


def test_reasons_of_a_pair_are_known_too(page: Any) -> None:
    pair = next(sample for sample in samples() if sample.pair and sample.explanations)
    found = pictures.known(Example(pair.text, pair.pair))
    assert found is not None
    assert found.explanations == pair.explanations
    assert pictures.known(Example(pair.text, "another hypothesis")) is None


@pytest.mark.usefixtures("page")
def test_a_component_sends_what_is_pasted_and_writes_no_html() -> None:
    script = (pictures.PICTURES.parent / "paste.js").read_text()
    assert "innerHTML" not in script
    assert "insertAdjacentHTML" not in script
