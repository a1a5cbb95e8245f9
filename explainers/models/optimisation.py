"""The optimiser step that all trainings share: the gradient clipped to length 1, then one step."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


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
