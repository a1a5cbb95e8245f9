"""Hidden states and attentions of one input, and the attention that each unit receives."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.models.inputs.encoding import NO_UNIT, Encoding

LONG = 128  # tokens


@dataclass(frozen=True)
class States:
    """The internals for one input of L tokens, with H heads and d dimensions."""

    hidden: tuple[Tensor, ...]  # embedding output, then every layer's output: (L, d) each
    attentions: tuple[Tensor, ...]  # per layer (H, L, L): row = the token that attends
    mean_pooled: bool  # whether the class is read from the mean over tokens, not from one
    last_token: bool = False  # whether that one is the last, not the first


def attention_per_unit(states: States, encoding: Encoding, *, last_layer: bool) -> NDArray[np.float64]:
    """The attention that each unit's tokens receive, (units,): the mean over layers, heads and attending tokens.

    With `last_layer` of that layer only and, unless the class is read from the mean, from the token that it is read
    from only.
    """
    if last_layer and not states.mean_pooled:
        received = states.attentions[-1].mean(dim=0)[-1 if states.last_token else 0]  # (L,)
    else:
        layers = states.attentions[-1:] if last_layer else states.attentions
        received = torch.stack(layers).mean(dim=(0, 1, 2))  # (L,)
    owners = np.asarray(encoding.owners)
    weights = received.cpu().numpy()[owners != NO_UNIT]
    return np.bincount(owners[owners != NO_UNIT], weights, minlength=len(encoding.units)).astype(float)


@contextmanager
def scaled_embeddings(base: nn.Module, multiplier: Tensor | None, name: str) -> Iterator[None]:
    """During the block the embedding output (B, L, d) of `base` is multiplied by (B, L); `name` is the model's."""
    if multiplier is None:
        yield
        return
    embeddings = getattr(base, "embeddings", None)
    if not isinstance(embeddings, nn.Module):
        raise ExplanationError(f"The operator “zero” needs an embedding layer that {name} does not have.")
    scale = multiplier[:, :, None]
    handle = embeddings.register_forward_hook(lambda _module, _args, output: output * scale.to(output.dtype))
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def quick_attention(base: nn.Module, tokens: int) -> Iterator[None]:
    """During the block long inputs go through torch's fused attention, where the architecture has it.

    It returns no attention weights and has no second derivatives, so that everything but masks takes the library's
    plain one; of short inputs the plain one is as quick. The caller holds the model's lock.
    """
    config, network = getattr(base, "config", None), getattr(base, "network", base)
    plain = getattr(config, "_attn_implementation", None) == "eager"
    if tokens < LONG or not plain or not getattr(network, "_supports_sdpa", False):
        yield
        return
    config._attn_implementation = "sdpa"  # type: ignore[union-attr]
    try:
        yield
    finally:
        config._attn_implementation = "eager"  # type: ignore[union-attr]
