"""The bundle of `scenes`: all of its weights and its words, for it stands on no base model.

assets/bundles/scenes/weights.safetensors   fp16
assets/bundles/scenes/tokenizer.json        pieces of words
assets/bundles/scenes/card.json             as of every bundle, with "architecture": "scenes"
"""

from pathlib import Path

import torch
from tokenizers import Tokenizer

from explainers.models.bundle import weights
from explainers.models.cards import asks_of, card, damaged
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.network import SceneNetwork
from explainers.models.scenes.reader import MASK, PAD, UNK, ready

WORDS = "tokenizer.json"


def load_scenes(folder: Path, device: torch.device) -> SceneModel:
    known, trained = card(folder), weights(folder)
    try:
        tokenizer = ready(Tokenizer.from_file(str(folder / WORDS)))
    except Exception as error:  # the library raises bare `Exception`
        raise damaged(folder, f"{WORDS} cannot be read") from error
    network = SceneNetwork(tokenizer.get_vocab_size(), len(known["labels"]))
    try:
        network.load_state_dict(trained)
    except RuntimeError as error:
        raise damaged(folder, "weights.safetensors does not fit the architecture") from error
    return SceneModel(
        name=folder.name,
        labels=tuple(known["labels"]),
        module=network,
        tokenizer=tokenizer,
        filler=MASK,
        padding=PAD,
        version=known["sha256"][:12],
        asks=asks_of(known),
        unknown=UNK,
        english=True,
        pooled=True,
        device=device,
    )
