"""What can be taught about models of images: sentences, which need the head alone, and scores of words and patches."""

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

from explainers.__main__ import app
from explainers.datasets import entailment
from explainers.datasets.example import Example, InputImage
from explainers.datasets.images.sets import ImageFiles
from explainers.errors import ExplanationError
from explainers.installation import STORE_VARIABLE
from explainers.learned import fit as learned
from explainers.learned.aml import FineTunedAml
from explainers.learned.recipes import RECIPES, LearnedAttribution, recipe_of
from explainers.methods.registry import METHODS
from explainers.models.catalog import fingerprint, load
from explainers.models.inputs.padded_batch import pad_batch
from explainers.models.internals import batch_head_inputs, classifier_head, head_inputs
from explainers.models.multimodal.model import MultimodalModel
from explainers.narrative.fit import make
from explainers.narrative.interchange_check import check_interchange
from explainers.narrative.narrate import load_narrator, narrate, narrators
from explainers.studies.speed import measure
from explainers.studies.speed.command import benchmark_lines
from explainers.studies.speed.measure import benchmark, example_for
from explainers.training.artifacts import own_folder
from explainers.training.spec import FitSpec

Written = Callable[..., tuple[Path, ImageFiles]]
QUICK = (("epochs", "1"), ("batch", "16"))
DOCUMENT = Path(__file__).parents[3] / "assets/docs/images.md"
NAMES = {
    "vilt": "ViLT",
    "visualbert": "VisualBERT",
    "flava": "FLAVA",
    "qwen2-vl": "Qwen2-VL",
    "clip-mfb": "CLIP with MFB",
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_language: None) -> None:
    """Runs and store are the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))


@pytest.fixture
def vilt(folders: dict[str, Path]) -> MultimodalModel:
    """The one whose head is of the library."""
    result = load(str(folders["vilt"]), device="cpu")
    assert isinstance(result, MultimodalModel)
    return replace(result, labels=entailment.LABELS)


def test_c_is_what_the_head_makes_the_answer_of(model: MultimodalModel, image: Callable[..., InputImage]) -> None:
    texts = ("is the cat red ?", "the cat", "a box on top of the dog .")
    encodings = [model.encode(Example(text, image=image(seed))) for seed, text in enumerate(texts)]
    states, logits = head_inputs(model, encodings)
    assert not states.requires_grad
    assert torch.allclose(classifier_head(model)(states), logits, atol=1e-5)
    for encoding, row in zip(encodings, logits.softmax(-1), strict=True):
        (whole,) = model.probabilities(encoding, np.ones((1, len(encoding.units))))
        assert row.tolist() == pytest.approx(whole, abs=1e-5)


def test_of_text_c_is_read_in_one_pass(speaker: Any) -> None:
    encodings = [speaker.encode(Example("the film was good", "a dull plot")), speaker.encode(Example("bad", "good"))]
    result, expected = (
        head_inputs(speaker, encodings),
        batch_head_inputs(speaker, pad_batch(encodings, speaker.pad_token, speaker.device)),
    )
    assert all(torch.equal(one, other) for one, other in zip(result, expected, strict=True))


def test_a_model_of_images_without_a_head_says_so(vilt: MultimodalModel, image: Callable[..., InputImage]) -> None:
    encoding = vilt.encode(Example("the cat", image=image(0)))
    with pytest.raises(ExplanationError, match="has no head of several layers"):
        head_inputs(replace(vilt, module=nn.Module()), [encoding])


def test_every_architecture_learns_to_speak_and_takes_exchanges(model: MultimodalModel, esnlive: Written) -> None:
    named = replace(model, name="pictured", labels=entailment.LABELS)
    data, files = esnlive(40)
    spec = FitSpec("cause", "pictured", str(data), "", 0, QUICK, files.format, str(files.folder))
    before = fingerprint(named)
    card = make(spec, named, Path("run"), None, resume=False)
    assert card["items"]["learned from"] == 64
    assert card["command"] == spec.command
    assert fingerprint(named) == before
    assert narrators(named) == ("cause",)
    example = Example("the red box", image=InputImage(path=files.folder / "0.png"))
    reason = narrate(named, named.encode(example), "cause")
    assert reason.text.endswith(".")
    assert sum(reason.read) == pytest.approx(1)
    units = named.encode(example).units
    assert all(units[number].kind == "word" for number in reason.mentions)
    other = Example("the blue box", image=InputImage(path=files.folder / "1.jpg"))
    check = check_interchange(named, load_narrator(named, "cause")[1], example, other, 0, range(4))
    for side in (check.model, check.reader):
        assert side.exchanged != side.base
        assert sum(side.exchanged) == pytest.approx(1)


def ran(*arguments: str) -> Any:
    """What a command prints."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.slow
def test_from_an_encoder_to_a_sentence(folders: dict[str, Path], esnlive: Written) -> None:
    data, files = esnlive(40)
    options = "--data", str(data), "--format", files.format, "--pictures", str(files.folder), "--device", "cpu"
    encoder = str(folders["clip-mfb"].parent / "encoder")
    trained = ran("train-head", encoder, *options, "--out", "made")
    assert (trained["labels"], trained["asks"], trained["examples"]) == (list(entailment.LABELS), ["hypothesis"], 80)
    quick = [part for name, value in QUICK for part in ("--set", f"{name}={value}")]
    cards = {method: ran("fit", method, "--model", "made", *options, *quick) for method in ("cause_phi", "cause")}
    assert {card["items"]["learned from"] for card in cards.values()} == {64}
    assert "--format esnlive --pictures DIR" in cards["cause"]["command"]
    model = load("made", device="cpu")
    assert narrators(model) == ("cause_phi", "cause")
    folder = own_folder(model.name, model.version, "narrative")
    assert json.loads((folder / "cause.json").read_text()) == cards["cause"]
    for method in cards:
        example = Example("the red box", image=InputImage(path=files.folder / "1.jpg"))
        assert narrate(model, model.encode(example), method).text


def documented() -> dict[tuple[str, str], str]:
    """Architecture, method → the cell of the document's table."""
    lines = [line.strip("| ").split(" | ") for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")]
    start = next(number for number, cells in enumerate(lines) if cells[1:] == [METHODS.get(id).name for id in RECIPES])
    rows = [cells for cells in lines[start + 1 : start + 1 + len(NAMES)] if len(cells) == 1 + len(RECIPES)]
    return {(row[0], method): cell for row in rows for method, cell in zip(RECIPES, row[1:], strict=True)}


@pytest.mark.parametrize("method", RECIPES)
def test_a_method_is_fitted_and_explains_or_refuses_as_documented(
    model: MultimodalModel, folders: dict[str, Path], esnlive: Written, method: str
) -> None:
    name = next(name for name, folder in folders.items() if str(folder) == model.name)
    named = replace(model, name="pictured", labels=entailment.LABELS)
    data, files = esnlive(10)
    spec = FitSpec(method, "pictured", str(data), "", 0, QUICK[:1], files.format, str(files.folder))
    cell = documented()[NAMES[name], method]
    if cell != "yes":
        with pytest.raises(ExplanationError, match=cell.removeprefix("no: ")):
            learned.make(spec, named, Path("run"), None, resume=False)
        return
    before = fingerprint(named)
    card = learned.make(spec, named, Path("run"), None, resume=False)
    assert card["texts"] == {"learned from": 18, "watched": 2}
    encoding = named.encode(Example("the red box", image=InputImage(path=files.folder / "0.png")))
    for explainer in (LearnedAttribution(method), *((FineTunedAml(steps=2),) if method == "aml" else ())):
        attribution = explainer.attribute(named, encoding, 0)
        assert len(attribution.scores) == len(encoding.units)
        assert len(set(attribution.scores)) > 2
    assert fingerprint(named) == before


def test_a_refusal_comes_with_the_first_image(
    folders: dict[str, Path], esnlive: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Example] = []
    encode = MultimodalModel.encode

    def counted(self: MultimodalModel, example: Example, *rest: Any) -> Any:
        read.append(example)
        return encode(self, example, *rest)

    monkeypatch.setattr(MultimodalModel, "encode", counted)
    data, files = esnlive(20)
    options = "--data", str(data), "--format", files.format, "--pictures", str(files.folder), "--device", "cpu"
    result = CliRunner().invoke(app, ("fit", "ivra", "--model", str(folders["clip-mfb"]), *options))
    assert result.exit_code != 0
    assert "words and patches never attend to each other" in " ".join(result.stderr.split())
    assert not read
    assert not Path("store").exists()


def test_a_replacement_by_embeddings_cannot_stand_for_patches(model: MultimodalModel) -> None:
    with pytest.raises(ExplanationError, match="erases patches as pixels"):
        recipe_of("aml", {"replacement": "learned"}).module(model)


@pytest.mark.parametrize("name", ["vilt", "clip-mfb"])
def test_speed_is_measured_on_a_scene(folders: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    methods = "aml", "occlusion", "text_only", "image_only"
    for setting, value in {"SAMPLES": 10, "STEPS": 2, "REPEATS": 1, "default_methods": lambda: methods}.items():
        monkeypatch.setattr(measure, setting, value)
    model = load(str(folders[name]), device="cpu")
    options = example_for(model)
    assert options.image is not None
    assert example_for(model).image == options.image  # always the same
    monkeypatch.setattr(measure.catalog, "load", lambda _name: model)
    result = benchmark(name, 0, browser=False)
    assert result["units"] == len(model.encode(options).units) > result["words"] == len(options.text.split())
    assert set(result["each method"]) == {"occlusion", "text_only", "image_only"}  # what is not fitted has no time
    assert not {"captum as documented", "arithmetic"} & set(result)  # are of token ids, and of one stack of layers
    assert benchmark_lines(result).startswith("model")
