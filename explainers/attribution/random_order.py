"""The random control: scores drawn at random. An explanation must beat it."""

from dataclasses import dataclass

import numpy as np

from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.results.attribution import Attribution, floats


@dataclass(frozen=True)
class RandomOrder:
    """Costs nothing. `seed` decides the order."""

    seed: int = 0

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        scores = np.random.default_rng(self.seed).standard_normal(len(encoding.units))
        return Attribution("random", encoding, label, floats(scores), signed=True)
