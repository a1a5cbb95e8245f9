"""What trainings share: the optimiser step, checkpoints, the accuracy of a frozen model, and low-rank adapters.

Adapters (LoRA; Hu et al., 2022) lie on a copy that shares the frozen weights: W·x + B·A·x, only A and B are new. peft
does the same, but importing it takes seconds that the app does not have; the tests compare with peft's result.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import shared_copy

SCALE = 2.0  # of B·A: alpha is twice the rank


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


class Adapted(nn.Module):
    """A frozen linear layer and its adapter; B begins at zero, so that nothing changes at first."""

    def __init__(self, linear: nn.Module, rank: int) -> None:
        super().__init__()
        self.linear = linear
        weight = cast(Tensor, linear.weight)
        outputs, inputs = weight.shape if isinstance(linear, nn.Linear) else weight.T.shape
        self.down = nn.Parameter(torch.empty(rank, inputs))  # A
        self.up = nn.Parameter(torch.zeros(outputs, rank))  # B
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    @property
    def weight(self) -> Tensor:
        """The frozen one, whose precision T5 reads."""
        return cast(Tensor, self.linear.weight)

    def forward(self, states: Tensor) -> Tensor:
        low = states @ self.down.T  # (…, rank)
        return cast(Tensor, self.linear(states) + SCALE * low @ self.up.T)


def adapted(encoder: nn.Module, rank: int) -> nn.Module:
    """A twin of `encoder` with an adapter on each linear layer; it shares the frozen weights and none of the hooks."""
    copied = shared_copy(encoder)
    for name, module in list(copied.named_modules()):
        if isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D":  # of GPT-2: its weight is (in, out)
            parent, _, last = name.rpartition(".")
            setattr(copied.get_submodule(parent), last, Adapted(module, rank))
    return copied


@contextmanager
def frozen_in_half_precision(encoder: nn.Module) -> Iterator[None]:
    """Keep the frozen weights in bfloat16 meanwhile, so that autocast need not convert them at every pass. Those of
    embeddings and of `nn.LayerNorm`, which takes no half precision, stay; norms of other classes are rounded like the
    rest. Everything in `encoder` must run under autocast."""
    exact_parts = [part for part in encoder.modules() if isinstance(part, nn.Embedding | nn.LayerNorm)]
    kept = {id(weight) for part in exact_parts for weight in part.parameters()}
    frozen = [weight for weight in encoder.parameters() if not weight.requires_grad and id(weight) not in kept]
    exact = [weight.data for weight in frozen]
    try:
        for weight in frozen:
            weight.data = weight.data.bfloat16()
        yield
    finally:
        for weight, data in zip(frozen, exact, strict=True):
            weight.data = data


def trainable(encoder: nn.Module) -> nn.Module:
    """A twin of `encoder` whose layers have weights of their own that are trained; the embeddings are shared."""
    copied = shared_copy(encoder)
    for name, module in copied.named_modules():
        if "embeddings" not in name.split(".") and not isinstance(module, nn.Embedding):
            for parameter, weight in list(module.named_parameters(recurse=False)):
                setattr(module, parameter, nn.Parameter(weight.detach().clone()))
    return copied
