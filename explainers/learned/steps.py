"""What every training here does the same: a step downhill, a line in the log, weights and card on the disk."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from explainers.models.base import sha256


def descend(loss: Tensor, weights: Sequence[nn.Parameter], optimiser: torch.optim.Optimizer) -> None:
    """One step of the optimiser, the gradient clipped to length 1; no gradient reaches anything but `weights`."""
    optimiser.zero_grad()
    for weight, gradient in zip(weights, torch.autograd.grad(loss, weights, allow_unused=True), strict=True):
        weight.grad = gradient
    nn.utils.clip_grad_norm_(weights, 1.0)
    optimiser.step()


def note(log: IO[str], values: Mapping[str, object]) -> None:
    """A line of JSON, at once on the disk."""
    print(json.dumps(values), file=log, flush=True)


def written(path: Path, weights: Mapping[str, Tensor], card: Mapping[str, Any]) -> dict[str, Any]:
    """The weights at `path` and beside them their card, which gets machine, parameters and checksum and is returned."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh, fresh_card = path.with_suffix(".new"), path.with_suffix(".json.new")
    save_file({name: weight.contiguous().cpu() for name, weight in weights.items()}, fresh)
    device = next((str(weight.device) for weight in weights.values()), "cpu")
    found = {
        **card,
        "machine": {"device": device, "threads": torch.get_num_threads(), "torch": torch.__version__},
        "parameters": sum(weight.numel() for weight in weights.values()),
        "sha256": sha256(fresh),
    }
    fresh_card.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    fresh.replace(path)  # both are whole before either takes its place
    fresh_card.replace(path.with_suffix(".json"))
    return found
