"""Embedded text models: a folder with the weights trained on top of the base weights, and a card.

assets/bundles/<name>/weights.safetensors   encoder layers (or LoRA adapter) and head, fp16
assets/bundles/<name>/card.json             labels, data, splits, seed, command, accuracy, checksum

The architecture of the embedded text models: encoder → mean over the tokens = c → MLP head 384→128→64→C.
"""

import json
from pathlib import Path
from typing import cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers.models.bert.configuration_bert import BertConfig
from transformers.models.bert.modeling_bert import BertModel

from explainers.models.bundle_cards import damaged_bundle, input_names_of, read_card
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.base_weights import base_folder, sha256


def mlp_head(width: int, classes: int) -> nn.Sequential:
    """f_h, in which CAuSE later intervenes: three linear layers with ReLU between them."""
    return nn.Sequential(
        nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, classes)
    )  # fmt: skip


def base_encoder(folder: Path) -> BertModel:
    """The base encoder without its pooler; eager attention, which can return its weights and be derived twice.

    Draws initial weights and replaces them, so that what a training draws afterwards stays what its seed says.
    """
    config = _base_config(folder)
    model = BertModel(config, add_pooling_layer=False)
    model.load_state_dict(_base_weights(folder, model))
    return model


def undrawn_encoder(folder: Path) -> BertModel:
    """`base_encoder` without initial weights, whose drawing takes most of the time."""
    config = _base_config(folder)
    with torch.device("meta"):
        model = BertModel(config, add_pooling_layer=False)
    model.load_state_dict(_base_weights(folder, model), assign=True)
    positions = torch.arange(config.max_position_embeddings)[None]
    model.embeddings.position_ids = positions  # the two buffers that no file holds
    model.embeddings.token_type_ids = torch.zeros_like(positions)
    return model


def _base_config(folder: Path) -> BertConfig:
    return BertConfig(**json.loads((folder / "config.json").read_text()), attn_implementation="eager")


def _base_weights(folder: Path, model: BertModel) -> dict[str, Tensor]:
    weights = load_file(folder / "model.safetensors")
    return {name: weights[name] for name in model.state_dict() if name in weights}


class PooledClassifier(nn.Module):
    """Logits of texts or pairs. The mean runs over all tokens that are not padding, [CLS] and [SEP] included."""

    def __init__(self, base_model: BertModel, classes: int) -> None:
        super().__init__()
        self.base_model = base_model
        self.dropout = nn.Dropout(0.1)
        self.head = mlp_head(base_model.config.hidden_size, classes)

    def forward(self, attention_mask: Tensor | None = None, **inputs: Tensor) -> Tensor:
        """(B, L) ids or (B, L, d) embeddings → (B, C). Without an attention mask every token counts."""
        states = self.base_model(attention_mask=attention_mask, **inputs).last_hidden_state  # (B, L, d)
        if attention_mask is None:
            c = states.mean(1)  # (B, d)
        else:
            attended = attention_mask.to(states.dtype)[:, :, None]  # (B, L, 1)
            c = (states * attended).sum(1) / attended.sum(1)  # (B, d)
        logits: Tensor = self.head(self.dropout(c))
        return logits


WEIGHTS = "weights.safetensors"
MAX_TOKENS = 256  # tokens, what all-MiniLM-L6-v2 was trained to read


def base_tokenizer(folder: Path, longest: int) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()  # the file sets padding to 128
    tokenizer.enable_truncation(longest, strategy="longest_first")  # a long premise leaves room for its hypothesis
    return tokenizer


def bundle_weights(folder: Path) -> dict[str, Tensor]:
    """The trained tensors. Raises `ModelUnavailable` if their checksum is not the one on the card."""
    path = folder / WEIGHTS
    if not path.is_file():
        raise damaged_bundle(folder, f"{WEIGHTS} is missing")
    if sha256(path) != read_card(folder)["sha256"]:
        raise damaged_bundle(folder, f"the checksum of {WEIGHTS} is not the one on its card")
    try:
        return {name: tensor.float() for name, tensor in load_file(path).items()}
    except SafetensorError as error:
        raise damaged_bundle(folder, f"{WEIGHTS} cannot be read") from error


def with_trained_weights(network: PooledClassifier, trained: dict[str, Tensor], rank: int) -> PooledClassifier:
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


def trained_network(folder: Path) -> PooledClassifier:
    """The network with its trained weights. A card with "on" means that they are adapters of that bundle's layers."""
    card, trained = read_card(folder), bundle_weights(folder)
    try:
        if "on" not in card:
            return with_trained_weights(
                PooledClassifier(undrawn_encoder(base_folder()), len(card["labels"])), trained, card["recipe"]["rank"]
            )
        below = folder.parent / card["on"]["name"]
        if read_card(below)["sha256"] != card["on"]["sha256"]:
            raise damaged_bundle(folder, f"it was trained on another version of {below.name}")
        network = trained_network(below)
        for name in (name for name in trained if name.endswith(".down")):
            layer = cast(nn.Linear, network.get_submodule(name.removesuffix(".down")))
            layer.weight.data += 2.0 * trained[name.removesuffix("down") + "up"] @ trained[name]
    except (RuntimeError, KeyError, AttributeError) as error:
        raise damaged_bundle(folder, f"{WEIGHTS} does not fit the architecture") from error
    return network


def load_bundle(folder: Path, device: torch.device) -> FrozenModel:
    card, base, network = read_card(folder), base_folder(), trained_network(folder)
    tokenizer = base_tokenizer(base, MAX_TOKENS)
    vocabulary = tokenizer.get_vocab()
    return FrozenModel(
        name=folder.name,
        labels=tuple(card["labels"]),
        module=network,
        tokenizer=tokenizer,
        mask_token=vocabulary["[MASK]"],
        pad_token=vocabulary["[PAD]"],
        version=card["sha256"][:12],
        mean_pooled=True,
        input_names=input_names_of(card),
        unknown=vocabulary["[UNK]"],
        english_only=True,
        device=device,
    )
