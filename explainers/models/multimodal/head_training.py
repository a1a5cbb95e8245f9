"""Fitting a head to a frozen encoder of images and texts: features are computed once, and the head is fitted to them.

features of every example → fusion → c → head,   cross-entropy, Adam, early stopping on a held-out tenth
"""

import copy
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.models.inputs.requirements import SINGLE_TEXT
from explainers.models.model_files import ModelFiles
from explainers.models.multimodal.head_cards import CARD, WEIGHTS
from explainers.models.multimodal.loading import head_weights, load_encoder, network_of
from explainers.models.multimodal.model import features
from explainers.models.multimodal.network import FusionNetwork, FusionShape
from explainers.models.text.base_weights import sha256

FEWEST = 20  # examples; a tenth of fewer means nothing
ELSEWHERE = ("vision", "tokenizer", "input_names", "shape")  # stored under their own keys on the card


@dataclass(frozen=True)
class HeadRecipe:
    """How a head is fitted. `vision` and `tokenizer` name the parts that the encoder's own files lack."""

    vision: str = ""
    tokenizer: str = ""
    input_names: tuple[str, ...] = SINGLE_TEXT  # what the text is called
    shape: FusionShape = field(default_factory=FusionShape)
    learning_rate: float = 1e-4
    epochs: int = 100  # at most
    patience: int = 5  # epochs without a smaller loss on what is held out
    batch: int = 32
    held_out: float = 0.1
    seed: int = 0


def fit_head(
    encoder: str,
    examples: Sequence[Example],
    labels: Sequence[str],
    recipe: HeadRecipe,
    folder: Path,
    *,
    device: torch.device | None = None,
) -> dict[str, Any]:
    """Writes `folder/card.json` and `folder/head.safetensors`, and returns the card; `load` takes the folder's name.

    `encoder` is a hub id (`owner/model[@revision]`) or a folder; the card pins the commit, or a checksum.
    """
    targets, device = _targets(examples, labels), device or torch.device("cpu")
    base = load_encoder(encoder, recipe.vision, recipe.tokenizer)
    with _seeded(recipe.seed, device):
        network = network_of(base, len(labels), recipe.shape)
        model = base.model(network, name=folder.name, labels=tuple(labels), version="", device=device)
        inputs = features(model, map(model.encode, examples))
        scores = fit(network, inputs, targets.to(inputs.device), recipe)
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.cpu().contiguous() for name, tensor in head_weights(network).items()}, folder / WEIGHTS)
    card = {
        "labels": list(labels),
        "architecture": base.architecture.name,
        "encoder": _pinned(encoder, folder),
        **({"vision": _pinned(recipe.vision, folder)} if base.vision else {}),
        **({"tokenizer": _pinned(recipe.tokenizer, folder)} if recipe.tokenizer else {}),
        "encoder_version": base.version,
        "asks": list(recipe.input_names),
        "shape": asdict(recipe.shape),
        "recipe": {name: value for name, value in asdict(recipe).items() if name not in ELSEWHERE},
        "examples": len(examples),
        **scores,
        "sha256": sha256(folder / WEIGHTS),
    }
    (folder / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return card


def fit(network: FusionNetwork, inputs: Tensor, targets: Tensor, recipe: HeadRecipe) -> dict[str, Any]:
    """Trains fusion and head on features (N, f), restores the best weights, and returns their accuracies."""
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(recipe.seed)).to(inputs.device)
    size = round(recipe.held_out * len(order))
    held_out, train = order[:size], order[size:]
    learner = nn.Sequential(network.fusion, network.head).requires_grad_(True)
    optimiser = torch.optim.Adam(learner.parameters(), recipe.learning_rate)
    best, least, waited, epoch = copy.deepcopy(learner.state_dict()), float("inf"), 0, 0
    while epoch < recipe.epochs and waited < recipe.patience:
        epoch, waited = epoch + 1, waited + 1
        learner.train()
        shuffled = train[torch.randperm(len(train))]
        for start in range(0, len(shuffled), recipe.batch):
            rows = shuffled[start : start + recipe.batch]
            optimiser.zero_grad()
            functional.cross_entropy(learner(inputs[rows]), targets[rows]).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        learner.eval()
        with torch.no_grad():
            loss = float(functional.cross_entropy(learner(inputs[held_out]), targets[held_out]))
        if loss < least:
            best, least, waited = copy.deepcopy(learner.state_dict()), loss, 0
    learner.load_state_dict(best)
    learner.requires_grad_(False).zero_grad()
    right = (learner(inputs).argmax(dim=1) == targets).float()
    accuracy = {"train": float(right[train].mean()), "held_out": float(right[held_out].mean())}
    return {"accuracy": accuracy, "held_out_loss": least, "epochs": epoch}


def _targets(examples: Sequence[Example], labels: Sequence[str]) -> Tensor:
    if len(labels) < 2 or len(examples) < FEWEST:
        raise DataUnavailable(
            f"A head needs at least 2 classes and {FEWEST} examples; there are {len(labels)} and {len(examples)}."
        )
    for number, labelled in enumerate(examples, start=1):
        if labelled.label is None or not 0 <= labelled.label < len(labels):
            raise DataUnavailable(
                f"Example {number} has the class {labelled.label}, not one of 0 to {len(labels) - 1}."
            )
    return torch.tensor([example.label for example in examples])


def _pinned(name: str, folder: Path) -> str:
    """A folder relative to the head's, or a hub id at the commit that was read."""
    source = ModelFiles(name)
    if source.folder:
        return os.path.relpath(source.folder.resolve(), folder.resolve())
    return f"{source.identifier}@{source.commit}"


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Random numbers from the seed during the block; the process's generator keeps its state."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
