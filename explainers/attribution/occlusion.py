"""Occlusion (Zeiler and Fergus, 2014; leave-one-out, Li et al., 2016), through Captum: one unit erased at a time.

score_u = p(label | x) - p(label | x without u)
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from explainers.methods.registry import MethodSpec
from explainers.results.attribution import Attribution, floats

if TYPE_CHECKING:
    from torch import Tensor

    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding, Erasure

OCCLUSION = MethodSpec(
    id="occlusion",
    name="Occlusion",
    group="Perturbation",
    kind="one by one",
    answers_only=True,
    signed=True,
    idea="Erases each word alone and measures how far the probability falls.",
    caution="Do not believe low scores of words that say the same thing twice: erasing one leaves the other.",
    formula=r"s_u=p(y\mid x)-p(y\mid x_{\setminus u})",
    source="Zeiler and Fergus, ECCV 2014; Li et al., 2016",
    implementation=f"{__name__}:Occlusion",
    colour="#00781e",
    passes=lambda units, _samples, _steps: units + 1,
)


@dataclass(frozen=True)
class Occlusion:
    """Costs one pass per unit and one for the whole text."""

    erasure: "Erasure" = "mask"

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        import torch
        from captum import attr

        present = torch.ones(1, len(encoding.units))

        def probability(masks: "Tensor") -> "Tensor":
            return torch.from_numpy(model.probabilities(encoding, masks.bool().numpy(), self.erasure)[:, label])

        scores = attr.FeatureAblation(probability).attribute(
            present, baselines=0, perturbations_per_eval=len(encoding.units)
        )
        return Attribution(OCCLUSION.id, encoding, label, floats(scores), signed=OCCLUSION.signed)
