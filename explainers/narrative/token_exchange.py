"""Interchange interventions in the tokens of a middle layer, after which the frozen rest of the model is run.

What is exchanged are neurons of the mean over the tokens: every token of the base is shifted by the difference of the
source's mean and its own, in some neurons. So base and source may have different numbers of tokens.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from explainers.models.token_states import mean_of_tokens
from explainers.narrative.interchange import draw_neurons, exchange_neurons
from explainers.narrative.narrator_input import NarratorInput

Continued = Callable[[Tensor, Tensor], Tensor]  # the middle layer's tokens (B, L, d), real (B, L) → those of the last


def exchange_in_layer(
    inputs: NarratorInput, share: float, generator: torch.Generator, continued: Continued
) -> NarratorInput:
    """Every base with `share` of the neurons of its neighbour in the batch. c and last layer are those that follow."""
    tokens = inputs.tokens
    if tokens is None:
        raise ValueError("only inputs with tokens can be exchanged in a layer")
    middle = tokens.states[:, :, 0].float()  # (B, L, d)
    means = mean_of_tokens(middle, tokens.real)
    neurons = draw_neurons(means.shape[1], share, generator)
    shift = exchange_neurons(means, means.roll(-1, 0), neurons) - means  # (B, d)
    exchanged = middle + shift[:, None]
    last = continued(exchanged, tokens.real)
    states = torch.stack([exchanged, last], dim=2)
    return NarratorInput(mean_of_tokens(last, tokens.real), replace(tokens, states=states))
