"""CIMI, causality-inspired model interpreter (Wu et al., KDD 2023): a small decoder tells causes from the rest.

An LSTM and an MLP read every token's embedding v and the frozen model's last state of it, and give it a mask
M ∈ [0, 1]. With x_e = M⊙v the cause and x_u = (1-M)⊙v the rest:

    L_s = MSE(f(x_e), f(x)) - MSE(f(x_u), f(x))                        sufficiency                     (Eq. 3)
    L_i = MSE(M(x_int), M(x)),  x_int = M⊙v + (1-M)⊙((1-λ)v + λv')    intervention on the rest, λ~U(0, ε)  (Eq. 5)
    L_p = -log σ(M - M⁻)       M⁻: the decoder with another text's v   weak supervision                (Eq. 7)
    L   = L_s + α·L_i + L_p

L_s is lowest at a mask of ones; `sparsity` adds a price for the mean of M, which the paper does not have (0: none).
Where few texts depend on their words L_s is small, and the price could empty the mask: then the training begins anew
without it (`fitting_loop`).
Means are over words only. The method's spec lists the deviations from paper and code.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from explainers.learned import batches, recipe, specs
from explainers.models import internals
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import PaddedBatch
from explainers.training.spec import validated

Discrete = Literal["no", "gumbel", "hash"]


class Decoder(nn.Module):
    """φ: LSTM over [v; f_e(x)], then two linear layers with two outputs per token: not a cause, a cause."""

    def __init__(self, hidden_size: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2 * hidden_size, hidden, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(hidden, 16), nn.LeakyReLU(), nn.Linear(16, 2))

    def forward(self, embedded: Tensor, states: Tensor) -> Tensor:
        """(B, L, d) twice → logits (B, L, 2)."""
        read, _ = self.lstm(torch.cat([embedded, states], dim=-1))
        return cast(Tensor, self.mlp(read))


@validated
@dataclass(frozen=True)
class Cimi:
    """With a weight of 0 a term is switched off: the paper's CIMI-s, -i and -p; without `states` it is its CIMI-f."""

    sufficiency: Annotated[
        recipe.Weight,
        Field(
            title="Weight of sufficiency",
            description="Weight of the loss that asks for the model's answer from the causes alone.",
        ),
    ] = 1.0
    intervention_weight: Annotated[
        recipe.Weight,
        Field(
            title="Weight α of the intervention",
            description="Weight α of the loss that asks for the same mask when the rest is mixed with another text.",
        ),
    ] = 1.0
    weak_supervision: Annotated[
        recipe.Weight,
        Field(
            title="Weight of weak supervision",
            description="Weight of the loss that asks for higher masks for words of this text than for another text's.",
        ),
    ] = 1.0
    sparsity: Annotated[
        recipe.Weight,
        Field(
            title="Price of the mask",
            description="Price for the mean of the mask. With 0, the paper's loss, a mask of ones is the optimum. "
            "A price that empties the mask is given up.",
        ),
    ] = 0.3
    states: Annotated[
        bool, Field(description="Whether the decoder also reads the model's states, and not only the embeddings.")
    ] = True
    intervention: Annotated[
        Literal["mse", "cosine"],
        Field(description="How two masks are compared: by squared error as in the paper, or by cosine as in the code."),
    ] = "mse"
    epsilon: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            title="ε of the intervention",
            description="How much of another text is mixed into the rest at most, from 0 to 1.",
        ),
    ] = 0.2
    discrete: Annotated[
        Discrete,
        Field(
            description="How the mask becomes 0 or 1 in training: not at all, by Gumbel softmax, or by deep hashing."
        ),
    ] = "no"
    erasure: recipe.TrainingErasure = "mask"
    hidden: recipe.Width = 64
    select: recipe.KeptWeights = "difference"
    epochs: recipe.Epochs = 8
    validations: recipe.Validations = 2
    precision: recipe.PassPrecision = "float32"
    batch: recipe.BatchSize = 32
    learning_rate: recipe.LearningRate = 3e-3  # the authors' code: 1e-3 for 50 to 100 epochs
    weight_decay: recipe.WeightDecay = 0.0
    seed: recipe.Seed = 0
    method: ClassVar[str] = specs.CIMI.id
    distribution: ClassVar[bool] = False

    def without_price(self) -> "Cimi | None":
        return replace(self, sparsity=0.0) if self.sparsity else None

    def rate(self, done: float) -> float:
        return 1 - done

    def reads(self, model: FrozenModel) -> batches.StatesRead:
        return batches.StatesRead(frozenset({0, internals.layer_count(model)}), standardised=model.last_token)

    def module(self, model: FrozenModel) -> Decoder:
        return Decoder(internals.hidden_size(model), self.hidden)

    def terms(
        self, module: nn.Module, model: FrozenModel, batch: batches.Batch, generator: torch.Generator
    ) -> dict[str, Tensor]:
        inputs, rows, passed = batch.inputs, batch.inputs.rows, batch.internals_of(model)
        v, states = passed.hidden[0], passed.hidden[-1]  # (B, L, d) each
        logits = self._decoded(module, model, v, states)  # (B, L, 2)
        mask = self._units(inputs, logits)  # (B, U)
        shift = int(torch.randint(1, rows, (), generator=generator)) if rows > 1 else 0
        kept = self._discretised(inputs, logits, mask, generator)
        both = self._passed(model, inputs.doubled(), torch.cat([kept, 1 - kept])).probabilities(model)
        p_e, p_u = both[:rows], both[rows:]
        l_s = functional.mse_loss(p_e, batch.probabilities) - functional.mse_loss(p_u, batch.probabilities)
        negative = self._units(inputs, self._decoded(module, model, v.roll(shift, 0), states))
        l_p = -inputs.mean(functional.logsigmoid(mask - negative)).mean()
        l_i = self._intervened(module, model, inputs, v, mask, shift, generator)
        share = inputs.mean(mask).mean()
        total = self.sufficiency * l_s + self.intervention_weight * l_i + self.weak_supervision * l_p
        total = total + self.sparsity * share if self.sparsity else total
        return {"total": total, "L_s": l_s, "L_i": l_i, "L_p": l_p, "mean mask": share}

    def scores(self, module: nn.Module, model: FrozenModel, batch: batches.Batch) -> Tensor:
        passed = batch.internals_of(model)
        return self._units(batch.inputs, self._decoded(module, model, passed.hidden[0], passed.hidden[-1]))

    def _decoded(self, module: nn.Module, model: FrozenModel, v: Tensor, states: Tensor) -> Tensor:
        v, states = internals.readable(model, v), internals.readable(model, states)
        return cast(Tensor, module(v, states if self.states else torch.zeros_like(states)))

    def _units(self, inputs: PaddedBatch, logits: Tensor) -> Tensor:
        """(B, L, 2) → masks (B, U); a word's is its highest token's."""
        return inputs.reduce_to_units(logits.softmax(-1)[:, :, 1], "max")

    def _passed(self, model: FrozenModel, inputs: PaddedBatch, mask: Tensor) -> internals.Internals:
        if self.erasure == "mask":
            return internals.forward_with_soft_mask(model, inputs, mask)
        return internals.forward_with_internals(model, inputs, scale=inputs.spread(mask))

    def _intervened(
        self,
        module: nn.Module,
        model: FrozenModel,
        inputs: PaddedBatch,
        v: Tensor,
        mask: Tensor,
        shift: int,
        generator: torch.Generator,
    ) -> Tensor:
        """How far the mask moves when what it leaves out is mixed with another text."""
        if not self.intervention_weight:
            return v.new_zeros(())
        share = torch.rand(len(v), 1, 1, generator=generator).to(v.device) * self.epsilon  # λ
        m = inputs.spread(mask)[:, :, None]  # (B, L, 1)
        mixed = m * v + (1 - m) * ((1 - share) * v + share * v.roll(shift, 0))
        states = internals.forward_with_internals(model, inputs, embedding_output=mixed).hidden[-1]
        logits = self._decoded(module, model, mixed, states)
        after = self._units(inputs, logits)
        if self.intervention == "mse":
            return inputs.mean((after - mask) ** 2).mean()
        return -functional.cosine_similarity(after, mask, dim=0).mean()

    def _discretised(self, inputs: PaddedBatch, logits: Tensor, mask: Tensor, generator: torch.Generator) -> Tensor:
        """The mask itself, or 0 and 1 with the gradient of the soft one: Gumbel-softmax, or deep hashing's sign."""
        if self.discrete == "no":
            return mask
        if self.discrete == "hash":
            return mask + ((mask > 0.5).float() - mask).detach()
        uniform = torch.rand(logits.shape, generator=generator).clamp(1e-9, 1 - 1e-9).to(logits.device)
        soft = self._units(inputs, logits - torch.log(-torch.log(uniform)))
        return soft + ((soft > 0.5).float() - soft).detach()
