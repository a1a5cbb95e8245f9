"""LIME (Ribeiro et al., 2016): a weighted ridge regression, by scikit-learn, on random masks of the units.

    argmin_s Σ_z π(z) (p(label | z) - b - z·s)² + ridge ‖s‖²,   π(z) = √exp(-d(z)² / width²),   d = 1 - cos(1, z)

Masks are drawn as in the authors' package: the number of erased units is uniform, which ones is random. Lasso with
α = 0.01, Captum's default, returns zeros for every word when the target is a probability, so it is not used.
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

LIME = MethodSpec(
    id="lime",
    name="LIME",
    group="Perturbation",
    kind="sampled",
    answers_only=True,
    signed=True,
    idea="Fits a linear model to the probabilities of texts with random words erased.",
    caution="Do not believe ranks that lie within ± the spread: another seed would order them otherwise. Words that "
    "only act together are split arbitrarily.",
    formula=r"\arg\min_s \sum_z \pi(z)\,(p(y\mid z)-b-z\cdot s)^2+\lambda\lVert s\rVert^2",
    source="Ribeiro et al., KDD 2016",
    implementation=f"{__name__}:Lime",
    colour="#e17800",
    passes=lambda _units, samples, _steps: samples or SETTLED_BY,
    deviations=(
        "With shared sampling the masks are also those of KernelSHAP, half of them those of the random control. A "
        "mask is weighted by how often the authors draw its size, divided by its chance to be among them.",
    ),
)


@dataclass(frozen=True)
class Lime:
    """Costs `samples` passes, or as many as it takes until the result has settled.

    The kernel width is the authors' default for text, in units of cosine distance.
    """

    samples: int = 500
    width: float = 0.25
    ridge: float = 1.0
    erasure: "Erasure" = "mask"
    seed: int = 0
    sampling: Sampling = "captum"

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        *_, last = self.refine(model, encoding, label)
        return last

    def refine(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Iterator[Attribution]:
        from explainers.attribution.surrogate import refine, single_unit

        if len(encoding.units) == 1:
            yield single_unit(LIME, model, encoding, label, self.erasure)
            return
        yield from refine(
            LIME,
            model,
            encoding,
            label,
            sample=self.sample(len(encoding.units)),
            erasure=self.erasure,
            ridge=self.ridge,
            seed=self.seed,
            settle=self.samples == UNTIL_SETTLED,
        )

    def sample(self, units: int) -> mask_samples.MaskSample:
        """The whole text is always in."""
        if self.sampling == "shared":
            return mask_samples.SharedMasks(
                mask_samples.shared_masks(units, self.seed, self.count), self.shared_weights
            )
        masks = self.masks(units)
        return mask_samples.IndependentMasks(masks, self.kernel(masks), np.arange(len(masks)))

    @property
    def count(self) -> int:
        """The number of masks, at most."""
        return SETTLED_BY if self.samples == UNTIL_SETTLED else self.samples

    def kernel(self, masks: mask_samples.Masks) -> mask_samples.Floats:
        """π, (N,)."""
        distance = 1 - np.sqrt(masks.mean(axis=1))  # the cosine between all ones and k of n ones is √(k/n)
        weights: mask_samples.Floats = np.sqrt(np.exp(-((distance / self.width) ** 2)))
        return weights

    def shared_weights(self, masks: mask_samples.Masks) -> mask_samples.Floats:
        """π times how often as many draws of the authors' hold a mask, divided by the chance that it is among these."""
        units = masks.shape[1]
        draws = self.count if len(masks) == 2**units else len(masks)  # no more masks: each stands for several draws
        mass = np.full(units + 1, (draws - 1) / units)  # of all masks of one size together
        mass[-1] = 1  # the whole text
        return mask_samples.size_weights(masks, mass) * self.kernel(masks)

    def masks(self, units: int) -> mask_samples.Masks:
        """(count, units), true = kept; the first mask is the whole text."""
        rng = np.random.default_rng(self.seed)
        erased = rng.integers(1, units + 1, self.count)
        erased[0] = 0
        order = rng.random((self.count, units)).argsort(axis=1).argsort(axis=1)
        return order >= erased[:, None]
