"""Attention as a baseline. Where a model looks is not why it decides (Jain and Wallace, 2019).

    score_u = Σ_{tokens t of u} mean over layers, heads and attending tokens of attention to t

`attention_last` takes the last layer only and, where the class is read from the first token, what that token
attends to. Attention does not depend on the class that is explained.
"""

from dataclasses import dataclass

import numpy as np
import torch

from explainers.errors import ExplanationError
from explainers.explanation import Attribution, floats
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import FIXED, Encoding


@dataclass(frozen=True)
class Attention:
    """Costs one forward pass."""

    last_layer: bool = False

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        states = model.states(encoding)
        if not states.attentions:
            raise ExplanationError(f"{model.name} does not show its attention.")
        if self.last_layer and not states.pooled:
            received = states.attentions[-1].mean(dim=0)[0]  # (L,): the first token's view
        else:
            layers = states.attentions[-1:] if self.last_layer else states.attentions
            received = torch.stack(layers).mean(dim=(0, 1, 2))  # (L,)
        owners = np.asarray(encoding.owners)
        scores = np.bincount(
            owners[owners != FIXED], weights=received.cpu().numpy()[owners != FIXED], minlength=len(encoding.units)
        )
        name = "attention_last" if self.last_layer else "attention_mean"
        return Attribution(name, encoding, label, floats(scores), signed=False)
