"""The optimiser step that all trainings share: the gradient clipped to length 1, then one step.

Reads the checkpoint of an interrupted training.

The accuracy of a frozen model, measured through the same interface that explanations use.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel


def computes_in_bfloat16(device: torch.device) -> bool:
    """Return whether matrix products in bfloat16 are quick there. On a processor without vectors of 512 bits they take
    more than ten times as long as in float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and torch.backends.cpu.get_cpu_capability() == "AVX512"


def optimiser_step(loss: Tensor, weights: Sequence[nn.Parameter], optimiser: torch.optim.Optimizer) -> None:
    """One step down the loss; no gradient reaches anything but `weights`."""
    optimiser.zero_grad()
    for weight, gradient in zip(weights, torch.autograd.grad(loss, weights, allow_unused=True), strict=True):
        weight.grad = gradient
    clipped_step(weights, optimiser)


def clipped_step(weights: Sequence[nn.Parameter], *optimisers: torch.optim.Optimizer) -> None:
    """One step by the gradients that the weights hold, clipped together."""
    nn.utils.clip_grad_norm_(weights, 1.0)
    for optimiser in optimisers:
        optimiser.step()


def load_checkpoint(path: Path) -> dict[str, Any]:
    """The checkpoint at `path`: tensors, numbers and containers only.

    It lies in the run's own folder and is never fetched; `weights_only` still refuses anything that could run code.
    """
    checkpoint: dict[str, Any] = torch.load(path, weights_only=True)  # unpickles tensors and containers, no code
    return checkpoint


def accuracy(model: FrozenModel, examples: Sequence[Example]) -> float:
    """The share of the examples whose label is the most probable class."""
    correct = 0
    for example in examples:
        encoding = model.encode(example)
        correct += model.probabilities(encoding, np.ones((1, len(encoding.units)))).argmax() == example.label
    return float(correct / len(examples))
