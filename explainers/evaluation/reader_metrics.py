"""What C2 gets from φ, and whether it follows the model inside: the consequences of how the leak is closed."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from explainers.narrative.interchange import activations, layer_sizes, run_with_exchange
from explainers.narrative.interchange_check import random_neurons

HELD = 0.99  # of the variance of F(c)


@dataclass(frozen=True)
class ReaderMetrics:
    """`directions` are the principal ones that hold 99 % of the variance of F(c). `followed` is the share of exchanges
    in the head's hidden layers after which C2, exchanged alike, has the model's new class. Those count that change the
    model's class and before which C2 agreed, so a C2 that keeps its class follows none; None where there are none."""

    directions: int
    followed: float | None


@torch.no_grad()
def reader_metrics(head: nn.Sequential, c2: nn.Sequential, states: Tensor, read: Tensor) -> ReaderMetrics:
    """Of n inputs with c = `states` (n, d) and F(c) = `read` (n, d). Every input is a base for every other one; in each
    hidden layer one draw of 20 % of the neurons is exchanged."""
    before, agreed = activations(head, states)[-1].argmax(1), c2(read).argmax(1)
    agreeing = (before == agreed).nonzero()[:, 0].tolist()
    changed = followed = 0
    for layer in range(1, len(layer_sizes(head))):
        neurons = torch.tensor(random_neurons(layer_sizes(head)[layer], 0))
        for base in agreeing:
            after, other = (
                run_with_exchange(part, given[base].expand_as(given), given, layer, neurons).argmax(1)
                for part, given in ((head, states), (c2, read))
            )
            moved = after != before[base]
            changed += int(moved.sum())
            followed += int((moved & (after == other)).sum())
    return ReaderMetrics(directions(read), followed / changed if changed else None)


def directions(read: Tensor) -> int:
    """How many principal directions hold 99 % of the variance of the rows (n, d); 0 where they are all equal."""
    exact = read.double()
    centred = exact - exact.mean(0)
    variances = torch.linalg.svdvals(centred).square().cpu().numpy()
    if variances.sum() < 1e-12:
        return 0
    return int(np.searchsorted(np.cumsum(variances) / variances.sum(), HELD) + 1)
