"""Embedded models: a folder with what was trained on top of the base weights, and a card that says how.

assets/bundles/<name>/weights.safetensors   encoder layers (or LoRA adapter) and head, fp16
assets/bundles/<name>/card.json             labels, data, splits, seed, command, accuracy, checksum
"""

from pathlib import Path
from typing import cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from explainers.models.base import base_folder, sha256
from explainers.models.cards import asks_of, card, damaged
from explainers.models.classifier import FrozenModel
from explainers.models.network import PooledClassifier, encoder

WEIGHTS = "weights.safetensors"
LONGEST = 256  # tokens, what all-MiniLM-L6-v2 was trained to read


def tokenizer(folder: Path, longest: int) -> Tokenizer:
    found = Tokenizer.from_file(str(folder / "tokenizer.json"))
    found.no_padding()  # the file asks for padding to 128
    found.enable_truncation(longest, strategy="longest_first")  # a long premise leaves room for its hypothesis
    return found


def weights(folder: Path) -> dict[str, Tensor]:
    """The trained tensors, after their checksum was compared with the card's."""
    path = folder / WEIGHTS
    if not path.is_file():
        raise damaged(folder, f"{WEIGHTS} is missing")
    if sha256(path) != card(folder)["sha256"]:
        raise damaged(folder, f"the checksum of {WEIGHTS} is not the one on its card")
    try:
        return {name: tensor.float() for name, tensor in load_file(path).items()}
    except SafetensorError as error:
        raise damaged(folder, f"{WEIGHTS} cannot be read") from error


def merged(network: PooledClassifier, trained: dict[str, Tensor], rank: int) -> PooledClassifier:
    """Puts the trained tensors into the network; a LoRA adapter is added to the weights it adapts: W + 2·B·A."""
    if rank:
        down = {name: tensor for name, tensor in trained.items() if ".lora_A." in name}
        for name, a in down.items():
            b = trained[name.replace(".lora_A.", ".lora_B.")]
            layer = cast(nn.Linear, network.get_submodule(name.split(".lora_A.")[0]))
            layer.weight.data += 2.0 * b @ a  # peft's scale: lora_alpha / r, and our alpha is 2 r
        trained = {name: tensor for name, tensor in trained.items() if ".lora_" not in name}
    report = network.load_state_dict(trained, strict=False)
    if report.unexpected_keys or any(name.startswith("head.") for name in report.missing_keys):
        raise KeyError("tensors of another model, or no head")
    return network


def network_of(folder: Path) -> PooledClassifier:
    """The network with its trained weights. A bundle that stands `on` another one holds only adapters of its layers."""
    known, trained = card(folder), weights(folder)
    try:
        if "on" not in known:
            return merged(
                PooledClassifier(encoder(base_folder()), len(known["labels"])), trained, known["recipe"]["rank"]
            )
        below = folder.parent / known["on"]["name"]
        if card(below)["sha256"] != known["on"]["sha256"]:
            raise damaged(folder, f"it was trained on another version of {below.name}")
        network = network_of(below)
        for name in (name for name in trained if name.endswith(".down")):
            layer = cast(nn.Linear, network.get_submodule(name.removesuffix(".down")))
            layer.weight.data += 2.0 * trained[name.removesuffix("down") + "up"] @ trained[name]
    except (RuntimeError, KeyError, AttributeError) as error:
        raise damaged(folder, f"{WEIGHTS} does not fit the architecture") from error
    return network


def load_bundle(folder: Path, device: torch.device) -> FrozenModel:
    if card(folder).get("architecture") == "scenes":
        from explainers.models.scenes.bundle import load_scenes  # which reads weights as this module does

        return load_scenes(folder, device)
    known, base, network = card(folder), base_folder(), network_of(folder)
    splitter = tokenizer(base, LONGEST)
    vocabulary = splitter.get_vocab()
    return FrozenModel(
        name=folder.name,
        labels=tuple(known["labels"]),
        module=network,
        tokenizer=splitter,
        filler=vocabulary["[MASK]"],
        padding=vocabulary["[PAD]"],
        version=known["sha256"][:12],
        pooled=True,
        asks=asks_of(known),
        unknown=vocabulary["[UNK]"],
        english=True,
        device=device,
    )
