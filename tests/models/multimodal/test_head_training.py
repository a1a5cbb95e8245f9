import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from explainers.datasets.example import Example, InputImage
from explainers.errors import DataUnavailable, ExplanationError
from explainers.models.catalog import load
from explainers.models.internals import classifier_head
from explainers.models.multimodal.architectures import FactorisedBilinearPooling
from explainers.models.multimodal.head_training import HeadRecipe, fit_head
from explainers.models.multimodal.model import MultimodalModel, features, vectors
from explainers.models.multimodal.network import FusionShape
from explainers.narrative.interchange import layer_sizes, run_with_exchange

LABELS = ("dark", "bright")
RECIPE = HeadRecipe(
    shape=FusionShape(factors=3, outputs=10), learning_rate=0.01, epochs=60, patience=60, input_names=("caption",)
)


@pytest.fixture
def bright() -> list[Example]:
    """Dark and bright images in turn, with noise; the text says nothing."""
    rng = np.random.default_rng(0)
    return [
        Example(
            "the box",
            label=number % 2,
            image=InputImage.of(rng.integers(0, 120, (32, 32, 3), dtype=np.uint8) + np.uint8(number % 2 * 120)),
        )
        for number in range(60)
    ]


@pytest.fixture
def encoder(folders: dict[str, Path]) -> str:
    return str(folders["clip-mfb"].parent / "encoder")


def test_a_head_learns_what_its_encoder_sees(encoder: str, bright: list[Example], tmp_path: Path) -> None:
    card = fit_head(encoder, bright, LABELS, RECIPE, tmp_path / "made")
    assert card["accuracy"]["train"] == 1
    assert card["accuracy"]["held_out"] == 1
    assert card["held_out_loss"] < 0.3
    model = load(str(tmp_path / "made"), device="cpu")
    assert (model.labels, model.input_names, model.version) == (LABELS, ("caption",), card["sha256"][:12])
    for example in bright[:2]:
        encoding = model.encode(example)
        (result,) = model.probabilities(encoding, np.ones((1, len(encoding.units))))
        assert result.argmax() == example.label


def test_the_same_recipe_makes_the_same_head_and_another_seed_another(
    encoder: str, bright: list[Example], tmp_path: Path
) -> None:
    rng = torch.get_rng_state()
    recipe = replace(RECIPE, epochs=2)
    first, second, third = (
        fit_head(encoder, bright, LABELS, variant, tmp_path / str(number))
        for number, variant in enumerate((recipe, recipe, replace(recipe, seed=1)))
    )
    assert first == second
    assert first["sha256"] != third["sha256"]
    assert torch.equal(torch.get_rng_state(), rng)  # the process keeps its own


def test_training_stops_when_what_is_held_out_gets_no_better(
    encoder: str, bright: list[Example], tmp_path: Path
) -> None:
    guesses = [replace(example, label=int(np.random.default_rng(n).integers(2))) for n, example in enumerate(bright)]
    card = fit_head(encoder, guesses, LABELS, replace(RECIPE, epochs=500, patience=3), tmp_path / "made")
    assert card["epochs"] < 500


def test_a_folder_of_a_head_holds_its_card_and_no_encoder(encoder: str, bright: list[Example], tmp_path: Path) -> None:
    fit_head(encoder, bright, LABELS, replace(RECIPE, epochs=1), tmp_path / "made")
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["card.json", "head.safetensors"]
    weights = load_file(tmp_path / "made" / "head.safetensors")
    assert {name.split(".")[0] for name in weights} == {"fusion", "head"}
    card = json.loads((tmp_path / "made" / "card.json").read_text())
    assert card["architecture"] == "clip-mfb"
    assert (tmp_path / "made" / card["encoder"]).resolve() == Path(encoder).resolve()
    assert str(tmp_path) not in json.dumps(card)  # nothing of this machine


def test_every_example_needs_a_class_that_there_is(encoder: str, bright: list[Example], tmp_path: Path) -> None:
    for label, sentence in (
        (None, "Example 3 has the class None"),
        (2, "Example 3 has the class 2, not one of 0 to 1"),
    ):
        bright[2] = replace(bright[2], label=label)
        with pytest.raises(DataUnavailable, match=sentence):
            fit_head(encoder, bright, LABELS, RECIPE, tmp_path / "made")
    with pytest.raises(DataUnavailable, match="at least 2 classes and 20 examples; there are 2 and 5"):
        fit_head(encoder, bright[:5], LABELS, RECIPE, tmp_path / "made")
    with pytest.raises(ExplanationError, match="the image is missing"):
        fit_head(encoder, [Example("the box", label=0)] * 20, LABELS, RECIPE, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_many_inputs_give_what_each_gives_alone(model: MultimodalModel, image: Callable[..., InputImage]) -> None:
    options = [
        Example("is the cat red ?", image=image(0)),
        Example("the cat", image=image(1)),
        Example("a box on top of the dog .", image=image(2, 32, 64)),
        Example("the dog", image=image(2)),
    ]
    encodings = [model.encode(option) for option in options]
    encodings[1] = model.without(encodings[1], [0, 9], "zero")
    encodings[3] = model.without(encodings[3], [1, 12], "delete")
    states, logits = vectors(model, encodings)
    assert len(features(model, encodings)) == len(states) == 4
    for encoding, row in zip(encodings, logits.softmax(dim=-1), strict=True):
        (alone,) = model.probabilities(encoding, np.ones((1, len(encoding.units))))
        assert row.tolist() == pytest.approx(alone, abs=1e-5)


def test_neurons_of_the_head_can_be_exchanged(model: MultimodalModel, image: Callable[..., InputImage]) -> None:
    states, logits = vectors(model, [model.encode(Example("the cat", image=image(seed))) for seed in range(2)])
    network = classifier_head(model)
    assert layer_sizes(network)[0] == states.shape[1]
    changed = run_with_exchange(network, states[:1], states[1:], 1, torch.arange(layer_sizes(network)[1]))
    assert torch.allclose(changed, logits[1:], atol=1e-5)  # with all of its neurons it is the other input


def test_bilinear_pooling_is_its_formula() -> None:
    pool = FactorisedBilinearPooling(2, factors=2, outputs=2).eval()
    for layer in (pool.text, pool.image):
        layer.weight.data = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, -1.0]])
        layer.bias.data.zero_()
    # text (1, 2) and image (3, 4): U x ∘ V y = (1·3, 2·4, 2·6, -2·-4) = (3, 8, 12, 8); sums of pairs (11, 20)
    result = pool(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    root = torch.tensor([11.0, 20.0]).sqrt()
    assert result[0].tolist() == pytest.approx((root / root.norm()).tolist(), abs=1e-6)
    # the image's first number turned round: (3·-1 + 8, 12·-1 + 8) = (5, -4), and the root keeps the sign
    result = pool(torch.tensor([[1.0, 2.0, -3.0, 4.0]]))
    root = torch.tensor([5.0**0.5, -(4.0**0.5)])
    assert result[0].tolist() == pytest.approx((root / root.norm()).tolist(), abs=1e-6)


def test_bilinear_pooling_has_a_slope_at_nothing() -> None:
    options = torch.zeros(1, 4, requires_grad=True)
    pool = FactorisedBilinearPooling(2, factors=2, outputs=2).eval()
    (slope,) = torch.autograd.grad(pool(options).sum(), options)
    assert torch.isfinite(slope).all()
