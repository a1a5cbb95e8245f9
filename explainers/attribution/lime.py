"""LIME (Ribeiro et al., 2016), its fit through Captum: a weighted ridge regression on random masks of the units.

    argmin_s Σ_z π(z) (p(label | z) - b - z·s)² + ridge ‖s‖²,   π(z) = √exp(-d(z)² / width²),   d = 1 - cos(1, z)

Masks are drawn as in the authors' package: the number of erased units is uniform, which ones is random. Captum's own
default (Lasso with α = 0.01) returns zeros for every word when the target is a probability, so it is not used.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from captum._utils.models.linear_model import SkLearnRidge
from numpy.typing import NDArray

from explainers.attribution.surrogate import last_of, refine, single_unit
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.results.attribution import Attribution


@dataclass(frozen=True)
class Lime:
    """Costs `samples` passes. The kernel width is the authors' default for text, in units of cosine distance."""

    samples: int = 500
    width: float = 0.25
    ridge: float = 1.0
    erasure: Erasure = "mask"
    seed: int = 0

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        return last_of(self.refine(model, encoding, label))

    def refine(self, model: FrozenModel, encoding: Encoding, label: int) -> Iterator[Attribution]:
        if len(encoding.units) == 1:
            yield single_unit("lime", model, encoding, label, self.erasure)
            return
        masks = self.masks(len(encoding.units))
        distance = 1 - np.sqrt(masks.mean(axis=1))  # the cosine between all ones and k of n ones is √(k/n)
        yield from refine(
            "lime",
            model,
            encoding,
            label,
            masks=masks,
            weights=np.sqrt(np.exp(-((distance / self.width) ** 2))),
            blocks=np.arange(len(masks)),
            erasure=self.erasure,
            ridge=self.ridge,
            seed=self.seed,
            final=SkLearnRidge(alpha=self.ridge),
        )

    def masks(self, units: int) -> NDArray[np.bool_]:
        """(samples, units), true = kept; the first mask is the whole text."""
        rng = np.random.default_rng(self.seed)
        erased = rng.integers(1, units + 1, self.samples)
        erased[0] = 0
        order = rng.random((self.samples, units)).argsort(axis=1).argsort(axis=1)
        return order >= erased[:, None]
