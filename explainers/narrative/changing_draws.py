"""Which interchange interventions change the model's class, by its head alone and before any sentence is generated.

A draw is the seed of `interchange_check.random_neurons`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from explainers.narrative.counterfactual import head_logits
from explainers.narrative.interchange import layer_sizes, run_with_exchange
from explainers.narrative.interchange_check import random_neurons

DRAWS = 100  # that are tried for two given examples
OPENING_DRAWS, OPENING_EXAMPLES = 20, 60  # that are tried to find an exchange to begin with


@dataclass(frozen=True)
class ChangingExchange:
    """The numbers of two examples and of a draw of neurons whose exchange changes the model's class."""

    base: int
    source: int
    draw: int


@torch.no_grad()
def first_change(head: nn.Sequential, states: Tensor, layer: int) -> ChangingExchange | None:
    """The first draw, and in it the first base and source of `states` (n, d), that change the class, if any."""
    some = states[:OPENING_EXAMPLES]
    classes = head_logits(head, some).argmax(1)
    for draw in range(OPENING_DRAWS):
        neurons = _neurons(head, layer, draw)
        for base in range(len(some)):
            exchanged = run_with_exchange(head, some[base].expand_as(some), some, layer, neurons).argmax(1)
            changed = (exchanged != classes[base]).nonzero()
            if len(changed):
                return ChangingExchange(base, int(changed[0]), draw)
    return None


@torch.no_grad()
def changing_draws(head: nn.Sequential, both: Tensor, layer: int) -> tuple[int, ...]:
    """The draws of 0 … 99 that change the class of the base; `both` (2, d) are the states of base and source."""
    base, source = both[:1], both[1:]
    before = int(head_logits(head, base).argmax())
    return tuple(
        draw
        for draw in range(DRAWS)
        if int(run_with_exchange(head, base, source, layer, _neurons(head, layer, draw)).argmax()) != before
    )


def _neurons(head: nn.Sequential, layer: int, draw: int) -> Tensor:
    return torch.tensor(random_neurons(layer_sizes(head)[layer], draw))
