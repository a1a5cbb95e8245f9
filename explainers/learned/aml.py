"""AML, attributive masking learning (Barkan et al., Findings of EMNLP 2024): a network learns where to put the mask.

An attribution model G reads the text and what the frozen model F said of it, and gives every word a share a ∈ [0, 1].
The kept words alone should let F say the same, without them F should not, and few should be kept:

    x' = a·e + (1-a)·m,   x'' = (1-a)·e + a·m              e: word embeddings, m: the mask token's        (Eq. 3)
    L = λ_p·CE(F(x), F(x')) - λ_inv·log(1 - F_y(x'')) + λ_a·BCE(a, 0)                                     (Eq. 4-6)

pAML is G's answer in one pass. fAML goes on to train G on the one text to be explained and keeps the map that is best
on a metric, which is why it is listed apart.

Where we differ from paper or code: G is a LoRA copy of F's own fine-tuned encoder; L_a is a mean over real words; the
prediction token is written in its own row only; a word's share is the maximum over its tokens, also in training.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from explainers.explanation import Attribution, floats
from explainers.learned.batches import Batch
from explainers.learned.lora import adapted
from explainers.learned.recipe import Select
from explainers.metrics.faithfulness import aopc_comprehensiveness, aopc_sufficiency
from explainers.metrics.masking import PERCENTS, Asked, masking_path, top
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Encoding, Erasure
from explainers.models.inside import blended, run, table, width
from explainers.models.padded import Padded, padded

Filler = Literal["mask", "learned", "random"]


class AttributionModel(nn.Module):
    """G: F's encoder with adapters, one more token that says what F predicted, and a head per token."""

    def __init__(self, model: FrozenModel, rank: int) -> None:
        super().__init__()
        d = width(model)
        self.encoder = adapted(model.base, rank)
        self.prediction = nn.Parameter(torch.randn(len(model.labels) + 1, d) * 0.02)  # z_1 … z_C, and last z_0
        self.dropout = nn.Dropout(0.1)
        self.hidden = nn.Linear(d, d)
        self.share = nn.Linear(d, 1)
        self.filler = nn.Parameter(torch.zeros(d))  # what option "learned" adds to the mask token's embedding

    def forward(self, model: FrozenModel, inputs: Padded, probabilities: Tensor) -> Tensor:
        """Logits of the shares, (B, L); the prediction token stands after the last token of each row."""
        z = probabilities @ self.prediction[:-1] + self.prediction[-1]  # (B, d)
        seen = inputs.ids.where(inputs.present, model.filler)  # what a person has removed is not read
        ids = functional.pad(seen, (0, 1), value=model.padding)  # (B, L+1)
        places = torch.arange(ids.shape[1], device=ids.device)
        lengths = inputs.lengths[:, None]  # (B, 1)
        words = table(model)(ids)  # (B, L+1, d)
        own, blank = inputs.looking(words[:, :-1], words[:, :-1])
        words = torch.cat([own.where(inputs.present[:, :, None], blank), words[:, -1:]], dim=1)
        embeds = torch.where((places == lengths)[:, :, None], z[:, None], words)
        kinds = {"token_type_ids": functional.pad(inputs.segments, (0, 1))} if model.segmented else {}
        with model.meter.batch(inputs.rows):  # G is as dear as F, so it counts
            found = self.encoder(inputs_embeds=embeds, attention_mask=(places <= lengths).long(), **kinds)
        states = self.dropout(found.last_hidden_state[:, :-1])  # (B, L, d)
        return cast(Tensor, self.share(torch.tanh(self.hidden(states))).squeeze(-1))


@dataclass(frozen=True)
class Aml:
    """The shipped λ were chosen by hand on validation texts, per figure; `tune` searches them with Optuna."""

    lambda_p: float = 1.0
    lambda_inv: float = 1.0
    lambda_a: float = 0.6
    select: Select = "difference"
    filler: Filler = "mask"  # m: the mask token, a learned embedding, or a random token's in every place
    dropout: float = 0.0  # of shares in x'', so that every word must count by itself and not only with the others
    rank: int = 16
    epochs: int = 5
    batch: int = 20
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    seed: int = 0
    method: str = "aml"
    distribution: bool = False

    def rate(self, done: float) -> float:
        return 1 - done

    def module(self, model: FrozenModel) -> AttributionModel:
        return AttributionModel(model, self.rank)

    def terms(self, module: nn.Module, model: FrozenModel, batch: Batch, chance: torch.Generator) -> dict[str, Tensor]:
        inputs, rows = batch.inputs, batch.inputs.rows
        logits = shares(cast(AttributionModel, module), model, batch)  # (B, U)
        a = logits.sigmoid()
        left = (torch.rand(a.shape, generator=chance) >= self.dropout).to(a)  # 0: this word's share is not used here
        both = blended(model, inputs.twice(), torch.cat([a, 1 - a * left]), self._filler(module, model, inputs, chance))
        kept, rest = both.logits[:rows], both.logits[rows:]  # (B, C) each
        l_p = self._difference(model, kept, batch.probabilities)
        l_inv = -log_of_others(rest, batch.predicted, multi_label=model.multi_label).mean()
        l_a = -inputs.mean(functional.logsigmoid(-logits)).mean()  # BCE against 0, mean over the words of each text
        total = self.lambda_p * l_p + self.lambda_inv * l_inv + self.lambda_a * l_a
        return {"total": total, "L_p": l_p, "L_inv": l_inv, "L_a": l_a, "mean mask": inputs.mean(a).mean()}

    def scores(self, module: nn.Module, model: FrozenModel, batch: Batch) -> Tensor:
        return shares(cast(AttributionModel, module), model, batch).sigmoid()

    def _difference(self, model: FrozenModel, logits: Tensor, probabilities: Tensor) -> Tensor:
        """Cross-entropy against the model's own soft answer."""
        if model.multi_label:
            return functional.binary_cross_entropy_with_logits(logits, probabilities)
        return functional.cross_entropy(logits, probabilities)

    def _filler(self, module: nn.Module, model: FrozenModel, inputs: Padded, chance: torch.Generator) -> Tensor | None:
        if self.filler == "mask":
            return None
        with torch.no_grad():
            if self.filler == "random":
                words = cast(Tensor, table(model).weight)
                drawn = torch.randint(len(words), inputs.twice().ids.shape, generator=chance).to(model.device)
                return inputs.twice().looking(table(model)(drawn), table(model)(drawn))[1]
            mask = table(model)(torch.tensor(model.filler, device=model.device))
        return inputs.twice().looking(mask, mask + cast(AttributionModel, module).filler)[1]


def shares(module: AttributionModel, model: FrozenModel, batch: Batch) -> Tensor:
    """Logits of the words' shares (B, U): a word's is its highest token's."""
    tokens = module(model, batch.inputs, batch.probabilities)
    return batch.inputs.pooled(tokens, "max")


def log_of_others(logits: Tensor, predicted: Tensor, *, multi_label: bool = False) -> Tensor:
    """log(1 - p_y) for each row, without rounding where p_y is nearly 1: (B, C), (B,) → (B,)."""
    if multi_label:
        return functional.logsigmoid(-logits.gather(1, predicted[:, None])[:, 0])
    others = logits.masked_fill(functional.one_hot(predicted, logits.shape[1]).bool(), -torch.inf)
    return others.logsumexp(1) - logits.logsumexp(1)


@dataclass(frozen=True)
class FineTunedAml:
    """fAML: pAML, trained on for `steps` on this one text; of all maps on the way the best is kept, by the same figure
    by which pAML's weights were selected."""

    variant: str = ""
    steps: int = 20
    learning_rate: float = 1e-3
    erasure: Erasure = "mask"

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        *_, last = self.refine(model, encoding, label)
        return last

    def refine(self, model: FrozenModel, encoding: Encoding, label: int) -> Iterator[Attribution]:
        """The best map so far after every step."""
        from explainers.learned.fitting import gain
        from explainers.learned.weights import fitted

        recipe, start = fitted(model, "aml", self.variant)
        metric: Select = "difference" if recipe.select == "last" else recipe.select
        name = f"faml:{self.variant}" if self.variant else "faml"
        module = copy.deepcopy(start, {id(tensor): tensor for tensor in frozen(start)})
        trained = [weight for name, weight in module.named_parameters() if learns(name)]
        for weight in trained:
            weight.requires_grad_(True)
        optimiser = torch.optim.AdamW(trained, self.learning_rate)
        inputs = padded([encoding], model.padding, model.device)
        text = Batch(inputs, run(model, inputs).probabilities(model))
        asked = Asked(model, encoding, self.erasure)
        points = tuple(sorted({0, len(encoding.units), *(top(len(encoding.units), each) for each in PERCENTS)}))
        chance = torch.Generator().manual_seed(recipe.seed)
        best, best_gain = floats(torch.zeros(len(encoding.units))), -float("inf")
        for step in range(self.steps + 1):
            with torch.no_grad():
                scores = floats(recipe.scores(module, model, text)[0].cpu())
            path = masking_path(asked, scores, int(text.predicted[0]), points)
            figures = {"aopc_c": aopc_comprehensiveness(path), "aopc_s": aopc_sufficiency(path)}
            if gain(metric, figures) > best_gain:
                best, best_gain = scores, gain(metric, figures)
            stage: Literal["estimate", "final"] = "final" if step == self.steps else "estimate"
            yield Attribution(name, encoding, label, best, signed=False, samples=step, stage=stage)
            if step < self.steps:
                with torch.enable_grad():
                    loss = recipe.terms(module, model, text, chance)["total"]
                    gradients = torch.autograd.grad(loss, trained, allow_unused=True)
                for weight, gradient in zip(trained, gradients, strict=True):
                    weight.grad = gradient
                optimiser.step()


def frozen(module: nn.Module) -> list[Tensor]:
    """What is shared between G and F, and must never be copied or trained."""
    return [weight for name, weight in module.named_parameters() if not learns(name)] + list(module.buffers())


def learns(name: str) -> bool:
    """Whether fine-tuning on one text trains this parameter: the adapters and the head, not the prediction's words."""
    return ".down" in name or ".up" in name or name.startswith(("hidden.", "share."))
