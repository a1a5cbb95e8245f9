"""A frozen model with a head to look into, and a language of a few dozen pieces that is learned in a second."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import GPT2LMHeadModel

from explainers.datasets import esnli
from explainers.datasets.example import Example
from explainers.learned.weights import STORE_VARIABLE
from explainers.models.base import sha256
from explainers.models.classifier import FrozenModel
from explainers.models.inside import pooled
from explainers.models.network import PooledClassifier
from explainers.models.padded import padded
from explainers.narrative.cause import Losses, Narrator, Recipe
from explainers.narrative.entries import narrator as entry
from explainers.narrative.language import Language, language, vocabulary
from explainers.narrative.weights import own_folder

WORDS = ("film", "plot", "good", "bad", "dull", "the", "was", "very", "not")


@pytest.fixture(scope="session")
def spoken() -> Language:
    texts = [f"The answer is neutral because the {one} was {other}." for one in WORDS for other in WORDS]
    return language(vocabulary(texts, esnli.LABELS))


@pytest.fixture
def model(bert: FrozenModel, pairs: list[Example]) -> FrozenModel:
    """The small BERT with a head of three layers, 16 → 128 → 64 → 3, which gives each class to some of `pairs`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        module = PooledClassifier(bert.module.base_model, 3)  # type: ignore[arg-type]
        for layer in module.head[::2]:
            nn.init.normal_(layer.weight, std=0.4)
    found = FrozenModel(
        name="small",
        labels=esnli.LABELS,
        module=module,
        tokenizer=bert.tokenizer,
        filler=bert.filler,
        padding=bert.padding,
        version="1",
    )
    encodings = [found.encode(pair) for pair in pairs[::4]]
    _, logits = pooled(found, padded(encodings, found.padding, found.device))
    module.head[-1].bias.data -= logits.mean(0)
    return found


@pytest.fixture
def pairs() -> list[Example]:
    """Every kind of label and two reasons each."""
    return [
        Example(f"the {one} was {other}", f"a {other} {one} !", number % 3, (f"The {one} was {other}.", "It was not."))
        for number, (one, other) in enumerate((one, other) for one in WORDS for other in WORDS)
    ]


def by_hand() -> nn.Sequential:
    """A head 2 → 2 → 2 of which every answer can be worked out: h = (c₀, 2 c₁), logits = (ReLU h₀, ReLU h₁)."""
    head = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    with torch.no_grad():
        head[0].weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
        head[2].weight.copy_(torch.eye(2))
        for layer in (head[0], head[2]):
            layer.bias.zero_()
    return head.requires_grad_(False)


@pytest.fixture
def head() -> nn.Sequential:
    return by_hand()


@pytest.fixture
def narrator(
    spoken: Language, head: nn.Sequential, tiny_language: Callable[[int], GPT2LMHeadModel]
) -> Callable[..., Narrator]:
    """Builds an untrained narrator for a head, the one by hand where none is given; large weights, so words differ."""

    def made(losses: Losses = "cause", head: nn.Sequential = head, *, seed: int = 0) -> Narrator:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            found = Narrator(head, tiny_language(spoken.size), spoken, losses)
            for name, weight in found.phi.named_parameters():
                if weight.dim() > 1 and "wpe" not in name:
                    nn.init.normal_(weight, std=0.3)
            nn.init.normal_(found.psi.weight, std=1.0)
            if found.reads:
                nn.init.normal_(found.aggregator.weight, std=1.0)
                nn.init.constant_(found.c2[0].bias, 3.0)  # no neuron of so few is dead
        return found.eval()

    return made


@pytest.fixture
def states() -> Tensor:
    """(6, 2)."""
    return torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.5, 0.5], [-1.0, 2.0], [3.0, 0.0], [0.2, 0.4]])


@pytest.fixture
def written(
    model: FrozenModel,
    narrator: Callable[..., Narrator],
    small_language: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Path]:
    """Writes an untrained narrator for `model` as fitting does, into a store of the test's own."""
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path / "store"))

    def write(method: str, folder: Path | None = None) -> Path:
        place = folder or own_folder(model.name, model.version)
        place.mkdir(parents=True, exist_ok=True)
        path, recipe = place / f"{method}.safetensors", Recipe(entry(method).losses)  # type: ignore[arg-type]
        speaks = narrator(recipe.losses, model.module.head)
        kept = {name: each.half() for name, each in speaks.state_dict().items() if name not in speaks.repeated}
        save_file(kept, path)
        speaks.spoken.tokenizer.save(str(path.with_suffix(".words.json")))
        about = {"recipe": asdict(recipe), "model": {"name": model.name, "version": model.version}}
        path.with_suffix(".json").write_text(json.dumps({**about, "sha256": sha256(path)}))
        return path

    return write
