"""The bundle of `scenes`: all of its weights and its tokenizer; it has no base model.

assets/bundles/scenes/weights.safetensors   fp16
assets/bundles/scenes/tokenizer.json        word pieces
assets/bundles/scenes/card.json             with "architecture": "scenes"
"""

from pathlib import Path

import torch
from tokenizers import Tokenizer

from explainers.models.bundle_cards import damaged_bundle, input_names_of, read_card
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.network import MASK, PAD, UNK, SceneNetwork, configured
from explainers.models.text.bundle import bundle_weights

WORDS = "tokenizer.json"


def load_bundle(folder: Path, device: torch.device) -> SceneModel:
    card, weights = read_card(folder), bundle_weights(folder)
    try:
        tokenizer = configured(Tokenizer.from_file(str(folder / WORDS)))
    except Exception as error:  # the library raises bare `Exception`
        raise damaged_bundle(folder, f"{WORDS} cannot be read") from error
    network = SceneNetwork(tokenizer.get_vocab_size(), len(card["labels"]))
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise damaged_bundle(folder, "weights.safetensors does not fit the architecture") from error
    return SceneModel(
        name=folder.name,
        labels=tuple(card["labels"]),
        module=network,
        tokenizer=tokenizer,
        mask_token=MASK,
        pad_token=PAD,
        version=card["sha256"][:12],
        input_names=input_names_of(card),
        unknown=UNK,
        english_only=True,
        mean_pooled=True,
        device=device,
    )
