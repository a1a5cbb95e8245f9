import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from explainers.datasets.example import Example
from explainers.errors import ModelUnavailable
from explainers.models.catalog import fingerprint, load_bundle
from explainers.models.scenes.model import SceneModel
from explainers.models.text.base_weights import sha256

pytestmark = pytest.mark.usefixtures("narrow_networks")
CPU = torch.device("cpu")


@pytest.fixture
def folder(tmp_path: Path, model: SceneModel, tokenizer: Tokenizer) -> Path:
    """The small model as a training leaves it, whose weights are exactly representable in half precision."""
    path = tmp_path / "tiny"
    path.mkdir()
    with torch.no_grad():
        for weight in model.module.parameters():
            weight.copy_(weight.half())
    save_file({name: value.half() for name, value in model.module.state_dict().items()}, path / "weights.safetensors")
    tokenizer.save(str(path / "tokenizer.json"))
    card = {
        "architecture": "scenes",
        "labels": ["entailment", "neutral", "contradiction"],
        "texts": ["text"],
        "sha256": sha256(path / "weights.safetensors"),
    }
    (path / "card.json").write_text(json.dumps(card))
    return path


def test_a_bundle_gives_the_answers_of_the_model_that_was_kept(
    folder: Path, model: SceneModel, example: Example
) -> None:
    loaded = load_bundle(folder, CPU)
    assert isinstance(loaded, SceneModel)
    assert fingerprint(loaded) == fingerprint(model)
    expected, actual = (scene_model.encode(example) for scene_model in (model, loaded))
    assert actual.ids == expected.ids
    keeps = np.random.default_rng(0).random((4, len(expected.units))) < 0.5
    assert loaded.probabilities(actual, keeps, "blur") == pytest.approx(
        model.probabilities(expected, keeps, "blur"), abs=1e-5
    )


def test_it_is_called_as_its_folder_and_knows_what_it_reads(folder: Path) -> None:
    loaded = load_bundle(folder, CPU)
    assert (loaded.name, loaded.labels, loaded.input_names) == (
        "tiny",
        ("entailment", "neutral", "contradiction"),
        ("text",),
    )
    assert loaded.version == json.loads((folder / "card.json").read_text())["sha256"][:12]
    assert loaded.multimodal
    assert loaded.mean_pooled
    assert loaded.english_only
    assert loaded.erasures == ("mask", "delete", "zero", "blur")


def test_a_loaded_tokenizer_cuts_long_texts_as_the_first_one_did(folder: Path, tokenizer: Tokenizer) -> None:
    loaded = load_bundle(folder, CPU).tokenizer
    text = "There are blue circles " * 40
    assert loaded.encode(text).ids == tokenizer.encode(text).ids


def card_with(folder: Path, **entries: object) -> None:
    path = folder / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def written(folder: Path, tensors: dict[str, torch.Tensor]) -> None:
    save_file(tensors, folder / "weights.safetensors")
    card_with(folder, sha256=sha256(folder / "weights.safetensors"))


def half(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def other_words(folder: Path) -> None:
    words = Tokenizer.from_file(str(folder / "tokenizer.json"))
    words.add_tokens(["another"])
    words.save(str(folder / "tokenizer.json"))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json cannot be read"),
    "half a tokenizer": (lambda folder: half(folder / "tokenizer.json"), "tokenizer.json cannot be read"),
    "a tokenizer of other words": (other_words, "weights.safetensors does not fit the architecture"),
    "no weights": (lambda folder: (folder / "weights.safetensors").unlink(), "weights.safetensors is missing"),
    "half the weights": (lambda folder: half(folder / "weights.safetensors"), "the checksum of weights.safetensors"),
    "weights of nothing": (lambda folder: written(folder, {}), "weights.safetensors does not fit the architecture"),
    "weights of another model": (
        lambda folder: written(folder, {"else": torch.ones(1)}),
        "weights.safetensors does not fit the architecture",
    ),
    "a class too many": (lambda folder: card_with(folder, labels=["a", "b", "c", "d"]), "does not fit"),
    "no card": (lambda folder: (folder / "card.json").unlink(), "card.json cannot be read"),
    "half a card": (lambda folder: half(folder / "card.json"), "card.json cannot be read"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_bundle_says_what_is_wrong_and_how_to_restore_it(folder: Path, damage: str) -> None:
    spoil, why = DAMAGES[damage]
    spoil(folder)
    with pytest.raises(ModelUnavailable) as raised:
        load_bundle(folder, CPU)
    assert "The model 'tiny' is damaged: " in str(raised.value)
    assert why in str(raised.value)
    assert "git checkout -- assets/bundles/tiny" in str(raised.value)
