"""Explaining with what was fitted: the same few lines for every method that learns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from explainers.explanation import Attribution, floats
from explainers.learned.batches import Batch
from explainers.learned.weights import fitted
from explainers.models.batching import memory_explained
from explainers.models.inside import run
from explainers.models.padded import padded

if TYPE_CHECKING:
    from explainers.models.classifier import FrozenModel
    from explainers.models.encoding import Encoding


@dataclass(frozen=True)
class Learned:
    """Costs a pass of the frozen model and what the method itself needs. The scores are about the predicted class;
    they are the same whichever class is asked about."""

    method: str
    variant: str = ""

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        recipe, module = fitted(model, self.method, self.variant)
        inputs = padded([encoding], model.padding, model.device)
        with memory_explained(), torch.no_grad():
            whole = run(model, inputs)
            text = Batch(inputs, whole.probabilities(model), whole)
            scores = floats(recipe.scores(module, model, text)[0].cpu())
            drawn = getattr(recipe, "draws", None)  # where the method is a distribution: equally likely scores
            draws = tuple(floats(row.cpu()) for row in drawn(module, model, text)) if drawn else ()
        spread = floats(torch.tensor(draws).std(0)) if draws else ()
        name = f"{self.method}:{self.variant}" if self.variant else self.method
        # the draws are no noise of the scores, which are the same every time, so they stay here
        return Attribution(name, encoding, label, scores, signed=False, spread=spread, samples=len(draws))
