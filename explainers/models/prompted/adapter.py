"""A low-rank adapter that was trained for a shipped prompt, on the language model that its card names.

assets/prompts/<name>.yaml          the prompt
assets/prompts/<name>.safetensors   A and B of every linear layer, fp16: <layer>.down (r, in), <layer>.up (out, r)
assets/prompts/<name>.json          language model, recipe, data, command, accuracy, checksums
"""

import json
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from explainers.errors import ModelUnavailable
from explainers.models.lora import SCALE
from explainers.models.prompt import PROMPTS
from explainers.models.smollm2 import NAME as SMOLLM2
from explainers.models.text.base_weights import sha256


def adapter_file(prompt: str) -> Path:
    """The weights beside the shipped prompt of this name. Raises `ModelUnavailable` where there are none."""
    path = PROMPTS / f"{prompt}.safetensors"
    if not path.is_file():
        raise ModelUnavailable(f"The prompt {prompt!r} has an adapter, but {path.name} is not in assets/prompts.")
    return path


def add_adapter(network: Any, path: Path, model: str) -> None:
    """Adds the adapter to the weights it adapts, W + 2·B·A. Raises `ModelUnavailable` if it is damaged or was trained
    on another language model."""
    if model != SMOLLM2:
        raise ModelUnavailable(f"The prompt {path.stem!r} has weights for {SMOLLM2}. Choose {SMOLLM2}:{path.stem}.")
    try:
        card: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        if sha256(path) != card["sha256"]:
            raise _damaged(path)
        tensors = {name: tensor.float() for name, tensor in load_file(path).items()}
        with torch.no_grad():
            for layer in sorted(name.removesuffix(".down") for name in tensors if name.endswith(".down")):
                weight = cast(Tensor, network.base_model.get_submodule(layer).weight)
                weight += SCALE * tensors[f"{layer}.up"] @ tensors[f"{layer}.down"]
    except (OSError, ValueError, KeyError, AttributeError, RuntimeError, SafetensorError) as error:
        raise _damaged(path) from error


def _damaged(path: Path) -> ModelUnavailable:
    return ModelUnavailable(f"{path.name} is damaged. Restore it with `git checkout -- assets/prompts`.")
