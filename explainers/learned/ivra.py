"""IvRA, interpretability via regularized attention (Xie et al., BlackboxNLP 2024): the model's attention, read anew.

Trained weights for every feature (ω), head (λ) and layer (η) turn the frozen model's queries Q and keys K into one
distribution r over the tokens of words. NORM is softmax or sparsemax, the same everywhere; a hat is NORM of a weight:

    Q̃ = NORM(ω_Q⊙Q),  K̃ = NORM(ω_K⊙K)           over the features of each head          (Eq. 1-2)
    ψ^h = 1/L Σ_n q̃_n·K̃ᵀ                         the mean over all tokens that ask       (Eq. 4)
    Ψ_ℓ = NORM(s·Σ_h λ̂_h ψ^h),  r = Σ_ℓ η̂_ℓ Ψ_ℓ   over tokens; λ̂ over heads, η̂ over layers (Eq. 3, 5)

    COMP: μ + max(-μ, CE(x) - CE(x without t_k)), μ = 1      t_k: the top k % of the words     (Eq. 10)
    SUFF: μ + max(-μ, CE(t_k) - CE(x)), μ = 0.1              CE against the predicted class    (Eq. 11)
    CONS: KL(r_i‖r_j) / (‖H_i - H_j‖ + ε)                    H: mean hidden state              (Eq. 13)
    SIM:  a student's error after one step on the model's answers and on r (simulation.py)     (Eq. 14-15)

Where we differ: there is no code to compare with, and the paper trains the model itself (ivra_full.py does); here it is
frozen. t_k has no gradient in the paper's own terms; a straight-through sigmoid gives it one, with k drawn for each
step. The loss is that of the hard cut, but the model's own gradient is taken at a drawn point between the whole text
and what is left (`path`): at the end of the way it says little about words, and large steps by it lead r to chance.
Special tokens get nothing. Eq. 3 and 5 leave the axes of NORM open; ours make r a distribution without another
NORM. The trained factor s is ours: without it r is nearly uniform. It starts where the words' entropy is 0.8 of the
highest on the embedded sentiment model, 650 for softmax and 18 for sparsemax. KL is symmetric, on smoothed r.

`smat` is the coarser reading of Fernandes et al. (2022): softmax over tokens of raw attention logits, averaged over
the tokens that ask and mixed over all heads of all layers by a sparsemax of λ.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

import torch
from entmax import sparsemax  # type: ignore[import-untyped]
from torch import Tensor, nn
from torch.nn import functional

from explainers.errors import ExplanationError
from explainers.learned.batches import Batch
from explainers.learned.recipe import Select
from explainers.learned.simulation import Taught
from explainers.metrics.masking import PERCENTS, top
from explainers.models.classifier import FrozenModel
from explainers.models.inside import Inside, blended, heads, layers, width
from explainers.models.padded import Padded

if TYPE_CHECKING:
    from explainers.learned.weights import Fitted

Norm = Literal["softmax", "sparsemax"]

NORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": lambda values: values.softmax(-1),
    "sparsemax": lambda values: cast(Tensor, sparsemax(values, dim=-1)),
}
SCALES = {"softmax": 650.0, "sparsemax": 18.0}  # s at the start
BETAS = {"softmax": 5.0, "sparsemax": 1.0}  # how much the student looks at r, for SIM
CRITERIA, LEVELS = ("sim", "comp", "suff", "cons"), ("feature", "head", "layer")
COMP_MARGIN, SUFF_MARGIN = 1.0, 0.1


class Readout(Taught):
    """ω, λ, η and log s; all but the latter begin uniform, and stay so where their level is not in `levels`."""

    def __init__(self, model: FrozenModel, norm: Norm, levels: str) -> None:
        super().__init__()
        self.norm = norm
        shape = len(layers(model)), heads(model), width(model) // heads(model)
        learned = levels.split("+")
        self.omega_q = nn.Parameter(torch.ones(shape), requires_grad="feature" in learned)
        self.omega_k = nn.Parameter(torch.ones(shape), requires_grad="feature" in learned)
        self.head = nn.Parameter(torch.zeros(shape[:2]), requires_grad="head" in learned)  # λ
        self.layer = nn.Parameter(torch.zeros(shape[0]), requires_grad="layer" in learned)  # η
        self.log_scale = nn.Parameter(torch.tensor(math.log(SCALES[norm])))

    def forward(self, inside: Inside, inputs: Padded) -> Tensor:
        """r, (B, L)."""
        norm, shape = NORMS[self.norm], self.omega_q.shape
        queries = norm(by_head(inside.queries, shape) * self.omega_q[:, None, None])  # (layers, B, L, heads, d_k)
        keys = norm(by_head(inside.keys, shape) * self.omega_k[:, None, None])
        psi = pooled_products(queries, keys, inputs)  # (layers, B, heads, L)
        mixed = self.log_scale.exp() * torch.einsum("zh,zbhl->zbl", norm(self.head), psi)
        by_layer = norm(mixed.masked_fill(~inputs.owned, -torch.inf))  # (layers, B, L)
        return torch.einsum("z,zbl->bl", norm(self.layer), by_layer)

    def coefficients(self) -> dict[str, Tensor]:
        norm = NORMS[self.norm]
        mixes = {"lambda_hat": norm(self.head), "eta_hat": norm(self.layer)}
        return {"omega_q": self.omega_q, "omega_k": self.omega_k, **mixes}


class HeadMix(Taught):
    """SMaT's explainer: one λ for each head of each layer."""

    def __init__(self, model: FrozenModel) -> None:
        super().__init__()
        self.size = width(model) // heads(model)
        self.head = nn.Parameter(torch.zeros(len(layers(model)), heads(model)))

    def forward(self, inside: Inside, inputs: Padded) -> Tensor:
        """r, (B, L)."""
        shape = torch.Size((*self.head.shape, self.size))
        psi = pooled_products(by_head(inside.queries, shape), by_head(inside.keys, shape), inputs)
        mixed = torch.einsum("zh,zbhl->bl", self._weights(), psi) / math.sqrt(self.size)
        return mixed.masked_fill(~inputs.owned, -torch.inf).softmax(-1)

    def coefficients(self) -> dict[str, Tensor]:
        return {"lambda_hat": self._weights(), "eta_hat": self._weights().sum(1)}

    def _weights(self) -> Tensor:
        return NORMS["sparsemax"](self.head.flatten()).view_as(self.head)


def by_head(projections: tuple[Tensor, ...], shape: torch.Size) -> Tensor:
    """Every layer's (B, L, d) → (layers, B, L, heads, d_k)."""
    if len(projections) != shape[0]:
        raise ExplanationError(
            f"IvRA reads one query and one key projection per layer; {len(projections)} were found in {shape[0]} "
            "layers. Choose another method for this model."
        )
    stacked = torch.stack(projections)
    return stacked.view(*stacked.shape[:-1], *shape[1:])


def pooled_products(queries: Tensor, keys: Tensor, inputs: Padded) -> Tensor:
    """How much each token is looked at, the mean over all tokens that look: (layers, B, heads, L)."""
    asking = inputs.attention[:, :, None, None]  # (B, L, 1, 1)
    mean = (queries * asking).sum(2) / inputs.lengths[:, None, None]  # (layers, B, heads, d_k)
    return torch.einsum("zbhd,zblhd->zbhl", mean, keys)


def coefficients(module: nn.Module) -> dict[str, Tensor]:
    """What was learned: ω (layers, heads, d_k), λ̂ (layers, heads), η̂ (layers,); SMaT has no ω."""
    return {name: each.detach() for name, each in cast(Readout | HeadMix, module).coefficients().items()}


@dataclass(frozen=True)
class Ivra:
    """`criterion` is one of sim, comp, suff, cons, or several joined by "+"; `levels` are what is learned."""

    criterion: str = "comp"
    norm: Norm = "sparsemax"
    levels: str = "feature+head+layer"
    smat: bool = False
    temperature: float = 0.5  # of the straight-through sigmoid, as a share of the scores' spread in a text
    path: bool = True  # where the gradient of COMP and SUFF is taken
    student_rate: float = 0.02
    epochs: int = 2
    batch: int = 32
    learning_rate: float = 2e-2
    weight_decay: float = 0.0
    seed: int = 0
    select: Select = "last"
    method: str = "ivra"
    distribution: bool = True

    def __post_init__(self) -> None:
        for given, possible in ((self.criterion, CRITERIA), (self.levels, LEVELS), (self.norm, tuple(NORMS))):
            if unknown := set(given.split("+")) - set(possible):
                raise ExplanationError(f"IvRA does not know {min(unknown)!r}. Choose from: {', '.join(possible)}.")
        if self.batch < 2 and not {"sim", "cons"}.isdisjoint(self.criterion.split("+")):
            raise ExplanationError(f"{self.criterion} compares texts; choose a batch of at least 2.")

    def rate(self, done: float) -> float:
        return 1 - done

    def module(self, model: FrozenModel) -> nn.Module:
        return HeadMix(model) if self.smat else Readout(model, self.norm, self.levels)

    def terms(self, module: nn.Module, model: FrozenModel, batch: Batch, chance: torch.Generator) -> dict[str, Tensor]:
        inputs, inside = batch.inputs, batch.inside(model)
        r = cast(Tensor, module(inside, inputs))  # (B, L)
        words = inputs.pooled(r, "sum")  # (B, U)
        percent = PERCENTS[int(torch.randint(len(PERCENTS), (), generator=chance))]
        kept = top_words(words, inputs.units, percent, self.temperature)

        whole = cross_entropy(model, inside.logits, batch.predicted)
        places = torch.rand(inputs.rows, 1, generator=chance).to(words.device) if self.path else None

        def without(removed: Tensor) -> Tensor:
            return error_without(model, batch, removed, places)

        losses: dict[str, Callable[[], Tensor]] = {
            "sim": lambda: (
                cast(Taught, module)
                .taught(model, self.seed, self.student_rate)
                .lesson(inputs, batch.predicted, r, BETAS[self.norm])
            ),
            "comp": lambda: comprehensiveness(whole, without(kept)).mean(),
            "suff": lambda: sufficiency(whole, without(1 - kept)).mean(),
            "cons": lambda: consistency(words, mean_states(inside, inputs)),
        }
        found = {name: losses[name]() for name in self.criterion.split("+")}
        total = torch.stack(list(found.values())).sum()
        entropy = -(words * (words + 1e-12).log()).sum(1).mean()
        return {"total": total, **found, "percent": torch.tensor(float(percent)), "entropy": entropy}

    def scores(self, module: nn.Module, model: FrozenModel, batch: Batch) -> Tensor:
        return batch.inputs.pooled(module(batch.inside(model), batch.inputs), "sum")


def cross_entropy(model: FrozenModel, logits: Tensor, label: Tensor) -> Tensor:
    """-log p(label) of each text, (B, C), (B,) → (B,)."""
    logs = functional.logsigmoid(logits) if model.multi_label else logits.log_softmax(1)
    return -logs.gather(1, label[:, None])[:, 0]


def top_words(words: Tensor, units: Tensor, percent: float, temperature: float) -> Tensor:
    """1 for the top `percent` % of each text's words, else 0; the gradient is that of σ((r-θ)/T), (B, U) → (B, U).

    θ lies midway between the last word inside and the first outside; T is a share of the scores' spread in the text.
    """
    k = torch.tensor([[top(int(n), percent)] for n in units.sum(1)], device=words.device)  # (B, 1)
    ready = words.detach().masked_fill(~units, 0)
    ordered, order = words.detach().masked_fill(~units, -torch.inf).sort(dim=1, descending=True, stable=True)
    hard = (order.argsort(1) < k) & units
    edges = functional.pad(ordered, (0, 1)).clamp(min=0)  # no score is below 0, the next after the last word is 0
    theta = (edges.gather(1, (k - 1).clamp(min=0)) + edges.gather(1, k)) / 2
    count = units.sum(1, keepdim=True).clamp(min=1)
    mean = ready.sum(1, keepdim=True) / count
    spread = (((ready - mean) ** 2 * units).sum(1, keepdim=True) / count).sqrt()
    soft = ((words - theta) / (temperature * spread).clamp(min=1e-6)).sigmoid()
    return hard.to(words.dtype) + (soft - soft.detach())


def error_without(model: FrozenModel, batch: Batch, removed: Tensor, places: Tensor | None) -> Tensor:
    """-log p of the texts without some words, `removed` (B, U) being 1 there; with `places` (B, 1) ∈ [0, 1] the
    gradient is taken there on the way from the whole text to what is left."""
    if places is None:
        return cross_entropy(model, blended(model, batch.inputs, 1 - removed).logits, batch.predicted)
    with torch.no_grad():
        there = cross_entropy(model, blended(model, batch.inputs, 1 - removed).logits, batch.predicted)
    mask = 1 - places * removed.detach() - (removed - removed.detach())
    halfway = cross_entropy(model, blended(model, batch.inputs, mask).logits, batch.predicted)
    return there + (halfway - halfway.detach())


def comprehensiveness(whole: Tensor, without: Tensor) -> Tensor:
    """From -log p of the whole text and of the one without its top words."""
    return COMP_MARGIN + (whole - without).clamp(min=-COMP_MARGIN)


def sufficiency(whole: Tensor, only: Tensor) -> Tensor:
    """From -log p of the whole text and of its top words alone."""
    return SUFF_MARGIN + (only - whole).clamp(min=-SUFF_MARGIN)


def consistency(words: Tensor, states: Tensor) -> Tensor:
    """Mean over pairs of symmetric KL between word distributions (B, U), divided by the states' distance (B, d)."""
    smooth = (words + 1e-6) / (words + 1e-6).sum(1, keepdim=True)
    first, second = torch.triu_indices(len(words), len(words), 1, device=words.device)
    p, q = smooth[first], smooth[second]  # (pairs, U)
    distance = (states[first] - states[second]).norm(dim=1)
    divergence = ((p - q) * (p / q).log()).sum(1) / 2
    return torch.mean(divergence / (distance + 1e-3 * distance.median()))


def mean_states(inside: Inside, inputs: Padded) -> Tensor:
    """H: the mean over layers and tokens, (B, d)."""
    states = torch.stack(inside.hidden[1:]).mean(0)  # (B, L, d)
    return (states * inputs.attention[:, :, None]).sum(1).detach() / inputs.lengths[:, None]


def stored_coefficients(found: "Fitted") -> dict[str, Tensor]:
    """`coefficients` of weights on the disk, for which no model is needed."""
    from safetensors.torch import load_file

    recipe, kept = found.card["recipe"], load_file(found.path)
    norm = NORMS["sparsemax" if recipe["smat"] else recipe["norm"]]
    head = kept["head"].float() if "head" in kept else None
    ready: dict[str, Tensor] = {name: kept[name].float() for name in ("omega_q", "omega_k") if name in kept}
    if head is not None:
        ready["lambda_hat"] = norm(head.flatten()).view_as(head) if recipe["smat"] else norm(head)
    if "layer" in kept:
        ready["eta_hat"] = norm(kept["layer"].float())
    return ready
