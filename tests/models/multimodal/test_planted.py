"""A model whose right explanation is known: one of its sixteen patches counts, by its brightness, and nothing else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from explainers.datasets.example import Example, InputImage
from explainers.methods.registry import METHODS, MethodSpec
from explainers.models.inputs.encoding import Erasure
from explainers.models.multimodal.blending import Grid
from explainers.models.multimodal.model import MultimodalModel
from explainers.models.multimodal.network import FusionNetwork, FusionShape, MultimodalBatch, multiplied
from explainers.models.multimodal.preprocessing import Preparation, Size

SECRET = 6  # row 2, column 3
GRID = (4, 4)


class Brightness(nn.Module):
    """(B, 3, h, w) → (B, 1, 4, 4)."""

    def forward(self, pixels: Tensor) -> Tensor:
        return functional.adaptive_avg_pool2d(pixels.mean(dim=1, keepdim=True), GRID)


class Planted(FusionNetwork):
    def __init__(self) -> None:
        base = nn.Module()
        base.config = SimpleNamespace()  # type: ignore[assignment]
        super().__init__(base, 2, FusionShape())
        self.brightness, self.word_table = Brightness(), nn.Embedding(30, 4)
        layer = nn.Linear(16, 2)
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
        layer.weight.data[1, SECRET] = 1.0
        self.head = nn.Sequential(layer)

    @property
    def table(self) -> nn.Embedding:
        return self.word_table

    def width(self) -> int:
        return 16

    def grid(self, size: Size) -> Size:
        return GRID

    def features(self, batch: MultimodalBatch) -> Tensor:
        self.table(batch.ids)
        result: Tensor = self.brightness(batch.pixels).flatten(1)
        return result

    @contextmanager
    def scaled(self, words: Tensor | None, patches: Tensor | None) -> Iterator[None]:
        with multiplied(self.table, words), multiplied(self.brightness, patches):
            yield


@pytest.fixture
def model(pieces_tokenizer: Callable[..., Tokenizer]) -> MultimodalModel:
    return MultimodalModel(
        name="planted",
        labels=("dark", "bright"),
        module=Planted(),
        tokenizer=pieces_tokenizer(("good", "bad")),
        mask_token=4,
        pad_token=0,
        version="1",
        preparation=Preparation(lambda _height, _width: (32, 32), None, (0.5,) * 3, (0.5,) * 3),
        patching=Grid(16),
    )


@pytest.mark.parametrize("erasure", ["mask", "zero", "delete", "blur"])
@pytest.mark.parametrize(
    "entry", [entry for entry in METHODS if entry.group in ("Gradient", "Perturbation")], ids=lambda entry: entry.id
)  # fmt: skip
def test_the_patch_that_counts_comes_first(model: MultimodalModel, entry: MethodSpec, erasure: Erasure) -> None:
    pixels = np.random.default_rng(1).integers(0, 60, (48, 48, 3), dtype=np.uint8)
    pixels[12:24, 24:36] = 250
    encoding = model.encode(Example("good bad good", image=InputImage.of(pixels)))
    scores = np.array(entry.make(erasure=erasure, seed=0, samples=400, steps=20).attribute(model, encoding, 1).scores)
    assert encoding.units[int(scores.argmax())].text == "row 2, column 3"
    assert scores.argmax() == 3 + SECRET
    others = np.delete(np.abs(scores), 3 + SECRET)
    assert others.max() < scores.max() / 3 or entry.optimised  # a search gives places, which lie equally far apart
    if entry.id == "occlusion" and erasure != "blur":
        assert others.max() < 0.01  # the patches around it touch it where the image is resized


def test_the_score_is_the_fall_in_probability(model: MultimodalModel) -> None:
    pixels = np.zeros((32, 32, 3), np.uint8)
    pixels[8:16, 16:24] = 255
    encoding = model.encode(Example("good", image=InputImage.of(pixels)))
    (occlusion,) = (entry for entry in METHODS if entry.id == "occlusion")
    attribution = occlusion.make(erasure="mask", seed=0, samples=0, steps=0).attribute(model, encoding, 1)
    # white is 1 and the mean, 255 / 16 = 16, is 16 / 127.5 - 1; the margin between the classes is this brightness
    before, after = (1 / (1 + np.exp(-margin)) for margin in (1.0, 16 / 127.5 - 1))
    assert attribution.scores[1 + SECRET] == pytest.approx(before - after, abs=1e-5)
    assert max(abs(score) for score in attribution.scores[:4]) < 1e-6


def test_a_gradient_of_the_brightness_is_exact(model: MultimodalModel) -> None:
    pixels = np.full((32, 32, 3), 64, np.uint8)
    pixels[8:16, 16:24] = 192
    encoding = model.encode(Example("good", image=InputImage.of(pixels)))
    mask = torch.ones(1, len(encoding.units), requires_grad=True)
    (slope,) = torch.autograd.grad(model.soft(encoding, mask)[0, 1], mask)
    # the image's mean is (15 · 64 + 192) / 16 = 72: the patch adds (192 - 72) / 127.5 to it
    assert slope[0, 1 + SECRET].item() == pytest.approx(120 / 127.5, abs=1e-5)
