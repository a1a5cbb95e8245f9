"""Images through the doors of a notebook and of the command line."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from explainers.__main__ import app
from explainers.api import explain, input_image
from explainers.comparison.decision import ablated_inputs, decide
from explainers.datasets.example import Example, InputImage
from explainers.errors import DataUnavailable, ExplanationError
from explainers.models import catalog
from explainers.models.calls import Meter
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Erasure
from explainers.models.scenes.model import SceneModel
from explainers.report.tables import csv_scores
from explainers.report.wording import ablated_inputs_line
from explainers.results.decision import Settings

QUICK = ("occlusion", "text_only", "image_only")
WORDS, PATCHES = 3, 16


@pytest.fixture
def png(square: Example) -> bytes:
    assert square.image is not None
    return square.image.content


@pytest.fixture
def file(tmp_path: Path, png: bytes) -> Path:
    path = tmp_path / "square.png"
    path.write_bytes(png)
    return path


def test_an_image_may_be_a_file_its_path_its_content_or_itself(model: SceneModel, square: Example, file: Path) -> None:
    expected = explain(model, square, methods=["occlusion"])
    for image in (file, str(file), file.read_bytes(), InputImage(path=file)):
        result = explain(model, square.text, image=image, methods=["occlusion"])
        assert result.probabilities == expected.probabilities
        assert result.results[0].attribution.scores == expected.results[0].attribution.scores


def test_the_json_says_what_a_unit_is_and_where_a_patch_lies(model: SceneModel, square: Example) -> None:
    card = json.loads(explain(model, square, methods=QUICK).as_json())
    units = card["explanations"][0]["units"]
    assert [unit["kind"] for unit in units] == ["word"] * WORDS + ["patch"] * PATCHES
    assert [unit["segment"] for unit in units] == [0] * WORDS + [1] * PATCHES
    assert units[0]["box"] is None
    assert units[WORDS + 5] == {
        "text": "row 2, column 6", "start": 0, "end": 0, "segment": 1, "kind": "patch", "box": [12, 12, 25, 25],
    }  # fmt: skip


def test_the_json_says_how_much_of_an_explanation_lies_on_the_image(model: SceneModel, square: Example) -> None:
    result = explain(model, square, methods=QUICK)
    shares = {explanation["method"]: explanation["image_share"] for explanation in result.as_dict()["explanations"]}
    scores = np.abs(result.results[0].attribution.scores)
    assert shares == {
        "occlusion": pytest.approx(scores[WORDS:].sum() / scores.sum(), abs=1e-5),
        "text_only": 0,
        "image_only": 1,
    }


def test_the_json_of_a_text_has_no_share_of_an_image(bert: FrozenModel) -> None:
    (result,) = explain(bert, "the good film", methods=["occlusion"]).as_dict()["explanations"]
    assert result["image_share"] is None
    assert {unit["kind"] for unit in result["units"]} == {"word"}


def test_in_tables_a_patch_has_its_sides_and_a_word_its_characters(model: SceneModel, square: Example) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_scores(explain(model, square, methods=["occlusion"])), newline="")))
    keys = ("unit", "kind", "start", "end", "segment", "of", "left", "top", "right", "bottom")
    assert [rows[1][key] for key in keys] == ["blue", "word", "4", "8", "0", "Text", "", "", "", ""]
    patch = [rows[WORDS + 5][key] for key in keys]
    assert patch == ["row 2, column 6", "patch", "0", "0", "1", "Picture", "12", "12", "25", "25"]


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero", "blur"])
def test_the_text_alone_and_the_image_alone_are_what_the_model_says_to_them(
    model: SceneModel, square: Example, erasure: Erasure
) -> None:
    result = explain(model, square, methods=["text_only"], erasure=erasure)
    keeps = np.repeat([[1, 0], [0, 1]], [WORDS, PATCHES], axis=1)
    words, patches = model.probabilities(model.encode(square), keeps, erasure)
    assert result.ablated_inputs is not None
    alone = result.as_dict()["one_text_alone"]
    assert list(alone) == ["text", "picture"]
    assert list(alone["text"].values()) == pytest.approx(words, abs=1e-5)
    assert list(alone["picture"].values()) == pytest.approx(patches, abs=1e-5)
    assert result.names == ("Text", "Image")
    assert ablated_inputs_line(result.ablated_inputs).count(" · ") == 1
    assert ablated_inputs_line(result.ablated_inputs).startswith("Text alone: ")


def test_it_costs_two_questions(model: SceneModel, square: Example) -> None:
    decision, _ = decide(model, square)
    meter = Meter()
    ablated_inputs(model, decision, meter)
    assert meter.calls == 2


@pytest.mark.parametrize("erasure", ["mask", "delete", "zero", "blur"])
def test_a_removed_patch_and_a_removed_word_no_longer_speak(
    model: SceneModel, square: Example, erasure: Erasure
) -> None:
    decision, result = decide(model, square, removed=[0, WORDS + 5], settings=Settings(erasure=erasure))
    keeps = np.ones(WORDS + PATCHES)
    keeps[[0, WORDS + 5]] = 0
    assert result == pytest.approx(tuple(model.probabilities(model.encode(square), keeps, erasure)[0]), abs=1e-5)
    assert len(decision.encoding.units) == WORDS + PATCHES - 2
    alone = ablated_inputs(model, decision, Meter())
    assert alone is not None
    keeps[:WORDS] = 0
    expected = model.probabilities(model.encode(square), keeps, erasure)[0]
    assert alone.predictions[1] == pytest.approx(tuple(expected), abs=1e-5)


def test_images_and_texts_that_do_not_fit_the_model_are_sentences(
    model: SceneModel, bert: FrozenModel, square: Example, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(b"no picture")
    for call, sentence in (
        (lambda: explain(model, "two circles"), "small-scenes needs an image and a text; the image is missing"),
        (lambda: explain(bert, "the film", image=square.image), "small does not read images. Omit the image"),
        (lambda: explain(model, "two circles", "three", image=square.image), "Omit the second text"),
        (lambda: explain(model, " ", image=square.image), "The text is empty"),
        (
            lambda: explain(bert, "the film", erasure="blur"),
            "'blur' is not available. Choose one of: mask, delete, zero.",
        ),
    ):
        with pytest.raises(ExplanationError, match=sentence):
            call()
    for image in (b"", b"no picture", tmp_path / "a.png", tmp_path / "nowhere.png", str(tmp_path)):
        with pytest.raises(DataUnavailable):
            explain(model, "two circles", image=image)


def test_an_image_argument_replaces_the_image_of_the_example(model: SceneModel, square: Example, png: bytes) -> None:
    other = replace(square, image=InputImage.of(np.zeros((10, 10, 3), np.uint8)))
    result = explain(model, other, image=png, methods=["text_only"])
    assert result.probabilities == explain(model, square, methods=["text_only"]).probabilities
    assert input_image(png).content == png


@pytest.fixture
def always(model: SceneModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The small model of scenes answers to every name."""
    monkeypatch.setattr(catalog, "load", lambda _name, **_rest: model)


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("explain", "--text", "two blue circles", "--methods", ",".join(QUICK), *arguments))


@pytest.mark.usefixtures("always")
def test_an_image_is_explained_from_the_command_line(file: Path) -> None:
    result = ran("--image", str(file), "--erasure", "blur", "--json")
    assert result.exit_code == 0
    card = json.loads(result.stdout)
    assert [explanation["method"] for explanation in card["explanations"]] == list(QUICK)
    assert card["manifest"]["settings"]["erasure"] == "blur"
    assert "four times as wide as high" in card["warning"]
    message = ran("--image", str(file)).stdout
    assert re.search(r"row \d, column \d", message)
    assert "Text alone: " in message


@pytest.mark.usefixtures("always")
def test_what_is_wrong_with_an_image_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"no picture")
    for arguments, sentence in (
        ((), "small-scenes needs an image and a text; the image is missing."),
        (("--image", str(tmp_path / "nowhere.png")), "nowhere.png"),
        (("--image", str(tmp_path / "a.png")), "a.png"),
    ):
        result = ran(*arguments)
        assert result.exit_code == 2
        assert sentence in result.stderr
        assert result.stderr.count("\n") == 1
        assert result.stdout == ""


def test_an_image_for_a_model_of_texts_is_one_line(
    bert: FrozenModel, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "load", lambda _name, **_rest: bert)
    result = ran("--image", str(file))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("small does not read images. Omit the image")
