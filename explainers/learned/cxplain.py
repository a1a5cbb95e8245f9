"""CXPlain (Schwab & Karlen, NeurIPS 2019): a network learns what erasing each word would do, so that none is erased.

The frozen model's error of its own prediction is ε = -log p_y. Erasing word i alone raises it by Δ_i, and a word's
share of what all words do is the target of a second network G, which reads the text and the prediction:

    Δ_i = max(0, ε_{x∖i} - ε_x),   ω_i = Δ_i / Σ_j Δ_j,   L = KL(ω ‖ softmax(G(x)))

Explaining costs one pass of the model and one of G. The method's spec lists the deviations from the paper.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from explainers.learned import recipe, specs
from explainers.learned.aml import StateReader
from explainers.learned.batches import Batch, StatesRead
from explainers.metrics.faithfulness import LEAST_P
from explainers.models import internals
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.training.spec import validated

Erased = Literal["default", "mask", "delete", "zero"]


LEAST = 1e-30  # of the sum of a text's effects, by which they are divided


class EffectReader(StateReader):
    """G, which remembers the effects (U,) of the texts that it was taught, by their content; a checkpoint keeps them
    (`recipe.Memory`)."""

    def __init__(self, model: FrozenModel) -> None:
        super().__init__(model)
        self.effects: dict[bytes, Tensor] = {}

    def kept(self) -> dict[str, Tensor]:
        return {content.hex(): effects for content, effects in self.effects.items()}

    def restore(self, kept: dict[str, Tensor]) -> None:
        self.effects = {bytes.fromhex(content): effects for content, effects in kept.items()}


@validated
@dataclass(frozen=True)
class CxPlain:
    """In the first epoch the model answers each text once per word, with that word erased."""

    erasure: Annotated[
        Erased,
        Field(
            description="How words are erased whose effects are learned; default is the mask token, or deletion where "
            "the model has none."
        ),
    ] = "default"
    select: recipe.KeptWeights = "difference"
    epochs: recipe.Epochs = 4  # with more it learns the effects of single texts by heart
    validations: recipe.Validations = 2
    precision: recipe.PassPrecision = "float32"
    batch: recipe.BatchSize = 32
    learning_rate: recipe.LearningRate = 1e-3
    weight_decay: recipe.WeightDecay = 0.01
    seed: recipe.Seed = 0
    method: ClassVar[str] = specs.CXPLAIN.id
    distribution: ClassVar[bool] = True

    def rate(self, done: float) -> float:
        return 1 - done

    def reads(self, model: FrozenModel) -> StatesRead:
        return StatesRead(frozenset({0, internals.layer_count(model)}))

    def module(self, model: FrozenModel) -> EffectReader:
        return EffectReader(model)

    def terms(
        self, module: nn.Module, model: FrozenModel, batch: Batch, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """A text of which no word has an effect teaches nothing."""
        reader = cast(EffectReader, module)
        logs = self._log_shares(reader, model, batch)  # (B, U)
        effects = torch.zeros_like(logs)
        for row, (encoding, predicted) in enumerate(zip(batch.encodings, batch.predicted.tolist(), strict=True)):
            effects[row, : len(encoding.units)] = self._effects(reader, model, encoding, predicted)
        totals = effects.sum(1, keepdim=True)  # (B, 1)
        shares = effects / totals.clamp(min=LEAST)
        taught = (totals[:, 0] > 0).sum().clamp(min=1)
        cross_entropy = -(shares * logs).sum() / taught
        entropy = torch.special.entr(shares).sum() / taught
        return {"total": cross_entropy - entropy, "cross-entropy": cross_entropy, "entropy": entropy}

    def scores(self, module: nn.Module, model: FrozenModel, batch: Batch) -> Tensor:
        return self._log_shares(cast(EffectReader, module), model, batch).exp() * batch.inputs.units

    def _log_shares(self, module: EffectReader, model: FrozenModel, batch: Batch) -> Tensor:
        """The logarithms of the shares (B, U), which sum to 1 over a text's units; finite where there is none."""
        logits = batch.inputs.reduce_to_units(module(model, batch), "max")
        units = batch.inputs.units
        return logits.masked_fill(~units, -torch.inf).log_softmax(1).masked_fill(~units, 0.0)

    def _effects(self, module: EffectReader, model: FrozenModel, encoding: Encoding, label: int) -> Tensor:
        """Δ of every unit (U,)."""
        effects = module.effects.get(encoding.content_key)
        if effects is None:
            units = len(encoding.units)
            masks = np.vstack([np.ones((1, units), dtype=bool), ~np.eye(units, dtype=bool)])
            erasure = model.default_erasure if self.erasure == "default" else self.erasure
            errors = -np.log(model.probabilities(encoding, masks, erasure)[:, label].clip(min=LEAST_P))
            effects = torch.tensor((errors[1:] - errors[0]).clip(min=0.0), dtype=torch.float, device=model.device)
            module.effects[encoding.content_key] = effects
        return effects
