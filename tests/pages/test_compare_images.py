"""The Compare page with a model that reads an image with a text."""

import json
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from app.compare.stored_results import (
    OWN_TEXT,
    curated_examples,
    example_of,
    generated_example,
)
from app.model_info import model_info
from app.model_pool import ModelPool
from explainers.comparison import runner

Opened = Callable[..., Any]
FIRST, SECOND = [sample for sample in curated_examples() if sample.model == "scenes"][:2]
TEXT = next(sample for sample in curated_examples() if sample.model == "sst2")
FEW = {"learned": "", "perturbation": "Occlusion", "attention": "Attention, mean"}
ONLY = {"text_only", "image_only"}
pytestmark = pytest.mark.usefixtures("multimodal")


def file(kind: str = "PNG", size: tuple[int, int] = (400, 100)) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    content = BytesIO()
    Image.fromarray(pixels).save(content, kind)
    return content.getvalue()


@pytest.fixture
def scenes(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The page with the multimodal model, at rest; without the checks under other operators, as with texts."""
    monkeypatch.setattr(runner, "run_operator_checks", lambda *_args: ())
    return opened(model="scenes", **FEW).settle()


def ids(page: Any) -> set[str]:
    return {card["id"] for card in page.sheet["rows"]}


def test_a_text_model_has_no_image_controls(opened: Opened) -> None:
    page = opened(**FEW).settle()
    assert [uploader.key for uploader in page.at.main.file_uploader] == ["row file 0"]
    assert page.sheet["image"] is None
    assert not ONLY & ids(page)
    assert "blur" not in page.control("erase").options
    assert not [key for key in ("erased", "opacity", "evidence", "another") if has(page, key)]


def has(page: Any, key: str) -> bool:
    try:
        page.at.get_by_key(key)
    except KeyError:
        return False
    return True


def test_choosing_a_multimodal_model_brings_its_image_example_and_controls(opened: Opened) -> None:
    page = opened(**FEW).settle().choose("model", "scenes")
    assert page.text == FIRST.text
    assert FIRST.why in page.captions
    assert ids(page) == {"consensus", "occlusion", "attention_mean", *ONLY}
    assert {card["status"] for card in page.sheet["rows"]} == {"done"}
    assert page.sheet["image"]["src"].startswith("data:image/png;base64,")
    assert (page.sheet["image"]["width"], page.sheet["image"]["height"]) == (400, 100)
    assert len(page.patches) == 48
    assert page.sheet["image"]["patches"][str(page.patches[0])] == [0.0, 0.0, 6.25, 25.0, "patch row 1, column 1"]
    assert "blur" in page.control("erase").options
    page.choose("erase", "blur").choose("model", "sst2")
    assert (page.text, page.control("erase").value) == (TEXT.text, "mask")
    assert not page.sentences


def test_a_text_without_an_image_leaves_no_button_of_the_model_before(opened: Opened) -> None:
    page = opened(text="good film, dull plot", **FEW).settle()
    assert has(page, "interactions")
    page.choose("model", "scenes")
    missing = "untrained needs an image and a text; the image is missing. Add a PNG or JPEG file."
    assert page.plain("warning") == [missing]
    assert [button.key for button in page.at.button if not button.disabled] == ["another"]
    assert not page.at.get("download_button")
    page.press("another").settle()
    assert not page.sentences
    assert has(page, "interactions")


def test_words_and_patches_have_one_scale_and_one_ranking(scenes: Any) -> None:
    card = next(row for row in scenes.sheet["rows"] if row["id"] == "occlusion")
    assert len(card["cells"]) == len(scenes.words) + 48
    assert sorted(cell["rank"] for cell in card["cells"].values()) == list(range(1, len(card["cells"]) + 1))
    assert sum(cell["top"] for cell in card["cells"].values()) == -(-len(card["cells"]) // 5)
    assert card["shares"].startswith("image ")
    assert card["shares"].endswith(" % of the importance")
    (alone,) = [row for row in scenes.sheet["rows"] if row["id"] == "image_only"]
    assert alone["shares"] == "image 100 % · text 0 % of the importance"


def test_a_patch_that_is_removed_changes_the_prediction_and_comes_back(scenes: Any) -> None:
    before = scenes.state.run.probabilities
    patch = scenes.patches[10]
    scenes.remove(patch)
    assert scenes.state.run.probabilities != before
    assert scenes.sheet["removed"] == [patch]
    assert all(str(patch) not in card["cells"] for card in scenes.sheet["rows"])
    assert scenes.address["removed"] == [str(patch)] or scenes.address["removed"] == str(patch)
    scenes.press("back").settle()
    assert scenes.state.run.probabilities == before


@pytest.mark.parametrize(("kind", "name"), [("PNG", "a.png"), ("JPEG", "a.jpg")])
def test_an_image_is_given_and_the_text_stays(scenes: Any, kind: str, name: str) -> None:
    scenes.give(file(kind, (60, 90)), name)
    assert scenes.text == FIRST.text
    assert scenes.at.get_by_key("example").value == OWN_TEXT
    assert (scenes.sheet["image"]["width"], scenes.sheet["image"]["height"]) == (60, 90)
    assert 0 < len(scenes.patches) < 48  # the rest of what is read lies beside the picture
    assert {card["status"] for card in scenes.sheet["rows"]} == {"done"}
    assert not scenes.sentences
    assert any("a name for your own image" in caption for caption in scenes.captions)


def test_a_wrong_file_is_one_sentence_and_nothing_is_lost(scenes: Any) -> None:
    run, image = scenes.state.run, scenes.sheet["image"]
    for wrong in (b"", b"this is text", file()[:200], b"\x89PNG\r\n\x1a\n" + b"\0" * 50):
        scenes.give(wrong)
        assert len(scenes.sentences) == 1, wrong
        assert re.search("PNG, JPEG, WebP, GIF or BMP file|another file", scenes.sentences[0])
        assert scenes.state.run is run
        assert (scenes.sheet["image"], scenes.text) == (image, FIRST.text)
    assert not scenes.give(file()).sentences


def test_the_text_is_changed_and_the_image_stays(scenes: Any) -> None:
    image = scenes.sheet["image"]["src"]
    scenes.write("all the blocks are yellow")
    assert scenes.sheet["image"]["src"] == image
    assert scenes.address["picture"] in (FIRST.title, [FIRST.title])
    scenes.write(" ")
    assert scenes.plain("warning") == ["The text is empty. Type at least one word."]
    assert scenes.sheet["image"]["src"] == image


def test_another_generated_example_brings_its_statement_and_the_address_restores_it(
    opened: Opened, scenes: Any
) -> None:
    scenes.press("another").settle()
    assert scenes.text == generated_example("scene 1").text
    assert scenes.state.run.request.example.image == generated_example("scene 1").image
    scenes.press("another").settle()
    assert scenes.text == generated_example("scene 2").text
    assert "scene 2" in scenes.captions
    again = opened(**{**FEW, **{name: str(value) for name, value in address(scenes).items()}}).settle()
    assert again.state.run.request == scenes.state.run.request


def address(page: Any) -> dict[str, str]:
    """The last value of everything that carries the question."""
    last = {name: value[-1] if isinstance(value, list) else value for name, value in page.address.items()}
    return {name: last[name] for name in ("model", "text", "picture", "example") if name in last}


def test_the_true_evidence_is_shown_where_it_is_known(scenes: Any) -> None:
    assert scenes.sheet["evidence"] == {"boxes": [], "words": []}
    scenes.choose("evidence", True)
    assert len(scenes.sheet["evidence"]["boxes"]) == len(FIRST.evidence.boxes)
    words = [scenes.words[number] for number in scenes.sheet["evidence"]["words"]]
    assert words == [FIRST.text[start:end] for start, end in FIRST.evidence.words]
    scenes.write("something else")
    assert scenes.sheet["evidence"] == {"boxes": [], "words": []}
    assert not has(scenes, "evidence")


def test_opacity_needs_no_other_run(scenes: Any) -> None:
    run = scenes.state.run
    assert scenes.choose("opacity", 30).sheet["opacity"] == 0.3
    assert scenes.state.run is run


@pytest.mark.parametrize(("chosen", "kind", "units"), [("Image", "patch", "patches"), ("Text", "word", "words")])
def test_curves_over_one_kind_of_units_are_drawn_when_asked_for(
    scenes: Any, chosen: str, kind: str, units: str
) -> None:
    run = scenes.state.run
    assert ("curves", kind) not in run.follow_ups
    scenes.at.get_by_key("erased").set_value(chosen)
    scenes.run()
    curves = run.follow_ups["curves", kind]
    while curves.active:
        scenes.run()
    scenes.run()
    assert not curves.error
    assert set(curves.result.curves) == {"consensus", "occlusion", "attention_mean"}
    assert {curve.units for curve in curves.result.curves.values()} == {48 if kind == "patch" else len(scenes.words)}
    drawn = json.loads(scenes.at.get_by_key("curves").proto.json)
    assert drawn["axes"][0] == f"% of the {units} removed (mask)"
    assert drawn["random"]["shares"]


def test_a_reference_reason_is_not_shown_with_another_image(scenes: Any) -> None:
    scenes.give(example_of(SECOND).image.content)
    assert scenes.text == FIRST.text
    assert not has(scenes, "evidence")


def test_an_image_survives_a_visit_to_another_page_and_to_a_text_model(scenes: Any) -> None:
    scenes.give(file())
    request = scenes.state.run.request
    scenes.at.switch_page("pages/methods.py")
    scenes.run()
    scenes.at.switch_page("pages/compare.py")
    scenes.settle()
    assert scenes.state.run.request == request
    scenes.choose("model", "sst2")
    assert (scenes.state.run.request.example.image, scenes.sheet["image"]) == (None, None)
    scenes.choose("model", "scenes")
    assert scenes.state.run.request.example.image == request.example.image


def test_without_an_image_the_model_asks_for_one(opened: Opened) -> None:
    page = opened(model="scenes", text="all the blocks are yellow", **FEW).settle()
    (sentence,) = page.plain("warning")
    assert "needs an image and a text; the image is missing" in sentence
    assert not page.give(file()).plain("warning")
    assert len(page.sheet["rows"]) == 5


def test_of_an_unknown_multimodal_model_an_image_can_be_given_once_it_is_loaded(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.model_info.model_box", lambda _state, fetched: "owner/model")
    page = opened(model="owner/model", text="good film", **FEW).settle()
    page.run()
    assert "the image is missing" in page.plain("warning")[0]
    assert len(page.at.main.file_uploader) == 2  # one for the image
    assert not page.give(file()).plain("warning")


def test_exports_hold_the_image(scenes: Any, tmp_path: Path) -> None:
    from app.compare.measurements import file_content

    comparison = scenes.state.run.comparison()
    page = file_content("document.document", comparison)
    assert isinstance(page, str)
    assert (
        page.count('<image href="data:image/png;base64,') == 6
    )  # above, and under the colours of four methods and the consensus
    assert "of the importance" in page
    table = file_content("tables.csv_scores", comparison)
    assert isinstance(table, str)
    assert "patch" in table
    for maker in ("plots.curves_png", "plots.curves_svg", "tables.csv_metrics", "tables.csv_curves"):
        assert file_content(maker, comparison)


def test_an_erasure_of_images_in_the_address_of_a_text_model_is_ignored(opened: Opened) -> None:
    assert opened(erase="blur", **FEW).settle().state.run.request.settings.erasure == "mask"
    assert opened(erase="blur", model="scenes", **FEW).state.run.request.settings.erasure == "blur"


def test_a_head_in_a_folder_is_known_to_be_multimodal_before_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("card.json", "head.safetensors"):
        (tmp_path / name).touch()
    monkeypatch.setenv("CROSSLIGHT_MODELS", str(tmp_path.parent))
    assert model_info(ModelPool(), str(tmp_path)).multimodal
    monkeypatch.setenv("CROSSLIGHT_MODELS", str(tmp_path / "elsewhere"))
    assert not model_info(ModelPool(), str(tmp_path)).multimodal
    assert not model_info(ModelPool(), "owner/model").multimodal
