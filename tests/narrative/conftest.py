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

from explainers.datasets import entailment
from explainers.datasets.example import Example
from explainers.installation import STORE_VARIABLE
from explainers.methods.narrator_specs import narrator_spec
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import pad_batch
from explainers.models.internals import batch_head_inputs
from explainers.models.text.base_weights import sha256
from explainers.models.text.bundle import PooledClassifier
from explainers.narrative.fit import recipe_for
from explainers.narrative.language import Language, language_of, vocabulary
from explainers.narrative.narrator import Narrator
from explainers.narrative.recipe import Losses, Reads
from explainers.training.artifacts import own_folder
from explainers.training.spec import FitSpec

WORDS = ("film", "plot", "good", "bad", "dull", "the", "was", "very", "not")


@pytest.fixture(scope="session")
def language() -> Language:
    texts = [f"The answer is neutral because the {one} was {other}." for one in WORDS for other in WORDS]
    return language_of(vocabulary(texts, entailment.LABELS))


@pytest.fixture
def model(bert: FrozenModel, pairs: list[Example]) -> FrozenModel:
    """The small BERT with a head of three layers, 16 → 128 → 64 → 3, which gives each class to some of `pairs`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        module = PooledClassifier(bert.module.base_model, 3)  # type: ignore[arg-type]
        for layer in module.head[::2]:
            nn.init.normal_(layer.weight, std=0.4)
    frozen = FrozenModel(
        name="small",
        labels=entailment.LABELS,
        module=module,
        tokenizer=bert.tokenizer,
        mask_token=bert.mask_token,
        pad_token=bert.pad_token,
        version="1",
        mean_pooled=True,
    )
    encodings = [frozen.encode(pair) for pair in pairs[::4]]
    _, logits = batch_head_inputs(frozen, pad_batch(encodings, frozen.pad_token, frozen.device))
    module.head[-1].bias.data -= logits.mean(0)
    return frozen


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
    language: Language, head: nn.Sequential, tiny_language: Callable[..., GPT2LMHeadModel]
) -> Callable[..., Narrator]:
    """Builds an untrained narrator for a head, the one by hand where none is given; large weights, so words differ."""

    def made(
        losses: Losses = "cause",
        head: nn.Sequential = head,
        *,
        seed: int = 0,
        layer: int = 0,
        reads: Reads = "states",
    ) -> Narrator:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = Narrator(
                head, tiny_language(language.size, reads_tokens=layer > 0), language, losses, layer=layer, reads=reads
            )
            for name, weight in network.phi.named_parameters():
                if weight.dim() > 1 and "wpe" not in name:
                    nn.init.normal_(weight, std=0.3)
            nn.init.normal_(network.psi.weight, std=1.0)
            if network.has_reader:
                nn.init.normal_(network.aggregator.weight, std=1.0)
                nn.init.constant_(network.c2[0].bias, 3.0)  # no neuron of so few is dead
        return network.eval()

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
        place = folder or own_folder(model.name, model.version, "narrative")
        place.mkdir(parents=True, exist_ok=True)
        path, spec = place / f"{method}.safetensors", narrator_spec(method)
        recipe = recipe_for(FitSpec(method, "small", settings=(("layer", "1"),) if spec.reads_tokens else ()))
        network = narrator(recipe.losses, model.module.head, layer=recipe.layer, reads=recipe.reads)
        save_file({name: value.half() for name, value in network.kept().items()}, path)
        network.language.tokenizer.save(str(path.with_suffix(".words.json")))
        about = {"recipe": asdict(recipe), "model": {"name": model.name, "version": model.version}}
        path.with_suffix(".json").write_text(json.dumps({**about, "sha256": sha256(path)}))
        return path

    return write
