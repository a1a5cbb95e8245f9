"""Interchange interventions (Geiger et al., 2021): some neurons of a base example take the values of a source example.

layer 0: the state c itself;  layers 1, 2, …: the outputs of the head's linear layers, before ReLU
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from explainers.errors import ExplanationError

SHARE = 0.2  # of a layer's neurons


def linear(head: nn.Sequential) -> list[nn.Linear]:
    """The head's linear layers, from the state to the classes."""
    return [part for part in head if isinstance(part, nn.Linear)]


def sizes(head: nn.Sequential) -> tuple[int, ...]:
    """How many neurons there are to exchange: of the state and of every layer but the classes."""
    layers = linear(head)
    return (layers[0].in_features, *(layer.out_features for layer in layers[:-1]))


def drawn(size: int, share: float, chance: torch.Generator) -> Tensor:
    """Numbers of `share` of the neurons, at least one, without replacement."""
    return torch.randperm(size, generator=chance)[: max(1, round(share * size))]


def activations(head: nn.Sequential, states: Tensor) -> list[Tensor]:
    """The state (B, d), then every linear layer's output before ReLU; the last are the logits (B, C)."""
    found, at = [states], states
    for part in head:
        at = part(at)
        if isinstance(part, nn.Linear):
            found.append(at)
    return found


def interchanged(head: nn.Sequential, base: Tensor, source: Tensor, layer: int, neurons: Tensor) -> Tensor:
    """The logits (B, C) of `base` (B, d) when `neurons` of `layer` have the values that `source` (B, d) gives them."""
    given = activations(head, source)[layer]
    found, number = (exchanged(base, given, neurons) if layer == 0 else base), 0
    for part in head:
        found = part(found)
        if isinstance(part, nn.Linear):
            number += 1
            found = exchanged(found, given, neurons) if number == layer else found
    return found


def realised(head: nn.Sequential, base: Tensor, source: Tensor, neurons: Tensor) -> Tensor:
    """The states (B, d) nearest to `base` whose first hidden layer has the values of `source` in `neurons`.

    c + W⁺ (h_source - h_base): the other neurons, and what the head cannot see of the state, stay as they are. The head
    answers to it as to the same exchange inside it.
    """
    weight = linear(head)[0].weight  # (h, d)
    values = [activations(head, each)[1] for each in (base, source)]
    change = exchanged(values[0], values[1], neurons) - values[0]  # (B, h)
    found: Tensor = base + change @ torch.linalg.pinv(weight).T
    return found


def exchanged(base: Tensor, source: Tensor, neurons: Tensor) -> Tensor:
    """`base` (…, n) with the values of `source` in `neurons`."""
    taken = torch.zeros(base.shape[-1], dtype=torch.bool, device=base.device)
    taken[neurons.to(base.device)] = True
    return torch.where(taken, source, base)


def numbers(text: str, size: int) -> tuple[int, ...]:
    """From "0-3, 17" to (0, 1, 2, 3, 17). Raises `ExplanationError` with what is possible."""
    found: set[int] = set()
    for part in filter(None, (each.strip() for each in text.split(","))):
        first, dash, last = part.partition("-")
        if not (first.strip().isdecimal() and (last.strip().isdecimal() or not dash)) or len(part) > 20:
            raise ExplanationError(f"{part!r} is not a neuron: give numbers and ranges such as 0-15, 40.")
        span = range(int(first), int(last or first) + 1)
        if not span or span[-1] >= size:
            raise ExplanationError(f"There is no neuron {part!r} in this layer: give numbers from 0 to {size - 1}.")
        found |= set(span)
    if not found:
        raise ExplanationError(f"Give neurons of this layer: numbers from 0 to {size - 1}, such as 0-15, 40.")
    return tuple(sorted(found))


def agreement(first: Sequence[int], second: Sequence[int]) -> float:
    """The share of places in which two rows of classes are equal."""
    return sum(one == other for one, other in zip(first, second, strict=True)) / max(len(first), 1)
