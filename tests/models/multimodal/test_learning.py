"""What can be taught about models of pictures: sentences, for they need the head alone, and no scores."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from explainers import bench
from explainers.bench import example_for, measure, report
from explainers.cli import app
from explainers.datasets import esnli
from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.datasets.pictures.sets import PictureFiles
from explainers.errors import ExplanationError
from explainers.learned import command as learned
from explainers.learned.recipes import RECIPES
from explainers.learned.weights import STORE_VARIABLE
from explainers.models.catalog import fingerprint, load
from explainers.models.inside import head, head_reads, pooled
from explainers.models.multimodal.model import MultimodalModel
from explainers.models.padded import padded
from explainers.narrative.command import Order, make
from explainers.narrative.narrate import narrate, narrators
from explainers.narrative.weights import own_folder

Written = Callable[..., tuple[Path, PictureFiles]]
QUICK = (("epochs", "1"), ("batch", "16"))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_language: None) -> None:
    """Runs and store are the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))


@pytest.fixture
def vilt(folders: dict[str, Path]) -> MultimodalModel:
    """The one whose head is of the library."""
    found = load(str(folders["vilt"]), device="cpu")
    assert isinstance(found, MultimodalModel)
    return replace(found, labels=esnli.LABELS)


def test_c_is_what_the_head_makes_the_answer_of(model: MultimodalModel, picture: Callable[..., Picture]) -> None:
    texts = ("is the cat red ?", "the cat", "a box on top of the dog .")
    encodings = [model.encode(Example(text, picture=picture(seed))) for seed, text in enumerate(texts)]
    states, logits = head_reads(model, encodings)
    assert not states.requires_grad
    assert torch.allclose(head(model)(states), logits, atol=1e-5)
    for encoding, row in zip(encodings, logits.softmax(-1), strict=True):
        (whole,) = model.probabilities(encoding, np.ones((1, len(encoding.units))))
        assert row.tolist() == pytest.approx(whole, abs=1e-5)


def test_of_text_c_is_read_in_one_pass(speaker: Any) -> None:
    encodings = [speaker.encode(Example("the film was good", "a dull plot")), speaker.encode(Example("bad", "good"))]
    found, expected = (
        head_reads(speaker, encodings),
        pooled(speaker, padded(encodings, speaker.padding, speaker.device)),
    )
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_a_model_of_pictures_without_a_head_says_so(vilt: MultimodalModel, picture: Callable[..., Picture]) -> None:
    encoding = vilt.encode(Example("the cat", picture=picture(0)))
    with pytest.raises(ExplanationError, match="has no head of several layers"):
        head_reads(replace(vilt, module=nn.Module()), [encoding])


def test_every_architecture_learns_to_speak(model: MultimodalModel, esnlive: Written) -> None:
    named = replace(model, name="pictured", labels=esnli.LABELS)
    data, files = esnlive(40)
    order = Order("cause", "pictured", data, 0, QUICK, files)
    before = fingerprint(named)
    card = make(order, named, Path("run"), None, resume=False)
    assert card["items"]["learned from"] == 64
    assert card["command"] == order.command
    assert fingerprint(named) == before
    assert narrators(named) == ("cause",)
    example = Example("the red box", picture=Picture(path=files.folder / "0.png"))
    said = narrate(named, named.encode(example), "cause")
    assert said.text.endswith(".")
    assert sum(said.read) == pytest.approx(1)
    units = named.encode(example).units
    assert all(units[number].kind == "word" for number in said.mentions)


def ran(*arguments: str) -> Any:
    """What a command prints."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_from_an_encoder_to_a_sentence(folders: dict[str, Path], esnlive: Written) -> None:
    data, files = esnlive(40)
    given = "--data", str(data), "--format", files.format, "--pictures", str(files.folder), "--device", "cpu"
    encoder = str(folders["clip-mfb"].parent / "encoder")
    trained = ran("train-head", encoder, *given, "--out", "made")
    assert (trained["labels"], trained["asks"], trained["examples"]) == (list(esnli.LABELS), ["hypothesis"], 80)
    quick = [part for name, value in QUICK for part in ("--set", f"{name}={value}")]
    cards = {method: ran("fit", method, "--model", "made", *given, *quick) for method in ("cause_phi", "cause")}
    assert {card["items"]["learned from"] for card in cards.values()} == {64}
    assert "--format esnlive --pictures DIR" in cards["cause"]["command"]
    model = load("made", device="cpu")
    assert narrators(model) == ("cause_phi", "cause")
    folder = own_folder(model.name, model.version)
    assert json.loads((folder / "cause.json").read_text()) == cards["cause"]
    for method in cards:
        example = Example("the red box", picture=Picture(path=files.folder / "1.jpg"))
        assert narrate(model, model.encode(example), method).text


@pytest.mark.parametrize("method", RECIPES)
def test_methods_that_learn_from_tokens_refuse_at_the_first_picture(
    vilt: MultimodalModel, esnlive: Written, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Example] = []
    encode = MultimodalModel.encode

    def counted(self: MultimodalModel, example: Example, *rest: Any) -> Any:
        read.append(example)
        return encode(self, example, *rest)

    monkeypatch.setattr(MultimodalModel, "encode", counted)
    data, files = esnlive(20)
    order = learned.Order(method, "vilt", data, settings=QUICK[:1], pictures=files)
    with pytest.raises(
        ExplanationError, match="Methods that learn need a model that reads patches and words as tokens"
    ):
        learned.make(order, vilt, Path("run"), None, resume=False)
    assert len(read) == 1
    assert not Path("run").exists()
    assert not Path("store").exists()


@pytest.mark.parametrize("name", ["vilt", "clip-mfb"])
def test_speed_is_measured_on_a_scene(folders: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    methods = "aml", "occlusion", "text_only", "picture_only"
    for setting, value in {"SAMPLES": 10, "STEPS": 2, "REPEATS": 1, "DEFAULT": methods}.items():
        monkeypatch.setattr(bench, setting, value)
    model = load(str(folders[name]), device="cpu")
    given = example_for(model)
    assert given.picture is not None
    assert example_for(model).picture == given.picture  # always the same
    monkeypatch.setattr(bench, "load", lambda _name: model)
    found = measure(name, 0, browser=False)
    assert found["units"] == len(model.encode(given).units) > found["words"] == len(given.text.split())
    assert set(found["each method"]) == {"occlusion", "text_only", "picture_only"}  # what is not fitted has no time
    assert not {"captum as documented", "arithmetic"} & set(found)  # are of token ids, and of one stack of layers
    assert report(found).startswith("model")
