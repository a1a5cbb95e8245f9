"""DecompX (Modarressi et al., ACL 2023): the class's logit as a sum over words, carried through all of it.

Every token's state is kept as a sum of vectors, one per token of the input, x_i = Σ_k x_i←k, from the embeddings to the
logits. Linear parts and, with the deviation of the whole, layer norms act on each vector. An activation multiplies each
vector by f(Σ) / Σ, the slope from zero to the whole (§3.3); a bias is shared out by |b · x_i←k| (§3.4). So

    logit_y = Σ_k logit_y←k                  exactly,

which is checked on every input. The score of a word is the sum over its tokens; what special tokens have belongs to no
word. Where one class is explained rather than another, the difference of their logits is decomposed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explainers.errors import ExplanationError
from explainers.methods.registry import MethodSpec
from explainers.results.attribution import Attribution

if TYPE_CHECKING:
    from torch import Tensor, nn

    from explainers.attribution.decomposition import LayerParts
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding

MOST_TOKENS = 160  # the time grows with their square: for so many `sst2` takes 10 s on one core
TOLERANCE = 1e-3  # of the largest logit, or of 1

DECOMPX = MethodSpec(
    id="decompx",
    name="DecompX",
    group="Attention",
    kind="one by one",
    signed=True,
    idea="Writes every word's state as a sum over all words and carries it through attention, feed-forward parts and "
    "head: the class's logit becomes a sum over words.",
    caution="Do not believe small scores: how an activation or a bias is shared out among words is a convention.",
    formula=r"\mathrm{logit}_y=\sum_k \mathrm{logit}_{y\leftarrow k},"
    r"\quad s_u=\sum_{k\in u}\mathrm{logit}_{y\leftarrow k}",
    source="Modarressi et al., ACL 2023",
    implementation=f"{__name__}:DecompX",
    colour="#3c8c8c",
    default=False,
    one_window=True,
    deviations=(
        "Where the class is read from the mean over all tokens, as in the embedded models, their vectors are averaged; "
        "the paper reads it from one token.",
        "A bias is shared out equally where no vector has a product with it, as behind a ReLU that is off.",
    ),
    passes=lambda units, _samples, _steps: units + 2,
)


@dataclass(frozen=True)
class DecompX:
    """Costs two forward passes, and about one more per unit: each token carries its own vectors."""

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        import torch

        from explainers.attribution.decomposition import per_unit, taken_apart
        from explainers.models.batching import memory_errors

        if len(encoding.ids) > MOST_TOKENS:
            raise ExplanationError(
                f"DecompX reads at most {MOST_TOKENS} tokens, because its time grows with their square, and the input "
                f"has {len(encoding.ids):,}. Shorten the text."
            )
        apart = taken_apart(model, encoding)
        tokens, width = apart.states[0].shape
        with torch.no_grad(), memory_errors():
            logits = model.soft(encoding, torch.ones(1, len(encoding.units)))[0]
            vectors = torch.zeros(tokens, tokens, width, device=model.device)
            own = torch.arange(tokens)
            vectors[own, own] = apart.states[0]
            for layer, attention in zip(apart.layers, apart.attentions, strict=True):
                model.meter.pause()
                with model.meter.batch(0):
                    vectors = through_layer(layer, attention, vectors)
            model.meter.calls += len(encoding.units)  # about what it costs
            read = vectors.mean(0) if model.mean_pooled else vectors[0]  # (L, d)
            for part in head_parts(model):
                read = through(part, read[None])[0]
        if not torch.allclose(read.sum(0), logits, atol=TOLERANCE * max(1.0, float(logits.abs().max())), rtol=0):
            raise ExplanationError(f"The head of {model.name} cannot be taken apart. Choose another method.")
        versus = None if model.target is None else model.target.versus
        explained = read[:, label] if versus is None else read[:, label] - read[:, versus]
        return Attribution(DECOMPX.id, encoding, label, per_unit(encoding, explained), signed=DECOMPX.signed)


def through_layer(layer: "LayerParts", attention: "Tensor", vectors: "Tensor") -> "Tensor":
    """The vectors (L, K, d) of the states before a layer as those behind it; attention (H, L, L)."""
    import torch
    from torch.nn import functional

    from explainers.attribution.decomposition import blocks_of, by_head

    values = by_head(functional.linear(vectors, layer.value.weight), len(attention))  # (L, K, H, d / H)
    result = torch.empty_like(vectors)
    for rows in blocks_of(len(vectors)):
        mixed = torch.einsum("hij,jkhe->ikhe", attention[:, rows], values).flatten(-2)
        attended = with_bias(functional.linear(mixed, layer.output.weight), layer.bias) + vectors[rows]
        middle = through(layer.attention_norm, attended)
        inner = through(layer.activation, through(layer.inner, middle))
        result[rows] = through(layer.norm, through(layer.outer, inner) + middle)
    return result


def through(part: "nn.Module | Callable[[Tensor], Tensor]", vectors: "Tensor") -> "Tensor":
    """Summands (R, K, d) of the inputs (R, d) of a linear part, a layer norm or an activation as those of its outputs.

    An activation acts on each number by itself, and gives 0 for 0.
    """
    import torch
    from torch import nn
    from torch.nn import functional

    from explainers.attribution.decomposition import normalised

    if isinstance(part, nn.Dropout):  # of a model that is not trained
        return vectors
    if isinstance(part, nn.Linear):
        return with_bias(functional.linear(vectors, part.weight), part.bias)
    whole = vectors.sum(1)
    if isinstance(part, nn.LayerNorm):
        return with_bias(normalised(vectors, whole, part), part.bias)
    least = torch.finfo(whole.dtype).eps
    whole = whole.where(whole.abs() > least, least)
    return vectors * (part(whole) / whole)[:, None]


def with_bias(vectors: "Tensor", bias: "Tensor | None") -> "Tensor":
    """Summands (R, K, d) with the bias (d,), shared out by the size of its product with each of them (absdot), and
    equally where all of these are 0, as behind a ReLU that is off."""
    if bias is None:
        return vectors
    sizes = (vectors @ bias).abs()  # (R, K)
    whole = sizes.sum(1, keepdim=True)
    shares = (sizes / whole).where(whole > 0, 1 / sizes.shape[1])
    return vectors + shares[:, :, None] * bias


def head_parts(model: "FrozenModel") -> tuple["nn.Module | Callable[[Tensor], Tensor]", ...]:
    """What comes between the state that the class is read from and the logits, in order."""
    import torch
    from torch import nn

    module, pooler = model.module, getattr(model.base, "pooler", None)
    head, last, first = (getattr(module, name, None) for name in ("head", "classifier", "pre_classifier"))
    if isinstance(head, nn.Sequential):
        return tuple(head)
    if isinstance(first, nn.Linear) and isinstance(last, nn.Linear):  # DistilBERT
        return first, nn.ReLU(), last
    if pooler is not None and hasattr(pooler, "dense") and isinstance(last, nn.Linear):  # BERT
        return pooler.dense, pooler.activation, last
    dense, out = getattr(last, "dense", None), getattr(last, "out_proj", None)
    if isinstance(dense, nn.Linear) and isinstance(out, nn.Linear):  # RoBERTa, ELECTRA
        return dense, getattr(last, "activation", torch.tanh), out
    raise ExplanationError(f"{model.name} has a head that cannot be taken apart. Choose another method.")
