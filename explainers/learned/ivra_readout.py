"""What IvRA trains: weights that read the frozen model's attention (`ivra` has the formulas).

`Readout`: ω for every feature, λ for every head, η for every layer. NORM runs over features, heads, tokens and layers.
The trained factor s is an addition: without it r is nearly uniform. It starts where the entropy of the words is 0.8 of
the highest on the embedded sentiment model.

`HeadMix` is the coarser variant of Fernandes et al. (2022): softmax over tokens of raw attention logits, averaged over
the attending tokens and mixed over all heads of all layers by a sparsemax of λ.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, cast

import torch
from entmax import sparsemax  # type: ignore[import-untyped]
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.learned.student import WithStudent
from explainers.models import internals
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import PaddedBatch

if TYPE_CHECKING:
    from explainers.training.artifacts import Artifact


def finite_sparsemax(values: Tensor) -> Tensor:
    """Over the last dimension; NaN where a training has diverged, as softmax gives, so that its loss tells."""
    if not bool(values.amax() < torch.inf):
        return torch.full_like(values, torch.nan)
    return cast(Tensor, sparsemax(values, dim=-1))


Norm = Literal["softmax", "sparsemax"]

NORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": lambda values: values.softmax(-1),
    "sparsemax": finite_sparsemax,
}
SCALES = {"softmax": 650.0, "sparsemax": 18.0}  # s at the start


class Readout(WithStudent):
    """ω, λ, η and log s; all but the latter begin uniform, and stay so where their level is not in `levels`."""

    def __init__(self, model: FrozenModel, norm: Norm, levels: str) -> None:
        super().__init__()
        self.norm, self.causal, self.key_heads = norm, model.causal, internals.key_head_count(model)
        shape = (
            internals.layer_count(model),
            internals.attention_head_count(model),
            internals.attention_head_size(model),
        )
        learned = levels.split("+")
        self.omega_q = nn.Parameter(torch.ones(shape), requires_grad="feature" in learned)
        self.omega_k = nn.Parameter(torch.ones(shape), requires_grad="feature" in learned)
        self.head = nn.Parameter(torch.zeros(shape[:2]), requires_grad="head" in learned)  # λ
        self.layer = nn.Parameter(torch.zeros(shape[0]), requires_grad="layer" in learned)  # η
        self.log_scale = nn.Parameter(torch.tensor(math.log(SCALES[norm])))

    def forward(self, states: internals.Internals, inputs: PaddedBatch) -> Tensor:
        """r, (B, L)."""
        norm, shape = NORMS[self.norm], self.omega_q.shape
        queries = norm(by_head(states.queries, shape) * self.omega_q[:, None, None])  # (layers, B, L, heads, d_k)
        keys = norm(by_head(states.keys, shape, self.key_heads) * self.omega_k[:, None, None])
        psi = pooled_products(queries, keys, inputs, causal=self.causal)  # (layers, B, heads, L)
        mixed = self.log_scale.exp() * torch.einsum("zh,zbhl->zbl", norm(self.head), psi)
        by_layer = norm(mixed.masked_fill(~inputs.owned, -torch.inf))  # (layers, B, L)
        return torch.einsum("z,zbl->bl", norm(self.layer), by_layer)

    def coefficients(self) -> dict[str, Tensor]:
        norm = NORMS[self.norm]
        mixes = {"lambda_hat": norm(self.head), "eta_hat": norm(self.layer)}
        return {"omega_q": self.omega_q, "omega_k": self.omega_k, **mixes}


class HeadMix(WithStudent):
    """SMaT's explainer: one λ for each head of each layer."""

    def __init__(self, model: FrozenModel) -> None:
        super().__init__()
        self.size, self.causal, self.key_heads = (
            internals.attention_head_size(model),
            model.causal,
            internals.key_head_count(model),
        )
        self.head = nn.Parameter(torch.zeros(internals.layer_count(model), internals.attention_head_count(model)))

    def forward(self, states: internals.Internals, inputs: PaddedBatch) -> Tensor:
        """r, (B, L)."""
        shape = torch.Size((*self.head.shape, self.size))
        queries, keys = by_head(states.queries, shape), by_head(states.keys, shape, self.key_heads)
        psi = pooled_products(queries, keys, inputs, causal=self.causal)
        mixed = torch.einsum("zh,zbhl->bl", self._weights(), psi) / math.sqrt(self.size)
        return mixed.masked_fill(~inputs.owned, -torch.inf).softmax(-1)

    def coefficients(self) -> dict[str, Tensor]:
        return {"lambda_hat": self._weights(), "eta_hat": self._weights().sum(1)}

    def _weights(self) -> Tensor:
        return NORMS["sparsemax"](self.head.flatten()).view_as(self.head)


def by_head(projections: tuple[Tensor, ...], shape: torch.Size, present: int = 0) -> Tensor:
    """Every layer's (B, L, heads · d_k) → (layers, B, L, heads, d_k).

    Where only so many heads are `present`, groups of heads share one, as with grouped-query attention.
    """
    if len(projections) != shape[0]:
        raise ExplanationError(
            f"IvRA reads one query and one key projection per layer; the model has {len(projections)} in {shape[0]} "
            "layers. Choose another method for this model."
        )
    stacked, (_, heads, size) = torch.stack(projections), shape
    present = present or heads
    if stacked.shape[-1] != present * size:
        raise ExplanationError(
            f"IvRA reads {present} heads of {size} numbers per layer; the model's projections have {stacked.shape[-1]} "
            "numbers. Choose another method for this model."
        )
    return stacked.view(*stacked.shape[:-1], present, size).repeat_interleave(heads // present, dim=-2)


def pooled_products(queries: Tensor, keys: Tensor, inputs: PaddedBatch, *, causal: bool) -> Tensor:
    """How much each token is looked at, the mean over all tokens that look: (layers, B, heads, L).

    In a `causal` model a token and those behind it look at it; in others all of them do.
    """
    attending = inputs.attention[:, :, None, None]  # (B, L, 1, 1)
    looking = queries * attending
    if causal:
        behind = looking.flip(2).cumsum(2).flip(2)  # (layers, B, L, heads, d_k): the sum from each token on
        counts = attending.float().flip(1).cumsum(1).flip(1).clamp(min=1)
        return torch.einsum("zblhd,zblhd->zbhl", behind / counts, keys)
    mean = looking.sum(2) / inputs.lengths[:, None, None]  # (layers, B, heads, d_k)
    return torch.einsum("zbhd,zblhd->zbhl", mean, keys)


def coefficients(module: nn.Module) -> dict[str, Tensor]:
    """What was learned: ω (layers, heads, d_k), λ̂ (layers, heads), η̂ (layers,); SMaT has no ω."""
    return {name: coefficient.detach() for name, coefficient in cast(Readout | HeadMix, module).coefficients().items()}


def stored_coefficients(artifact: "Artifact") -> dict[str, Tensor]:
    """`coefficients` of weights on the disk, for which no model is needed."""
    from safetensors.torch import load_file

    recipe, weights = artifact.card["recipe"], load_file(artifact.path)
    norm = NORMS["sparsemax" if recipe["smat"] else recipe["norm"]]
    head = weights["head"].float() if "head" in weights else None
    values: dict[str, Tensor] = {name: weights[name].float() for name in ("omega_q", "omega_k") if name in weights}
    if head is not None:
        values["lambda_hat"] = norm(head.flatten()).view_as(head) if recipe["smat"] else norm(head)
    if "layer" in weights:
        values["eta_hat"] = norm(weights["layer"].float())
    return values
