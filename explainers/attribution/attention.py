"""Attention as a baseline. Where a model looks is not why it decides (Jain and Wallace, 2019).

    score_u = Σ_{tokens t of u} mean over layers, heads and attending tokens of attention to t

`attention_last` takes the last layer only and, where the class is read from the first token, what that token
attends to. Attention does not depend on the class that is explained.
"""

from dataclasses import dataclass

from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.results.attribution import Attribution, floats


@dataclass(frozen=True)
class Attention:
    """Costs one forward pass."""

    last_layer: bool = False

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        scores = model.attention_received(encoding, last_layer=self.last_layer)
        name = "attention_last" if self.last_layer else "attention_mean"
        return Attribution(name, encoding, label, floats(scores), signed=False)
