"""The states of all tokens, for models that read the class from their mean, and interchange interventions in them.

What is exchanged are neurons of the mean over the tokens: every token of the base is shifted by the difference of the
source's mean and its own, in some neurons. So base and source may have different numbers of tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import PaddedBatch
from explainers.models.internals import classifier_head, forward_with_internals, transformer_layers
from explainers.narrative import interchange, narrator_input

Continued = Callable[[Tensor, Tensor], Tensor]  # the middle layer's tokens (B, L, d), real (B, L) → those of the last


@dataclass(frozen=True, eq=False)
class TokenStates:
    """What the head reads of B inputs, and the tokens of which it is the mean."""

    states: Tensor  # (B, d): c
    logits: Tensor  # (B, C)
    tokens: Tensor  # (B, L, 2, d): outputs of a middle layer and of the last one
    real: Tensor  # (B, L), true where there is a token


def batch_token_states(model: FrozenModel, batch: PaddedBatch, layer: int) -> TokenStates:
    """The token states of the middle layer `layer`, 1 is the first; no gradient.

    Raises `ExplanationError` where c is no mean of tokens or where there is no such layer.
    """
    classifier_head(model)  # raises where there is none
    count = len(transformer_layers(model))
    if not model.mean_pooled:
        raise ExplanationError(
            f"{model.name} does not read its class from the mean over its tokens, which this narrator needs. "
            "Fit cause_phi, cause_phi_ts or cause."
        )
    if not 0 < layer < count:
        raise ExplanationError(f"{model.name} has no middle layer {layer}. Give a number from 1 to {count - 1}.")
    internals = forward_with_internals(model, batch)
    last = internals.hidden[-1]
    tokens = torch.stack([internals.hidden[layer], last], dim=2)
    return TokenStates(mean_of_tokens(last, batch.attention), internals.logits, tokens, batch.attention)


def mean_of_tokens(tokens: Tensor, real: Tensor) -> Tensor:
    """(B, L, d) → (B, d), over the real tokens (B, L)."""
    share = real.to(tokens.dtype)[:, :, None]
    return (tokens * share).sum(1) / share.sum(1)


def continue_from_layer(model: FrozenModel, tokens: Tensor, real: Tensor, layer: int) -> Tensor:
    """The outputs (B, L, d) of the last layer when `layer` has the outputs `tokens` (B, L, d); real (B, L)."""
    padding = (~real)[:, None, None, :].to(tokens.dtype) * torch.finfo(tokens.dtype).min  # added to attention scores
    with model.meter.locked_batch(model.lock, 0):  # a part of a pass
        for part in transformer_layers(model)[layer:]:
            output = part(tokens, attention_mask=padding)
            tokens = output[0] if isinstance(output, tuple) else output
    return tokens


def exchange_in_layer(
    inputs: narrator_input.NarratorInput, share: float, generator: torch.Generator, continued: Continued
) -> narrator_input.NarratorInput:
    """Every base with `share` of the neurons of its neighbour in the batch. c and last layer are those that follow."""
    tokens = inputs.tokens
    if tokens is None:
        raise ValueError("only inputs with tokens can be exchanged in a layer")
    middle = tokens.states[:, :, 0].float()  # (B, L, d)
    means = mean_of_tokens(middle, tokens.real)
    neurons = interchange.draw_neurons(means.shape[1], share, generator)
    shift = interchange.exchange_neurons(means, means.roll(-1, 0), neurons) - means  # (B, d)
    exchanged = middle + shift[:, None]
    last = continued(exchanged, tokens.real)
    states = torch.stack([exchanged, last], dim=2)
    return narrator_input.NarratorInput(mean_of_tokens(last, tokens.real), replace(tokens, states=states))
