"""CIEM, causal identifiable explanation model (Liu, Zhang et al.): a variational autoencoder with an attention.

X are a text's embeddings, A = f_k(X) the frozen model's states after layer k, Y = f(X) its probabilities. Every token
has latents Z_wa, Z_wb ∈ R^r and (XZ_v) ∈ R^d, with posterior q(Z|X,A,Y), prior p(Z|A,Y), both diagonal Gaussians, and
decoder p(X|Z,Y). Z_w = Z_wb·Z_waᵀ / n acts as the attention, Z = Z_w(XZ_v) as the states A:

    S_j  = Norm(Σ_i Z_w(i, j)) = Norm(Z_wa[j]·Σ_i Z_wb[i])              min-max over a text's words          (Eq. 3)
    ELBO = E_q log p(X|Z,Y) - KL(q‖p),   Dis = cosine(f_k(S⊙X), f_k(X)),   ŷ = f_h(Z)                  (Eq. 8, 11)
    L    = CE(y, ŷ) - α·ELBO - τ·Dis                                                                       (Eq. 12)

Only Dis fixes the sign of S: -Z_w with -XZ_v give the same Z. log p and KL are means over the entries of X, and f_h
reads Z in place of layer k's output. The authors have published no code; the spec lists our choices.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
import torch
from pydantic import Field
from scipy.stats import spearmanr
from torch import Tensor, nn
from torch.nn import functional

from explainers.errors import ExplanationError
from explainers.learned import recipe, specs
from explainers.learned.batches import Batch, StatesRead
from explainers.models import internals
from explainers.models.encoder_decoder import EncoderBase
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.padded_batch import PaddedBatch
from explainers.training.spec import validated

DRAWS = 20
FLAT = 1e-6  # raw sums of a text that are closer than this all get 0.5
LOG_VARIANCE = (-6.0, 2.0)


@dataclass(frozen=True)
class Gaussian:
    """A diagonal Gaussian over every token's latents Z_wa, Z_wb, (XZ_v), in this order."""

    mean: Tensor  # (B, L, 2r+d)
    log_variance: Tensor  # (B, L, 2r+d)

    def sample(self, generator: torch.Generator) -> Tensor:
        noise = torch.randn(self.mean.shape, generator=generator).to(self.mean.device)
        return self.mean + (self.log_variance / 2).exp() * noise

    def divergence(self, prior: "Gaussian") -> Tensor:
        """KL(self‖prior) of every latent."""
        ratio = self.log_variance - prior.log_variance
        away = (self.mean - prior.mean) ** 2 / prior.log_variance.exp()
        return (ratio.exp() + away - 1 - ratio) / 2


class Autoencoder(nn.Module):
    """Encoder, prior and decoder; each reads one token, A brings the context."""

    def __init__(self, d: int, classes: int, r: int, hidden: int, *, composite: bool) -> None:
        super().__init__()
        latents = 2 * r + d
        self.encoder = nn.Sequential(
            nn.Linear(2 * d + classes, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(),
            nn.Linear(hidden, 2 * latents),
        )  # fmt: skip
        self.prior = nn.Sequential(nn.Linear(d + classes, hidden), nn.GELU(), nn.Linear(hidden, 2 * latents))
        self.decoder = nn.Sequential(
            nn.Linear((d if composite else latents) + classes, hidden), nn.GELU(), nn.Linear(hidden, d)
        )

    def posterior(self, x: Tensor, a: Tensor, y: Tensor) -> Gaussian:
        return gaussian(self.encoder(torch.cat([x, a, y], dim=-1)))

    def expected(self, a: Tensor, y: Tensor) -> Gaussian:
        """p(Z|A,Y)."""
        return gaussian(self.prior(torch.cat([a, y], dim=-1)))

    def decoded(self, z: Tensor, y: Tensor) -> Tensor:
        return cast(Tensor, self.decoder(torch.cat([z, y], dim=-1)))


def gaussian(parameters: Tensor) -> Gaussian:
    mean, log_variance = parameters.chunk(2, dim=-1)
    return Gaussian(mean, log_variance.clamp(*LOG_VARIANCE))


@validated
@dataclass(frozen=True)
class Ciem:
    """`layer` is k, from 1; 0 is the last. `conditional=False` is the paper's unconditional schema, without Y."""

    layer: Annotated[
        int,
        Field(ge=0, description="The layer k of the model whose states are explained, from 1; 0 is the last."),
    ] = 0
    r: Annotated[
        int,
        Field(
            ge=1,
            title="r",
            description="Width of the two latent variables whose product is the matrix of the scores.",
        ),
    ] = 32
    alpha: Annotated[
        recipe.Weight, Field(title="α of the ELBO", description="Weight of the evidence lower bound (ELBO).")
    ] = 0.9
    tau: Annotated[
        recipe.Weight,
        Field(
            title="τ of faithfulness",
            description="Weight of the faithfulness term, which alone fixes the sign of the scores.",
        ),
    ] = 1.0
    cross_entropy: Annotated[
        bool,
        Field(
            title="Cross-entropy", description="Whether the latent variables also have to lead to the model's answer."
        ),
    ] = True
    conditional: Annotated[
        bool, Field(description="Whether encoder, prior and decoder also read the model's answer Y.")
    ] = True
    decoder_input: Annotated[
        Literal["composite", "concat"],
        Field(description="What the decoder reads: Z, or every token's latent variables side by side."),
    ] = "composite"
    erasure: recipe.TrainingErasure = "mask"
    hidden: recipe.Width = 384
    select: recipe.KeptWeights = "difference"  # Dis alone draws every score towards 1 in time, and the ranking fades
    epochs: recipe.Epochs = 3
    validations: recipe.Validations = 2
    precision: recipe.PassPrecision = "float32"
    batch: recipe.BatchSize = 32
    learning_rate: recipe.LearningRate = 5e-4  # the paper: 2e-4 for 10 epochs of larger sets
    weight_decay: recipe.WeightDecay = 0.0
    seed: recipe.Seed = 0
    method: ClassVar[str] = specs.CIEM.id
    distribution: ClassVar[bool] = False

    def rate(self, done: float) -> float:
        return 1.0

    def reads(self, model: FrozenModel) -> StatesRead:
        return StatesRead(frozenset({0, self._k(model)}), standardised=model.last_token)

    def module(self, model: FrozenModel) -> Autoencoder:
        classes = len(model.labels) if self.conditional else 0
        return Autoencoder(
            internals.hidden_size(model), classes, self.r, self.hidden, composite=self.decoder_input == "composite"
        )

    def terms(
        self, module: nn.Module, model: FrozenModel, batch: Batch, generator: torch.Generator
    ) -> dict[str, Tensor]:
        network, inputs = cast(Autoencoder, module), batch.inputs
        x, a, y = self._observed(model, batch)
        posterior, prior = network.posterior(x, a, y), network.expected(a, y)
        latents = posterior.sample(generator)
        z = self._composite(inputs, latents)  # (B, L, d)
        decoded = network.decoded(z if self.decoder_input == "composite" else latents, y)
        recon = -over_tokens(inputs, ((x - decoded) ** 2).sum(-1)) / (2 * x.shape[-1])  # log p up to a constant
        kl = over_tokens(inputs, posterior.divergence(prior).sum(-1)) / x.shape[-1]
        elbo = recon - kl
        masked, answer = self._passes(model, inputs, self._importance(inputs, latents), z)
        dis = self._faithfulness(model, inputs, masked, a)
        ce = z.new_zeros(()) if answer is None else self._error(model, batch, answer)
        sigma = over_tokens(inputs, (posterior.log_variance[..., : 2 * self.r] / 2).exp().mean(-1))
        total = ce - self.alpha * elbo - self.tau * dis
        return {"total": total, "ELBO": elbo, "recon": recon, "KL": kl, "Dis": dis, "CE": ce, "sigma": sigma}

    def scores(self, module: nn.Module, model: FrozenModel, batch: Batch) -> Tensor:
        return self._importance(batch.inputs, self._posterior(module, model, batch).mean)

    def draws(self, module: nn.Module, model: FrozenModel, batch: Batch) -> Tensor:
        """The scores of the batch's one text from samples of the posterior, (20, U)."""
        posterior, generator = self._posterior(module, model, batch), torch.Generator().manual_seed(self.seed)
        return torch.cat([self._importance(batch.inputs, posterior.sample(generator)) for _ in range(DRAWS)])

    def stability(self, module: nn.Module, model: FrozenModel, batch: Batch) -> float:
        """Mean rank correlation between the scores of one text and the draws; 1 where there is one word only."""
        mean = self.scores(module, model, batch)[0].detach().cpu().numpy()
        samples = self.draws(module, model, batch).detach().cpu().numpy()
        if np.ptp(mean) == 0:
            return 1.0 if len(mean) == 1 else 0.0
        return float(np.mean([spearmanr(mean, row).statistic if np.ptp(row) else 0.0 for row in samples]))

    def _posterior(self, module: nn.Module, model: FrozenModel, batch: Batch) -> Gaussian:
        return cast(Autoencoder, module).posterior(*self._observed(model, batch))

    def _observed(self, model: FrozenModel, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """X and A, (B, L, d) each, and Y for every token, (B, L, C); it has no columns where it is not used."""
        hidden = batch.internals_of(model).hidden
        x, a = internals.readable(model, hidden[0]), internals.readable(model, hidden[self._k(model)])
        y = batch.probabilities if self.conditional else batch.probabilities[:, :0]
        return x, a, y[:, None].expand(-1, batch.inputs.ids.shape[1], -1)

    def _faithfulness(self, model: FrozenModel, inputs: PaddedBatch, masked: Tensor, a: Tensor) -> Tensor:
        """Dis, over all tokens; of a decoder at the one where the class is read, since a state sees no later word."""
        if not model.last_token:
            return over_tokens(inputs, functional.cosine_similarity(masked, a, dim=-1))
        rows = torch.arange(inputs.rows, device=a.device)
        read = internals.readable(model, masked)[rows, inputs.lengths - 1]
        return functional.cosine_similarity(read, a[rows, inputs.lengths - 1], dim=-1).mean()

    def _k(self, model: FrozenModel) -> int:
        highest = internals.layer_count(model)
        if not 0 <= self.layer <= highest:
            raise ExplanationError(f"{model.name} has no layer {self.layer}. Choose 1 to {highest}, or 0 for the last.")
        return self.layer or highest

    def _passes(
        self, model: FrozenModel, inputs: PaddedBatch, share: Tensor, z: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """f_k(S⊙X), and with cross-entropy the logits when Z stands for layer k's output: in one pass where above
        layer k there is only a head, which reads nothing else."""
        k = self._k(model)
        more_read = model.multimodal or isinstance(model.base, EncoderBase)  # a decoder reads the embeddings too
        if self.cross_entropy and k == internals.layer_count(model) and not more_read:
            return self._masked_below(model, inputs, share, (k, z))
        masked = self._masked(model, inputs, share).hidden[k]
        if not self.cross_entropy:
            return masked, None
        return masked, internals.forward_with_internals(model, inputs, layer_output=(k, z)).logits

    def _masked(self, model: FrozenModel, inputs: PaddedBatch, share: Tensor) -> internals.Internals:
        """The pass over S⊙X."""
        if self.erasure == "mask":
            return internals.forward_with_soft_mask(model, inputs, share)
        return internals.forward_with_internals(model, inputs, scale=inputs.spread(share))

    def _masked_below(
        self, model: FrozenModel, inputs: PaddedBatch, share: Tensor, layer_output: tuple[int, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The pass over S⊙X up to layer k, whose output it returns, and over other states above, with their logits."""
        blended = self.erasure == "mask"
        result = internals.forward_with_internals(
            model,
            inputs,
            embeds=internals.blended_embeddings(model, inputs, share) if blended else None,
            scale=None if blended else inputs.spread(share),
            layer_output=layer_output,
            keep_replaced=True,
        )
        return result.hidden[layer_output[0]], result.logits

    def _importance(self, inputs: PaddedBatch, latents: Tensor) -> Tensor:
        """S of every word, (B, U)."""
        return min_max(inputs, inputs.reduce_to_units(column_sums(inputs, latents, self.r), "max"))

    def _composite(self, inputs: PaddedBatch, latents: Tensor) -> Tensor:
        """Z = Z_wb(Z_waᵀ(XZ_v))/n, which never forms the n×n matrix: (B, L, d)."""
        z_wa, z_wb, values = latents.tensor_split([self.r, 2 * self.r], dim=-1)
        summed = (z_wa * inputs.attention[:, :, None]).mT @ values  # (B, r, d)
        return z_wb @ summed / inputs.lengths[:, None, None]

    def _error(self, model: FrozenModel, batch: Batch, logits: Tensor) -> Tensor:
        """CE between the model's answer and the one with these logits."""
        if model.multi_label:
            return functional.binary_cross_entropy_with_logits(logits, batch.probabilities)
        return functional.cross_entropy(logits, batch.probabilities)


def column_sums(inputs: PaddedBatch, latents: Tensor, r: int) -> Tensor:
    """Σ_i Z_w(i, j) over the tokens i of each text, divided by n: (B, L)."""
    attending = (latents[..., r : 2 * r] * inputs.attention[:, :, None]).sum(1) / inputs.lengths[:, None]  # (B, r)
    return torch.einsum("blr,br->bl", latents[..., :r], attending)


def min_max(inputs: PaddedBatch, raw: Tensor) -> Tensor:
    """To 0…1 over the words of each text, (B, U); texts whose words are all equal get 0.5, and padding gets 0."""
    low = raw.masked_fill(~inputs.units, torch.inf).amin(1, keepdim=True)
    high = raw.masked_fill(~inputs.units, -torch.inf).amax(1, keepdim=True)
    flat = high - low < FLAT
    scaled = (raw - low) / (high - low).masked_fill(flat, 1)
    return scaled.masked_fill(flat, 0.5) * inputs.units


def over_tokens(inputs: PaddedBatch, values: Tensor) -> Tensor:
    """The mean of one value per token (B, L) over the tokens of each text, and over texts."""
    return ((values * inputs.attention).sum(1) / inputs.lengths).mean()
