"""Explaining with fitted weights: the same few lines for every learned method."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from explainers.learned.batches import Batch
from explainers.learned.loading import load_learned
from explainers.learned.recipes import recipe_class
from explainers.models.batching import memory_errors
from explainers.models.inputs.padded_batch import pad_batch
from explainers.models.internals import forward_with_internals
from explainers.results.attribution import Attribution, floats

if TYPE_CHECKING:
    from torch import nn

    from explainers.learned.recipe import Recipe
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding


@dataclass(frozen=True)
class LearnedAttribution:
    """Costs a pass of the frozen model and what the method itself needs. The scores explain the predicted class,
    whichever `label` is given, unless the network `reads_class`: what it is told is the prediction."""

    method: str
    variant: str = ""
    reads_class: bool = False

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        recipe, module = load_trained(model, self.method, self.variant)
        inputs = pad_batch([encoding], model.pad_token, model.device)
        with memory_errors(), torch.no_grad():
            whole = forward_with_internals(model, inputs)
            text = Batch(inputs, whole.probabilities(model), whole)
            text = text.about(label) if self.reads_class else text
            scores = floats(recipe.scores(module, model, text)[0].cpu())
            sample = getattr(recipe, "draws", None)  # where the method is a distribution: equally likely scores
            draws = tuple(floats(row.cpu()) for row in sample(module, model, text)) if sample else ()
        spread = floats(torch.tensor(draws).std(0)) if draws else ()
        name = f"{self.method}:{self.variant}" if self.variant else self.method
        # the draws are not kept: they are not noise of the scores, which are deterministic
        return Attribution(name, encoding, label, scores, signed=False, spread=spread, samples=len(draws))


def load_trained(model: "FrozenModel", method: str, variant: str = "") -> "tuple[Recipe, nn.Module]":
    """Recipe and trained module of any learned method."""
    return load_learned(model, recipe_class(method), method, variant)
