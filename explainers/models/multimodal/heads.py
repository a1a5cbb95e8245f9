"""Fitting a head to a frozen encoder of pictures and texts: the encoder is asked once, the head learns from memory.

features of every example → fusion → c → head,   cross-entropy, Adam, until the held-out tenth gets no better
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
from explainers.models.asking import SINGLE
from explainers.models.base import sha256
from explainers.models.multimodal.cards import CARD, WEIGHTS
from explainers.models.multimodal.loading import load_encoder, network_of, trained
from explainers.models.multimodal.network import Network, Shape
from explainers.models.multimodal.whole import features
from explainers.models.source import Source

FEWEST = 20  # examples; with less, a tenth says nothing
ELSEWHERE = ("vision", "tokenizer", "asks", "shape")  # have a place of their own on the card


@dataclass(frozen=True)
class HeadRecipe:
    """How a head is fitted. `vision` and `tokenizer` name what the encoder's own files lack."""

    vision: str = ""
    tokenizer: str = ""
    asks: tuple[str, ...] = SINGLE  # what the text is called
    shape: Shape = field(default_factory=Shape)
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
    answers, place = _answers(examples, labels), device or torch.device("cpu")
    found = load_encoder(encoder, recipe.vision, recipe.tokenizer)
    with _seeded(recipe.seed, place):
        network = network_of(found, len(labels), recipe.shape)
        model = found.model(network, name=folder.name, labels=tuple(labels), version="", device=place)
        known = features(model, map(model.encode, examples))
        scores = fit(network, known, answers.to(known.device), recipe)
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.cpu().contiguous() for name, tensor in trained(network).items()}, folder / WEIGHTS)
    card = {
        "labels": list(labels),
        "architecture": found.architecture.name,
        "encoder": _pinned(encoder, folder, found.module),
        **({"vision": _pinned(recipe.vision, folder, found.vision)} if found.vision else {}),
        **({"tokenizer": _pinned(recipe.tokenizer, folder, None)} if recipe.tokenizer else {}),
        "encoder_version": found.version,
        "asks": list(recipe.asks),
        "shape": asdict(recipe.shape),
        "recipe": {name: value for name, value in asdict(recipe).items() if name not in ELSEWHERE},
        "examples": len(examples),
        **scores,
        "sha256": sha256(folder / WEIGHTS),
    }
    (folder / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    return card


def fit(network: Network, known: Tensor, answers: Tensor, recipe: HeadRecipe) -> dict[str, Any]:
    """Trains fusion and head on features (N, f), keeps the best weights, and says how well they do."""
    order = torch.randperm(len(known), generator=torch.Generator().manual_seed(recipe.seed)).to(known.device)
    size = round(recipe.held_out * len(order))
    held, taught = order[:size], order[size:]
    learner = nn.Sequential(network.fusion, network.head).requires_grad_(True)
    optimiser = torch.optim.Adam(learner.parameters(), recipe.learning_rate)
    best, least, waited, epoch = copy.deepcopy(learner.state_dict()), float("inf"), 0, 0
    while epoch < recipe.epochs and waited < recipe.patience:
        epoch, waited = epoch + 1, waited + 1
        learner.train()
        shuffled = taught[torch.randperm(len(taught))]
        for start in range(0, len(shuffled), recipe.batch):
            rows = shuffled[start : start + recipe.batch]
            optimiser.zero_grad()
            functional.cross_entropy(learner(known[rows]), answers[rows]).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        learner.eval()
        with torch.no_grad():
            loss = float(functional.cross_entropy(learner(known[held]), answers[held]))
        if loss < least:
            best, least, waited = copy.deepcopy(learner.state_dict()), loss, 0
    learner.load_state_dict(best)
    learner.requires_grad_(False).zero_grad()
    right = (learner(known).argmax(dim=1) == answers).float()
    accuracy = {"train": float(right[taught].mean()), "held_out": float(right[held].mean())}
    return {"accuracy": accuracy, "held_out_loss": least, "epochs": epoch}


def _answers(examples: Sequence[Example], labels: Sequence[str]) -> Tensor:
    if len(labels) < 2 or len(examples) < FEWEST:
        raise DataUnavailable(
            f"A head needs at least 2 classes and {FEWEST} examples; there are {len(labels)} and {len(examples)}."
        )
    for number, each in enumerate(examples, start=1):
        if each.label is None or not 0 <= each.label < len(labels):
            raise DataUnavailable(f"Example {number} has the class {each.label}, not one of 0 to {len(labels) - 1}.")
    return torch.tensor([each.label for each in examples])


def _pinned(name: str, folder: Path, module: nn.Module | None) -> str:
    """A folder as it is seen from the head's, or a hub id at the commit that was read."""
    source = Source(name)
    if source.folder:
        return os.path.relpath(source.folder.resolve(), folder.resolve())
    commit = getattr(getattr(module, "config", None), "_commit_hash", None) or source.revision
    return f"{source.identifier}@{commit}" if commit else name


@contextmanager
def _seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Chance from the seed during the block; the process keeps its own."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
