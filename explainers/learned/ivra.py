"""IvRA, interpretability via regularized attention (Xie et al., BlackboxNLP 2024): trained weights read the attention.

    Q̃ = NORM(ω_Q⊙Q),  K̃ = NORM(ω_K⊙K),  ψ^h = 1/L Σ_n q̃_n·K̃ᵀ       NORM: softmax or sparsemax      (Eq. 1-2, 4)
    Ψ_ℓ = NORM(s·Σ_h λ̂_h ψ^h),  r = Σ_ℓ η̂_ℓ Ψ_ℓ                       a hat is NORM of a weight       (Eq. 3, 5)

    COMP: μ + max(-μ, CE(x) - CE(x without t_k)), μ = 1      t_k: the top k % of the words          (Eq. 10)
    SUFF: μ + max(-μ, CE(t_k) - CE(x)), μ = 0.1              CE with the predicted class             (Eq. 11)
    CONS: KL(r_i‖r_j) / (‖H_i - H_j‖ + ε)                    H: mean hidden state, KL symmetric      (Eq. 13)
          or 1 - ρ(distances of r, distances of H)           what CONS measures, an addition         (Eq. 12)
    SIM:  a student's error after one step on the model's predictions and on r, see `student`         (Eq. 14-15)

The model is frozen (`ivra_full` trains it too). The cut t_k has no gradient. Here it is relaxed: a word is inside by
σ((log r - θ)/T), θ lying between the last word inside and the first outside, and T falls during the training. With
`relaxation="straight"` the loss is that of the hard cut and only its gradient that of the sigmoid. The spec lists more.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, cast

import torch
from pydantic import AfterValidator, Field
from pydantic_core import PydanticKnownError
from torch import Tensor, nn
from torch.nn import functional

from explainers.errors import ExplanationError
from explainers.learned import ivra_readout, recipe, specs, student
from explainers.learned.batches import Batch, StatesRead
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import forward_with_soft_mask, layer_count, mean_states
from explainers.results.attribution import PERCENTS, top_count
from explainers.training.spec import validated

CRITERIA, LEVELS = ("sim", "comp", "suff", "cons"), ("feature", "head", "layer")
COMP_MARGIN, SUFF_MARGIN = 1.0, 0.1
SMALLEST = 1e-4  # added to r before its logarithm
POSITIONS = 32  # at which CONS compares texts


def joined_from(choices: tuple[str, ...]) -> AfterValidator:
    """Accepts one of the choices, or several joined by "+"."""

    def checked(value: str) -> str:
        if set(value.split("+")) - set(choices):
            raise PydanticKnownError(
                "literal_error", {"expected": f"one of {', '.join(choices)}, or several joined by +"}
            )
        return value

    return AfterValidator(checked)


@validated
@dataclass(frozen=True)
class Ivra:
    """`criterion` is one of sim, comp, suff, cons, or several joined by "+"; `levels` are what is learned."""

    criterion: Annotated[
        str,
        joined_from(CRITERIA),
        Field(description="What the weights are trained for: sim, comp, suff or cons, or several joined by +."),
    ] = "comp"
    norm: Annotated[
        ivra_readout.Norm,
        Field(
            title="NORM",
            description="NORM in the formula. Sparsemax gives most words exactly 0, softmax none.",
        ),
    ] = "sparsemax"
    levels: Annotated[
        str,
        joined_from(LEVELS),
        Field(description="Which weights are learned: feature, head and layer, joined by +. The others stay uniform."),
    ] = "feature+head+layer"
    smat: Annotated[
        bool,
        Field(
            title="SMaT",
            description="Learn a weight per attention head alone, as SMaT does, instead of the read-out with three "
            "levels.",
        ),
    ] = False
    relaxation: Annotated[
        Literal["soft", "straight"],
        Field(
            description="How the cut at the top k % gets a gradient. soft: words fade near the cut. straight: the loss "
            "is that of the hard cut, its gradient that of the soft one."
        ),
    ] = "soft"
    temperature: Annotated[float, Field(gt=0, description="How soft the cut is at the start, more than 0.")] = (
        1.0  # T, as a share of the spread of log r in a text
    )
    last_temperature: Annotated[
        float, Field(gt=0, description="How soft the cut is at the end, more than 0. In between it falls evenly.")
    ] = 0.3
    student_rate: Annotated[
        float, Field(ge=0, description="Learning rate of SIM's student. Only the criterion sim reads it.")
    ] = 2.0
    consistency: Annotated[
        Literal["ratio", "correlation"],
        Field(
            description="The loss of CONS. ratio: divergence of explanations by distance of states, as in the paper. "
            "correlation: of both distances, which is what CONS measures. Only the criterion cons reads it."
        ),
    ] = "ratio"
    epochs: recipe.Epochs = 6
    validations: recipe.Validations = 1
    precision: recipe.PassPrecision = "float32"
    batch: recipe.BatchSize = 32
    learning_rate: recipe.LearningRate = 5e-2
    weight_decay: recipe.WeightDecay = 0.0
    seed: recipe.Seed = 0
    select: recipe.KeptWeights = "difference"
    method: ClassVar[str] = specs.IVRA.id
    distribution: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.batch < 2 and not {"sim", "cons"}.isdisjoint(self.criterion.split("+")):
            raise ExplanationError(f"{self.criterion} compares texts; choose a batch of at least 2.")

    def rate(self, done: float) -> float:
        return 1 - done

    def reads(self, model: FrozenModel) -> StatesRead:
        every = range(1, layer_count(model) + 1) if "cons" in self.criterion.split("+") else ()
        return StatesRead(frozenset(every), projections=True)

    def module(self, model: FrozenModel) -> nn.Module:
        return ivra_readout.HeadMix(model) if self.smat else ivra_readout.Readout(model, self.norm, self.levels)

    def terms(
        self, module: nn.Module, model: FrozenModel, batch: Batch, generator: torch.Generator
    ) -> dict[str, Tensor]:
        inputs, internals = batch.inputs, batch.internals_of(model)
        r = cast(Tensor, module(internals, inputs))  # (B, L)
        words = inputs.reduce_to_units(r, "sum")  # (B, U)
        drawn = torch.randint(len(PERCENTS), (inputs.rows,), generator=generator)
        cuts = top_counts(inputs.units, [PERCENTS[place] for place in drawn.tolist()])
        temperature = self.temperature * (self.last_temperature / self.temperature) ** batch.done
        kept = top_words(words, inputs.units, cuts, temperature, hard=self.relaxation == "straight")

        whole = cross_entropy(model, internals.logits, batch.predicted)

        def without(removed: Tensor) -> Tensor:
            return error_without(model, batch, removed)

        losses: dict[str, Callable[[], Tensor]] = {
            "sim": lambda: (
                cast(student.WithStudent, module)
                .student_of(len(model.labels), self.seed, self.student_rate)
                .sim_loss(batch, words)
            ),
            "comp": lambda: comprehensiveness(whole, without(kept)).mean(),
            "suff": lambda: sufficiency(whole, without(1 - kept)).mean(),
            "cons": lambda: CONSISTENCY[self.consistency](words, inputs.units, mean_states(internals, inputs)),
        }
        terms = {name: losses[name]() for name in self.criterion.split("+")}
        total = torch.stack(list(terms.values())).sum()
        entropy = -(words * (words + 1e-12).log()).sum(1).mean()
        return {"total": total, **terms, "entropy": entropy}

    def scores(self, module: nn.Module, model: FrozenModel, batch: Batch) -> Tensor:
        return batch.inputs.reduce_to_units(module(batch.internals_of(model), batch.inputs), "sum")


def cross_entropy(model: FrozenModel, logits: Tensor, label: Tensor) -> Tensor:
    """-log p(label) of each text, (B, C), (B,) → (B,)."""
    logs = functional.logsigmoid(logits) if model.multi_label else logits.log_softmax(1)
    return -logs.gather(1, label[:, None])[:, 0]


def top_counts(units: Tensor, percents: Sequence[float]) -> Tensor:
    """How many words of each text, whose `units` are (B, U), are its top per cent: (B, 1)."""
    counts = [top_count(int(n), percent) for n, percent in zip(units.sum(1), percents, strict=True)]
    return torch.tensor(counts, device=units.device)[:, None]


def top_words(words: Tensor, units: Tensor, cuts: Tensor, temperature: float, *, hard: bool) -> Tensor:
    """How far each word is among the `cuts` (B, 1) top ones of its text: σ((log r - θ)/T), (B, U) → (B, U).

    θ lies midway between the last word inside and the first outside; T is a share of the spread of log r in the text.
    With `hard` it is 1 or 0, and only the gradient is the sigmoid's.
    """
    logs = (words + SMALLEST).log()
    known = logs.detach()
    ordered, order = known.masked_fill(~units, -torch.inf).sort(dim=1, descending=True, stable=True)
    nothing = -torch.inf  # which becomes a share of 0: what comes after the last word
    edges = functional.pad(ordered, (0, 1), value=nothing).clamp(min=math.log(SMALLEST))
    theta = (edges.gather(1, (cuts - 1).clamp(min=0)) + edges.gather(1, cuts)) / 2
    count = units.sum(1, keepdim=True).clamp(min=1)
    mean = (known * units).sum(1, keepdim=True) / count
    spread = (((known - mean) ** 2 * units).sum(1, keepdim=True) / count).sqrt()
    soft = ((logs - theta) / (temperature * spread).clamp(min=1e-3)).sigmoid() * units
    if not hard:
        return soft
    inside = (order.argsort(1) < cuts) & units
    return inside.to(words.dtype) + (soft - soft.detach())


def error_without(model: FrozenModel, batch: Batch, removed: Tensor) -> Tensor:
    """-log p of the texts without some words, `removed` (B, U) being 1 there, or between 0 and 1: (B,)."""
    return cross_entropy(model, forward_with_soft_mask(model, batch.inputs, 1 - removed).logits, batch.predicted)


def comprehensiveness(whole: Tensor, without: Tensor) -> Tensor:
    """From -log p of the whole text and of the one without its top words."""
    return COMP_MARGIN + (whole - without).clamp(min=-COMP_MARGIN)


def sufficiency(whole: Tensor, only: Tensor) -> Tensor:
    """From -log p of the whole text and of its top words alone."""
    return SUFF_MARGIN + (only - whole).clamp(min=-SUFF_MARGIN)


def consistency(words: Tensor, units: Tensor, states: Tensor) -> Tensor:
    """Mean over pairs of symmetric KL between word distributions, divided by the states' distance (B, d).

    Distributions (B, U) over the `units` of texts of different lengths are compared at the same relative positions.
    """
    smooth = resampled(words, units) + 1e-6
    smooth = smooth / smooth.sum(1, keepdim=True)
    first, second = torch.triu_indices(len(words), len(words), 1, device=words.device)
    p, q = smooth[first], smooth[second]  # (pairs, POSITIONS)
    distance = (states[first] - states[second]).norm(dim=1)
    divergence = ((p - q) * (p / q).log()).sum(1) / 2
    return torch.mean(divergence / (distance + 1e-3 * distance.median()).clamp(min=1e-6))  # also of equal states


def correlation(words: Tensor, units: Tensor, states: Tensor) -> Tensor:
    """1 - Pearson's ρ over pairs of texts between the distances of their explanations and of their states (B, d).

    Explanations are the logarithms of the shares (B, U) at the same relative positions, of mean 0 and length 1.
    """
    logs = resampled((words + SMALLEST).log() * units, units)
    centred = functional.normalize(logs - logs.mean(1, keepdim=True), dim=1)
    mine, theirs = functional.pdist(centred), functional.pdist(states)  # (pairs,) each
    return 1 - functional.cosine_similarity(mine - mine.mean(), theirs - theirs.mean(), dim=0)


CONSISTENCY: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {"ratio": consistency, "correlation": correlation}


def resampled(words: Tensor, units: Tensor) -> Tensor:
    """Shares (B, U) at POSITIONS relative positions of each text, linear between its words: (B, POSITIONS)."""
    last = (units.sum(1, keepdim=True) - 1).clamp(min=0)  # (B, 1)
    places = torch.linspace(0, 1, POSITIONS, device=words.device) * last
    below = places.floor().long()
    above = torch.minimum(below + 1, last)
    share = places - below
    return (1 - share) * words.gather(1, below) + share * words.gather(1, above)
