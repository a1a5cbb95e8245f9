"""The layers of a BERT-like encoder, taken apart: what each token contributes to each token's state.

In such a layer (Vaswani et al., 2017; normalised after every part) token i attends to the tokens j:

    z_i = x_i + Σ_j Σ_h A^h_ij W_O^h (W_V^h x_j + b_V^h) + b_O     y_i = LN₁(z_i)     x'_i = LN₂(y_i + FFN(y_i))

With the deviation σ(z_i) of the whole sum at hand, a layer norm is linear, so that z_i and y_i are sums over j. That
this is what a model computes is checked on the first tokens of every input: their states must be the model's own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from explainers.errors import ExplanationError
from explainers.models import batching, internals
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import NO_UNIT, Encoding
from explainers.results.attribution import floats

ROWS = 32  # tokens whose contributions are computed at once
TOLERANCE = 1e-3  # of the largest number of a state
NAMES = (  # of a layer's parts: BERT and what is built like it, and DistilBERT
    (
        "attention.self.value", "attention.output.dense", "attention.output.LayerNorm",
        "intermediate.dense", "intermediate.intermediate_act_fn", "output.dense", "output.LayerNorm",
    ),
    (
        "attention.v_lin", "attention.out_lin", "sa_layer_norm",
        "ffn.lin1", "ffn.activation", "ffn.lin2", "output_layer_norm",
    ),
)  # fmt: skip

Activation = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class LayerParts:
    """The parts of one layer, as modules."""

    value: nn.Linear
    output: nn.Linear
    attention_norm: nn.LayerNorm
    inner: nn.Linear
    activation: Activation
    outer: nn.Linear
    norm: nn.LayerNorm

    def attended(self, attention: Tensor, states: Tensor, rows: slice) -> Tensor:
        """What token j adds to z_i, but for b_O, for the tokens i in `rows`: (R, L, d), from (H, L, L), (L, d)."""
        heads = len(attention)
        values = by_head(self.value(states), heads)  # (L, H, d / H)
        projection = by_head(self.output.weight, heads)  # (d, H, d / H)
        projected = torch.einsum("jhe,dhe->jhd", values, projection)
        parts = torch.einsum("hij,jhd->ijd", attention[:, rows], projected)
        own = torch.arange(len(states))[rows]
        parts[torch.arange(len(own)), own] += states[rows]
        return parts

    @property
    def bias(self) -> Tensor:
        """What both biases add to z, (d,), because every row of the attention sums to 1."""
        return functional.linear(self.value.bias, self.output.weight, self.output.bias)

    def transformed(self, states: Tensor) -> Tensor:
        """y + FFN(y) of y (R, d)."""
        added: Tensor = self.outer(self.activation(self.inner(states)))
        return states + added


@dataclass(frozen=True)
class TakenApart:
    """A model's pass over one input of L tokens."""

    layers: tuple[LayerParts, ...]
    states: tuple[Tensor, ...]  # before each layer, and the last layer's output: (L, d) each
    attentions: tuple[Tensor, ...]  # (H, L, L) each


def taken_apart(model: FrozenModel, encoding: Encoding) -> TakenApart:
    """Raises `ExplanationError` where the model's layers are not built like BERT's, for images whose patches
    are no tokens, and for texts in windows."""
    if encoding.canvas is not None:
        raise ExplanationError(
            f"{model.name} does not read the patches that are explained, so its layers cannot be taken apart. "
            "Choose another method."
        )
    states = model.states(encoding)
    layers = _layers(model)
    if not states.attentions or len(layers) + 1 != len(states.hidden):
        raise _different(model)
    if any(layer.value.out_features != layer.output.in_features for layer in layers):
        raise _different(model)
    apart = TakenApart(layers, states.hidden, states.attentions)
    for layer, attention, before, after in zip(layers, apart.attentions, apart.states, apart.states[1:], strict=False):
        with torch.no_grad():
            whole = layer.attended(attention, before, slice(0, ROWS)).sum(1) + layer.output.bias
            ours = layer.norm(layer.transformed(layer.attention_norm(whole)))
        if not torch.allclose(ours, after[:ROWS], atol=TOLERANCE * float(after.abs().max()), rtol=0):
            raise _different(model)
    return apart


def contributions(model: FrozenModel, encoding: Encoding, share: "Share") -> tuple[float, ...]:
    """Per unit the part of its tokens in what the class is read from, by rollout: C = C_N · … · C_1, where a layer's
    C_ij are the `share` of token j in token i, of which each row is divided by its sum."""
    apart = taken_apart(model, encoding)
    tokens = len(encoding.ids)
    whole = torch.eye(tokens, device=model.device)
    with torch.no_grad(), batching.memory_errors():
        for layer, attention, states in zip(apart.layers, apart.attentions, apart.states, strict=False):
            model.meter.check()
            model.meter.pause()
            blocks = [share(layer, layer.attended(attention, states, rows)) for rows in blocks_of(tokens)]
            shares = torch.cat(blocks)
            whole = shares / shares.sum(1, keepdim=True).clamp(min=torch.finfo(shares.dtype).tiny) @ whole
    read = whole.mean(0) if model.mean_pooled else whole[0]
    return per_unit(encoding, read)


Share = Callable[[LayerParts, Tensor], Tensor]  # from the summands of z_i but for b_O (R, L, d) to (R, L)


def normalised(parts: Tensor, whole: Tensor, norm: nn.LayerNorm) -> Tensor:
    """The layer norm without its bias, applied to summands (R, K, d) of `whole` (R, d)."""
    deviation = (whole.var(-1, unbiased=False) + norm.eps).sqrt()[:, None, None]
    return (parts - parts.mean(-1, keepdim=True)) / deviation * norm.weight


def by_head(states: Tensor, heads: int) -> Tensor:
    """(…, d) → (…, H, d / H)."""
    return states.view(*states.shape[:-1], heads, -1)


def blocks_of(tokens: int) -> Iterator[slice]:
    return (slice(begin, begin + ROWS) for begin in range(0, tokens, ROWS))


def per_unit(encoding: Encoding, tokens: Tensor) -> tuple[float, ...]:
    """Sums of numbers per token, (L,), over the tokens of each unit."""
    owners = np.asarray(encoding.owners)
    owned = owners != NO_UNIT
    return floats(np.bincount(owners[owned], tokens.cpu().numpy()[owned], minlength=len(encoding.units)))


def _layers(model: FrozenModel) -> tuple[LayerParts, ...]:
    layers = internals.transformer_layers(model)
    for names in NAMES:
        try:
            return tuple(LayerParts(*(attrgetter(name)(layer) for name in names)) for layer in layers)
        except AttributeError:
            continue
    raise _different(model)


def _different(model: FrozenModel) -> ExplanationError:
    return ExplanationError(
        f"The layers of {model.name} are not built like BERT's, so they cannot be taken apart. Choose another method."
    )
