"""Integrated gradients (Sundararajan et al., 2017), through Captum, over the mask of each unit.

    score_u = ∫₀¹ ∂p(label | x blended with its baseline by α) / ∂m_u dα

The path runs from a text whose units are all [MASK] to the text itself; with the operator "zero" from zero embeddings,
and with "delete", which has no intermediate values, from [MASK] too. A unit's mask multiplies (e - e_baseline) of its
tokens, so its derivative is the sum over tokens and dimensions that the paper's equation 1 takes. The scores add up to
p(x) - p(baseline); how far the sum of finitely many steps is from that is the gap.
"""

from dataclasses import dataclass

import torch
from captum import attr

from explainers.models.batching import halved_until_it_fits
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.results.attribution import Attribution, floats


@dataclass(frozen=True)
class IntegratedGradients:
    """Costs `steps` forward and backward passes and two forward passes for the gap."""

    steps: int = 50
    erasure: Erasure = "mask"

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        present = torch.ones(1, len(encoding.units))
        captum = attr.IntegratedGradients(
            lambda masks: model.soft_probabilities(encoding, masks, self.erasure)[:, label]
        )
        scores = halved_until_it_fits(
            model.rows_at_once(encoding),
            lambda size: captum.attribute(
                present, baselines=torch.zeros_like(present), n_steps=self.steps, internal_batch_size=size
            ),
        )
        ends = torch.zeros_like(present), present
        with torch.no_grad():
            nothing, everything = (
                float(model.soft_probabilities(encoding, end, self.erasure)[0, label]) for end in ends
            )
        gap = abs(float(scores.sum()) - (everything - nothing))
        return Attribution("integrated_gradients", encoding, label, floats(scores), signed=True, gap=gap)
