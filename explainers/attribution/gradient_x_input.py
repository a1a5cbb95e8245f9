"""Gradient × input (Shrikumar et al., 2016): the first-order effect of each unit's embedding on the probability.

    score_u = Σ_{tokens t of u} h_t · ∂p(label | x) / ∂h_t        h: embedding output, after LayerNorm

which is the derivative by a factor on h_t at 1.
"""

from dataclasses import dataclass

import torch

from explainers.models.batching import memory_errors
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.results.attribution import Attribution, floats


@dataclass(frozen=True)
class GradientTimesInput:
    """Costs one forward and one backward pass."""

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        mask = torch.ones(1, len(encoding.units), requires_grad=True)
        with memory_errors():
            probability = model.soft_probabilities(encoding, mask, "zero")[0, label]
            (gradient,) = torch.autograd.grad(probability, mask)
        return Attribution("gradient_x_input", encoding, label, floats(gradient), signed=True)
