"""A model in a folder from which every peer can load it, whatever its version of transformers."""

import json
from pathlib import Path
from typing import Any, cast

from safetensors.torch import save_file
from tokenizers import Tokenizer

from explainers.errors import ModelUnavailable
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.network import PooledClassifier

WEIGHTS, CONFIG, TOKENIZER = "weights.safetensors", "config.json", "tokenizer.json"
KEPT = (  # of the configuration: what the network is made of
    "hidden_act", "hidden_size", "initializer_range", "intermediate_size", "layer_norm_eps", "max_position_embeddings",
    "num_attention_heads", "num_hidden_layers", "pad_token_id", "type_vocab_size", "vocab_size",
)  # fmt: skip


def write_model(model: FrozenModel, folder: Path) -> None:
    """Weights, configuration and tokenizer. Raises `ModelUnavailable` for another model than an embedded one."""
    network = model.module
    if not isinstance(network, PooledClassifier) or len(model.input_names) > 1:
        raise ModelUnavailable(f"The peers read an embedded model of one text, as sst2; {model.name} is none.")
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().cpu().clone() for name, tensor in network.state_dict().items()}
    save_file(weights, folder / WEIGHTS)
    config = cast(Any, network.base_model.config).to_dict()
    entries = {name: config[name] for name in KEPT} | {"num_labels": len(model.labels)}
    (folder / CONFIG).write_text(json.dumps(entries), encoding="utf-8")
    tokenizer = cast(Tokenizer, model.tokenizer)
    (folder / TOKENIZER).write_text(tokenizer.to_str(), encoding="utf-8")
