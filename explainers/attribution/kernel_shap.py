"""KernelSHAP (Lundberg and Lee, 2017): Shapley values by regression, with scikit-learn, on sampled coalitions.

    P(|z| = k) ∝ (n-1) / (k (n-k)),   argmin_s Σ_z (p(label | z) - b - z·s)²   with b = p(∅) and Σ s = p(x) - p(∅)

Coalitions come in pairs, each with its complement (Covert and Lee, 2021), which cancels much of the noise. One seed
agrees badly with another when samples are few, so they grow with the length of the text and the spread is shown. They
are drawn as in Captum, by the kernel's weight, or with `sampling="shared"` are the masks that other methods ask too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from explainers.attribution import mask_samples
from explainers.methods.registry import MethodSpec
from explainers.results.attribution import Attribution
from explainers.results.decision import SETTLED_BY, UNTIL_SETTLED, Sampling

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding, Erasure

CERTAIN = 1e6  # the weight of the two ends, which the regression must meet

KERNEL_SHAP = MethodSpec(
    id="kernel_shap",
    name="KernelSHAP",
    group="Perturbation",
    kind="sampled",
    answers_only=True,
    signed=True,
    idea="Estimates each word's Shapley value, its average effect over all orders of adding the words.",
    caution="Do not believe single scores when the spread is as large as they are: long texts need more samples.",
    formula=r"\phi_u=\sum_{S\not\ni u}\frac{|S|!\,(n-|S|-1)!}{n!}\,(p(S\cup u)-p(S))",
    source="Lundberg and Lee, NeurIPS 2017; paired sampling: Covert and Lee, AISTATS 2021",
    implementation=f"{__name__}:KernelShap",
    colour="#e100c3",
    passes=lambda units, samples, _steps: max(samples or SETTLED_BY, min(20 * units, 2000)),
    brief=(("per_unit", 10),),
    brief_passes=lambda units, samples, _steps: max(samples or SETTLED_BY, min(10 * units, 2000)),
    deviations=(
        "Captum draws single coalitions; here each comes with its complement.",
        "With shared sampling sizes are uniform, no coalition comes twice, half of them are those of the random "
        "control, and the kernel is divided by the chance of a coalition to be among them.",
    ),
)


@dataclass(frozen=True)
class KernelShap:
    """Costs `samples` passes; for texts that need more, `per_unit` for each unit, up to `most`.

    Or as many as it takes until the result has settled.
    """

    samples: int = 500
    per_unit: int = 20
    most: int = 2000
    erasure: "Erasure" = "mask"
    seed: int = 0
    sampling: Sampling = "captum"

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        *_, last = self.refine(model, encoding, label)
        return last

    def refine(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Iterator[Attribution]:
        from explainers.attribution.surrogate import refine, single_unit

        if len(encoding.units) == 1:
            yield single_unit(KERNEL_SHAP, model, encoding, label, self.erasure)
            return
        yield from refine(
            KERNEL_SHAP,
            model,
            encoding,
            label,
            sample=self.sample(len(encoding.units)),
            erasure=self.erasure,
            ridge=0.0,
            seed=self.seed,
            settle=self.samples == UNTIL_SETTLED,
        )

    def sample(self, units: int) -> mask_samples.MaskSample:
        """Nothing, everything, then each coalition followed by its complement; the first two have to be met."""
        if self.sampling == "shared":
            return mask_samples.SharedMasks(
                mask_samples.shared_masks(units, self.seed, self.count(units)), kernel_weights
            )
        masks = self.masks(units)
        weights = np.ones(len(masks))
        weights[:2] = CERTAIN
        return mask_samples.IndependentMasks(masks, weights, np.arange(len(masks)) // 2)

    def count(self, units: int) -> int:
        """The number of masks, at most."""
        samples = SETTLED_BY if self.samples == UNTIL_SETTLED else self.samples
        return max(samples, min(self.per_unit * units, self.most))

    def masks(self, units: int) -> mask_samples.Masks:
        """(samples, units), coalitions by the kernel's weight, with replacement."""
        pairs = self.count(units) // 2 - 1
        rng = np.random.default_rng(self.seed)
        sizes = np.arange(1, units)
        kernel = 1 / (sizes * (units - sizes))
        size = rng.choice(sizes, pairs, p=kernel / kernel.sum())
        coalitions = rng.random((pairs, units)).argsort(axis=1).argsort(axis=1) < size[:, None]
        both = np.stack([coalitions, ~coalitions], axis=1).reshape(-1, units)
        return np.vstack([np.zeros((1, units), dtype=bool), np.ones((1, units), dtype=bool), both])


def kernel_weights(masks: mask_samples.Masks) -> mask_samples.Floats:
    """The kernel divided by the chance that a mask is among these, (N,), 1 in the mean; the first two are certain."""
    units = masks.shape[1]
    sizes = np.arange(1, units)
    mass = np.zeros(units + 1)
    mass[1:-1] = 1 / (sizes * (units - sizes))  # of all coalitions of one size together
    weights = mask_samples.size_weights(masks[2:], mass * (len(masks) - 2) / mass.sum())
    return np.concatenate([[CERTAIN, CERTAIN], weights])
