"""Interchange interventions (Geiger et al., 2021): some neurons of a base example take the values of a source example.

layer 0: the state c itself;  layers 1, 2, …: the outputs of the head's linear layers, before ReLU
"""

import math

import torch
from torch import Tensor, nn

from explainers.errors import ExplanationError

SHARE = 0.2  # of a layer's neurons
MISSED = 1e-5  # probability that a neuron is never drawn


def linear_layers(head: nn.Sequential) -> list[nn.Linear]:
    """The head's linear layers, from the state to the classes."""
    return [part for part in head if isinstance(part, nn.Linear)]


def layer_sizes(head: nn.Sequential) -> tuple[int, ...]:
    """Numbers of neurons: of the state and of every hidden layer."""
    layers = linear_layers(head)
    return (layers[0].in_features, *(layer.out_features for layer in layers[:-1]))


def draw_neurons(size: int, share: float, generator: torch.Generator) -> Tensor:
    """Indices of `share` of the neurons, at least one, without replacement."""
    return torch.randperm(size, generator=generator)[: max(1, round(share * size))]


def steps_to_cover(neurons: int, share: float = SHARE, missed: float = MISSED) -> int:
    """Steps after which every neuron was exchanged at least once with probability 1 - `missed`, where each step draws
    `share` of them anew: N ≥ (ln n - ln δ) / -ln(1 - p), by the union bound (Bandyopadhyay et al., 2026, Eq. 14)."""
    return 1 if share >= 1 else math.ceil((math.log(neurons) - math.log(missed)) / -math.log1p(-share))


def activations(head: nn.Sequential, states: Tensor) -> list[Tensor]:
    """The state (B, d), then every linear layer's output before ReLU; the last are the logits (B, C)."""
    outputs, values = [states], states
    for part in head:
        values = part(values)
        if isinstance(part, nn.Linear):
            outputs.append(values)
    return outputs


def run_with_exchange(head: nn.Sequential, base: Tensor, source: Tensor, layer: int, neurons: Tensor) -> Tensor:
    """The logits (B, C) of `base` (B, d) when `neurons` of `layer` have the values that `source` (B, d) gives them."""
    source_values = activations(head, source)[layer]
    values, number = (exchange_neurons(base, source_values, neurons) if layer == 0 else base), 0
    for part in head:
        values = part(values)
        if isinstance(part, nn.Linear):
            number += 1
            values = exchange_neurons(values, source_values, neurons) if number == layer else values
    return values


def realise_in_state(head: nn.Sequential, base: Tensor, source: Tensor, neurons: Tensor) -> Tensor:
    """The states (B, d) nearest to `base` whose first hidden layer has the values of `source` in `neurons`.

    c + W⁺ (h_source - h_base): the other neurons, and what the head does not read of the state, stay as they are. The
    head's logits are those of the same exchange inside it.
    """
    weight = linear_layers(head)[0].weight  # (h, d)
    values = [activations(head, state)[1] for state in (base, source)]
    change = exchange_neurons(values[0], values[1], neurons) - values[0]  # (B, h)
    states: Tensor = base + change @ torch.linalg.pinv(weight).T
    return states


def exchange_neurons(base: Tensor, source: Tensor, neurons: Tensor) -> Tensor:
    """`base` (…, n) with the values of `source` in `neurons`."""
    exchanged = torch.zeros(base.shape[-1], dtype=torch.bool, device=base.device)
    exchanged[neurons.to(base.device)] = True
    return torch.where(exchanged, source, base)


def parse_neurons(text: str, size: int) -> tuple[int, ...]:
    """From "0-3, 17" to (0, 1, 2, 3, 17). Raises `ExplanationError` for neurons that the layer does not have."""
    neurons: set[int] = set()
    for part in filter(None, (name.strip() for name in text.split(","))):
        first, dash, last = part.partition("-")
        if not (first.strip().isdecimal() and (last.strip().isdecimal() or not dash)) or len(part) > 20:
            raise ExplanationError(f"{part!r} is not a neuron. Give numbers and ranges such as 0-15, 40.")
        span = range(int(first), int(last or first) + 1)
        if not span:
            raise ExplanationError(f"The range {part!r} runs backwards. Write the smaller number first.")
        if span[-1] >= size:
            noun = "range" if dash else "neuron"
            raise ExplanationError(f"The {noun} {part!r} is not in this layer. Give numbers from 0 to {size - 1}.")
        neurons |= set(span)
    if not neurons:
        raise ExplanationError(f"Give neurons of this layer: numbers from 0 to {size - 1}, such as 0-15, 40.")
    return tuple(sorted(neurons))
