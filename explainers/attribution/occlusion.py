"""Occlusion (Zeiler and Fergus, 2014; leave-one-out, Li et al., 2016), through Captum: one unit erased at a time.

score_u = p(label | x) - p(label | x without u)
"""

from dataclasses import dataclass

import torch
from captum import attr

from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.results.attribution import Attribution, floats


@dataclass(frozen=True)
class Occlusion:
    """Costs one pass per unit and one for the whole text."""

    erasure: Erasure = "mask"

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        present = torch.ones(1, len(encoding.units))

        def probability(masks: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(model.probabilities(encoding, masks.bool().numpy(), self.erasure)[:, label])

        scores = attr.FeatureAblation(probability).attribute(
            present, baselines=0, perturbations_per_eval=len(encoding.units)
        )
        return Attribution("occlusion", encoding, label, floats(scores), signed=True)
