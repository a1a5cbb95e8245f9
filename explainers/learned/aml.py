"""AML, attributive masking learning (Barkan et al., Findings of EMNLP 2024): a network learns where to put the mask.

An attribution model G, a copy of the frozen model F's encoder with adapters (LoRA), reads the text and F's prediction
and gives every word a share a ∈ [0, 1]. The kept words alone should give F's prediction, the rest should not, and few
should be kept:

    x' = a·e + (1-a)·m,   x'' = (1-a)·e + a·m              e: word embeddings, m: the mask token's        (Eq. 3)
    L = λ_p·CE(F(x), F(x')) - λ_inv·log(1 - F_y(x'')) + λ_a·BCE(a, 0)                                     (Eq. 4-6)

pAML is one pass of G. fAML trains G further on the text to be explained and keeps the map that is best on a metric.
The method's spec lists the deviations from paper and code.
"""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from explainers.errors import ExplanationError
from explainers.learned import fitting_loop, recipe, specs
from explainers.learned.batches import Batch, StatesRead
from explainers.metrics import faithfulness
from explainers.metrics.erasure import MaskedPredictor
from explainers.models import internals, optimisation
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.models.inputs.padded_batch import PaddedBatch
from explainers.results.attribution import Attribution, floats
from explainers.training.spec import validated

NEVER = -1e4  # a logit whose class has no probability
MAPS_AT_ONCE = 7  # of fAML, of which the erased texts are asked together

Replacement = Literal["mask", "learned", "random"]
WIDTH, HEADS, LAYERS = 128, 4, 2  # of the `StateReader`


class AttributionModel(nn.Module):
    """G: F's network with adapters, one more token that carries F's prediction, and a head per token.

    The token stands behind the last one, or, where tokens see only those before them, in front of the first one. Where
    the text takes all positions that the network has, it takes the place of the last one, which belongs to no word.
    """

    def __init__(self, model: FrozenModel, rank: int) -> None:
        super().__init__()
        d, e = internals.hidden_size(model), internals.word_embedding_size(model)
        self.rank = rank
        self.encoder = optimisation.adapted(model.base, rank) if rank else optimisation.trainable(model.base)
        tables = (name for name, part in self.encoder.named_modules() if isinstance(part, nn.Embedding))
        self.tables = frozenset(f"encoder.{name}" for name in tables)
        self.prediction = nn.Parameter(torch.randn(len(model.labels) + 1, e) * 0.02)  # z_1 … z_C, and last z_0
        self.dropout = nn.Dropout(0.1)
        self.hidden = nn.Linear(d, d)
        self.share = nn.Linear(d, 1)
        self.replacement = nn.Parameter(torch.zeros(e))  # what option "learned" adds to the mask token's embedding

    def forward(self, model: FrozenModel, batch: Batch) -> Tensor:
        """Logits of the shares, (B, L)."""
        inputs = batch.inputs
        z = batch.probabilities @ self.prediction[:-1] + self.prediction[-1]  # (B, d)
        visible = inputs.ids.where(inputs.nonzero, model.mask_token)  # removed tokens are not read
        ids = functional.pad(visible, (0, 1), value=model.pad_token)  # (B, L+1)
        positions = torch.arange(ids.shape[1], device=ids.device)
        lengths = inputs.lengths[:, None]  # (B, 1)
        is_full = len(positions) > position_count(self.encoder)
        words = internals.word_embedding_table(model)(ids)  # (B, L+1, d)
        own_words, blank = inputs.with_patches(words[:, :-1], words[:, :-1])
        words = torch.cat([own_words.where(inputs.nonzero[:, :, None], blank), words[:, -1:]], dim=1)
        segments = functional.pad(inputs.segments, (0, 1))
        if is_full and model.last_token:
            raise ExplanationError(
                f"AML needs one more position than {model.name} has. Shorten the text by a few words."
            )
        if is_full:
            words, positions, segments = words[:, :-1], positions[:-1], inputs.segments
            lengths = lengths.clamp(max=len(positions) - 1)
            embeds, at = torch.where((positions == lengths)[:, :, None], z[:, None], words), slice(None)
        elif model.last_token:
            embeds, at = torch.cat([z[:, None], words[:, :-1]], dim=1), slice(1, None)
        else:
            embeds, at = torch.where((positions == lengths)[:, :, None], z[:, None], words), slice(None, -1)
        kinds = {"token_type_ids": segments} if model.segmented else {}
        with (
            model.meter.batch(inputs.rows),
            internals.matrix_products(model.device),
        ):  # G costs as much as F, so it counts
            output = self.encoder(inputs_embeds=embeds, attention_mask=(positions <= lengths).long(), **kinds)
        states = self.dropout(output.last_hidden_state[:, at].float())  # (B, L, d)
        return cast(Tensor, self.share(torch.tanh(self.hidden(states))).squeeze(-1))

    def is_fine_tuned(self, name: str) -> bool:
        """Whether fine-tuning on one text trains it: adapters or layers, and head, but not the prediction token."""
        part, *path = name.split(".")
        if part == "encoder":
            layers = "embeddings" not in path and name.rpartition(".")[0] not in self.tables
            return path[-1] in ("down", "up") or (self.rank == 0 and layers)
        return part in ("hidden", "share")


class StateReader(nn.Module):
    """G for an F whose input cannot take a token more, as of images with texts; CXPlain's network, too.

    A Transformer of two layers reads, for every position, F's embedding and its last state, and behind them one token
    that carries F's prediction. F itself gets no adapters: its image and its text may go through encoders that never
    see the prediction.
    """

    def __init__(self, model: FrozenModel) -> None:
        super().__init__()
        d = internals.hidden_size(model)
        self.embedding_norm, self.state_norm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.read = nn.Linear(2 * d, WIDTH)
        self.prediction = nn.Parameter(torch.randn(len(model.labels) + 1, WIDTH) * 0.02)  # z_1 … z_C, and last z_0
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, 0.1, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.share = nn.Linear(WIDTH, 1)

    def forward(self, model: FrozenModel, batch: Batch) -> Tensor:
        """Logits of the shares, (B, L)."""
        hidden, inputs = batch.internals_of(model).hidden, batch.inputs
        read = torch.cat([self.embedding_norm(hidden[0]), self.state_norm(hidden[-1])], dim=-1)
        z = batch.probabilities @ self.prediction[:-1] + self.prediction[-1]  # (B, WIDTH)
        tokens = torch.cat([self.read(read), z[:, None]], dim=1)  # (B, L+1, WIDTH)
        padding = functional.pad(~(inputs.attention & inputs.nonzero), (0, 1))
        states = self.layers(tokens, src_key_padding_mask=padding)[:, :-1]
        return cast(Tensor, self.share(states).squeeze(-1))

    def is_fine_tuned(self, name: str) -> bool:
        """Whether fine-tuning on one text trains it: all but the prediction token."""
        return name != "prediction"


Attributor = AttributionModel | StateReader


def position_count(encoder: nn.Module) -> float:
    """Return how many tokens a table of absolute positions has room for; infinite without such a table."""
    tables = [
        module
        for name, module in encoder.named_modules()
        if isinstance(module, nn.Embedding) and name.rpartition(".")[2] in ("position_embeddings", "wpe")
    ]
    unused = (0 if table.padding_idx is None else table.padding_idx + 1 for table in tables)
    return min((table.num_embeddings - first for table, first in zip(tables, unused, strict=True)), default=math.inf)


@validated
@dataclass(frozen=True)
class Aml:
    """The shipped λ were chosen by hand on validation texts for each criterion; of 20 others that `tune` tried with
    Optuna none was better than those of the variant suff."""

    lambda_p: Annotated[
        recipe.Weight,
        Field(
            title="λ of L_p",
            description="Weight of the loss that asks for the model's probabilities from the kept words alone.",
        ),
    ] = 1.0
    lambda_inv: Annotated[
        recipe.Weight,
        Field(
            title="λ of L_inv",
            description="Weight of the loss that asks for another class without the kept words.",
        ),
    ] = 1.0
    lambda_a: Annotated[
        recipe.Weight,
        Field(title="λ of L_a", description="Weight of the price for keeping words. More keeps fewer."),
    ] = 0.6
    select: recipe.KeptWeights = "difference"
    replacement: Annotated[
        Replacement,  # m of Eq. 3
        Field(
            description="What stands in place of words that are not kept: the mask token, a learned embedding or "
            "random words."
        ),
    ] = "mask"
    dropout: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="How many shares are 0 at random where the kept words are removed, so that each counts by "
            "itself.",
        ),
    ] = 0.0
    rank: Annotated[
        int,  # the paper trains all weights
        Field(
            ge=0,
            description="Size of the adapters that are trained on top of the model's encoder; 0 trains all weights of "
            "its layers. Not read for models of images that cannot take a token more.",
        ),
    ] = 16
    epochs: recipe.Epochs = 5
    validations: recipe.Validations = 1
    precision: recipe.PassPrecision = "float32"
    batch: recipe.BatchSize = 20
    learning_rate: recipe.LearningRate = 1e-3
    weight_decay: recipe.WeightDecay = 0.01
    seed: recipe.Seed = 0
    method: ClassVar[str] = specs.AML.id
    distribution: ClassVar[bool] = False

    def rate(self, done: float) -> float:
        return 1 - done

    def reads(self, model: FrozenModel) -> StatesRead:
        """G reads no states of F; only the `StateReader` of images does."""
        return StatesRead()

    def module(self, model: FrozenModel) -> Attributor:
        """Raises `ExplanationError` for a replacement by embeddings where the model does not start from embeddings."""
        if model.takes_embeddings:
            return AttributionModel(model, self.rank)
        if self.replacement != "mask":
            raise ExplanationError(
                f"{model.name} erases patches as pixels, for which no embedding can stand. Set replacement to mask."
            )
        return StateReader(model)

    def terms(
        self, module: nn.Module, model: FrozenModel, batch: Batch, generator: torch.Generator
    ) -> dict[str, Tensor]:
        return self.terms_at(shares(cast(Attributor, module), model, batch), module, model, batch, generator)

    def terms_at(
        self, logits: Tensor, module: nn.Module, model: FrozenModel, batch: Batch, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """The same where the logits of the shares (B, U) are known."""
        inputs, rows = batch.inputs, batch.inputs.rows
        a = logits.sigmoid()
        kept_shares = (torch.rand(a.shape, generator=generator) >= self.dropout).to(a)  # 0: this share is dropped
        replacement = self._replacement(module, model, inputs, generator)
        both = internals.forward_with_soft_mask(
            model, inputs.doubled(), torch.cat([a, 1 - a * kept_shares]), replacement
        )
        logits_of_target = target_logits(model, both.logits)
        kept, rest = logits_of_target[:rows], logits_of_target[rows:]  # (B, C) each
        l_p = self._difference(model, kept, model.about_target(batch.probabilities))
        l_inv = -log_of_others(rest, batch.predicted, multi_label=model.multi_label).mean()
        l_a = -inputs.mean(functional.logsigmoid(-logits)).mean()  # BCE against 0, mean over the words of each text
        total = self.lambda_p * l_p + self.lambda_inv * l_inv + self.lambda_a * l_a
        return {"total": total, "L_p": l_p, "L_inv": l_inv, "L_a": l_a, "mean mask": inputs.mean(a).mean()}

    def scores(self, module: nn.Module, model: FrozenModel, batch: Batch) -> Tensor:
        return shares(cast(Attributor, module), model, batch).sigmoid()

    def _difference(self, model: FrozenModel, logits: Tensor, probabilities: Tensor) -> Tensor:
        """Cross-entropy with the model's probabilities of the whole texts."""
        if model.multi_label:
            return functional.binary_cross_entropy_with_logits(logits, probabilities)
        return functional.cross_entropy(logits, probabilities)

    def _replacement(
        self, module: nn.Module, model: FrozenModel, inputs: PaddedBatch, generator: torch.Generator
    ) -> Tensor | None:
        if self.replacement == "mask":
            return None
        with torch.no_grad():
            if self.replacement == "random":
                words = cast(Tensor, internals.word_embedding_table(model).weight)
                token_ids = torch.randint(len(words), inputs.doubled().ids.shape, generator=generator).to(model.device)
                return inputs.doubled().with_patches(
                    internals.word_embedding_table(model)(token_ids), internals.word_embedding_table(model)(token_ids)
                )[1]
            mask = internals.word_embedding_table(model)(torch.tensor(model.mask_token, device=model.device))
        return inputs.doubled().with_patches(mask, mask + cast(AttributionModel, module).replacement)[1]


def shares(module: Attributor, model: FrozenModel, batch: Batch) -> Tensor:
    """Logits of the words' shares (B, U), each the maximum over the word's tokens."""
    tokens = module(model, batch)
    return batch.inputs.reduce_to_units(tokens, "max")


def log_of_others(logits: Tensor, predicted: Tensor, *, multi_label: bool = False) -> Tensor:
    """log(1 - p_y) for each row, without rounding where p_y is nearly 1: (B, C), (B,) → (B,)."""
    if multi_label:
        return functional.logsigmoid(-logits.gather(1, predicted[:, None])[:, 0])
    others = logits.masked_fill(functional.one_hot(predicted, logits.shape[1]).bool(), -torch.inf)
    return others.logsumexp(1) - logits.logsumexp(1)


def target_logits(model: FrozenModel, logits: Tensor) -> Tensor:
    """Logits (B, C) with which the model's probabilities are those of its target: other classes get none."""
    target = model.target
    if target is None or target.versus is None:
        return logits
    logs = functional.logsigmoid(logits) if model.multi_label else logits
    margin = logs[:, target.label] - logs[:, target.versus]  # of A over B: σ(margin) = p(A) / (p(A) + p(B))
    only = torch.full_like(logits, NEVER)
    only[:, target.label] = margin
    only[:, target.versus] = -margin if model.multi_label else 0.0
    return only


@dataclass(frozen=True)
class FineTunedAml:
    """fAML: pAML, trained for `steps` more on this text, with the loss of the model's target. Returns the best of all
    maps on the way, by the criterion by which pAML's weights were selected."""

    variant: str = ""
    steps: int = 20
    learning_rate: float = 1e-3
    erasure: Erasure = "mask"

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        *_, last = self.refine(model, encoding, label)
        return last

    def refine(self, model: FrozenModel, encoding: Encoding, label: int) -> Iterator[Attribution]:
        """After every step the best of the maps that were measured so far: the first one at once, the others together
        in groups."""
        settings, start = recipe.load_learned(model, Aml, Aml.method, self.variant)
        metric: recipe.Select = settings.select if settings.select in ("comp", "suff") else "difference"
        name = f"{specs.FAML.id}:{self.variant}" if self.variant else specs.FAML.id
        start = cast(Attributor, start)
        module = copy.deepcopy(start, {id(tensor): tensor for tensor in shared_tensors(start)})
        trained = [weight for name, weight in module.named_parameters() if module.is_fine_tuned(name)]
        for weight in trained:
            weight.requires_grad_(True)
        inputs = model.padded([encoding])
        whole = internals.forward_with_internals(model, inputs)
        batch = Batch(inputs, whole.probabilities(model), whole).about(label)
        answers = MaskedPredictor(model, encoding, self.erasure)
        best, best_gain = floats(torch.zeros(len(encoding.units))), -float("inf")
        unmeasured: list[tuple[float, ...]] = []
        for step, scores in enumerate(self._maps(cast(Aml, settings), module, trained, model, batch)):
            model.meter.check()
            unmeasured.append(scores)
            if step in (0, self.steps) or len(unmeasured) == MAPS_AT_ONCE:
                faithfulness.prefetch(answers, unmeasured)
                for candidate in unmeasured:
                    metrics = faithfulness.measured(
                        answers, candidate, int(batch.predicted[0]), faithfulness.decisive_metrics()
                    )
                    if fitting_loop.gain(metric, metrics) > best_gain:
                        best, best_gain = candidate, fitting_loop.gain(metric, metrics)
                unmeasured.clear()
            stage: Literal["estimate", "final"] = "final" if step == self.steps else "estimate"
            yield Attribution(name, encoding, label, best, signed=specs.FAML.signed, samples=step, stage=stage)

    def _maps(
        self, settings: Aml, module: Attributor, trained: list[nn.Parameter], model: FrozenModel, batch: Batch
    ) -> Iterator[tuple[float, ...]]:
        """The map before every step of the training and after the last one; a pass of G gives map and gradient."""
        optimiser = torch.optim.AdamW(trained, self.learning_rate)
        generator = torch.Generator().manual_seed(settings.seed)
        for step in range(self.steps + 1):
            with torch.set_grad_enabled(step < self.steps):
                logits = shares(module, model, batch)  # (1, U)
            yield floats(logits[0].detach().sigmoid().cpu())
            if step < self.steps:
                with torch.enable_grad():
                    loss = settings.terms_at(logits, module, model, batch, generator)["total"]
                    gradients = torch.autograd.grad(loss, trained, allow_unused=True)
                for weight, gradient in zip(trained, gradients, strict=True):
                    weight.grad = gradient
                optimiser.step()


def shared_tensors(module: Attributor) -> list[Tensor]:
    """Tensors that fine-tuning on one text neither copies nor changes."""
    fixed = [weight for name, weight in module.named_parameters() if not module.is_fine_tuned(name)]
    return fixed + list(module.buffers())
