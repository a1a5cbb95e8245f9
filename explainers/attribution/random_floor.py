"""The floor: scores drawn at random. A method that does not beat it has found nothing."""

from dataclasses import dataclass

import numpy as np

from explainers.explanation import Attribution, floats
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Encoding


@dataclass(frozen=True)
class RandomFloor:
    """Costs nothing. `seed` decides the order."""

    seed: int = 0

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        scores = np.random.default_rng(self.seed).standard_normal(len(encoding.units))
        return Attribution("random", encoding, label, floats(scores), signed=True)
