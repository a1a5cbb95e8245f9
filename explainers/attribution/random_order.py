"""The random control: scores drawn at random. An explanation must beat it."""

from dataclasses import dataclass

import numpy as np

from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.results.attribution import Attribution, floats
from explainers.results.settings import RANDOM_ORDERS


@dataclass(frozen=True)
class RandomOrder:
    """Costs nothing. `seed` decides the order, which is the first one of the random control."""

    seed: int = 0

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        (scores,) = control_orders(len(encoding.units), self.seed, 1)
        return Attribution("random", encoding, label, scores, signed=True)


def random_scores(units: int, seed: int) -> tuple[float, ...]:
    return floats(np.random.default_rng(seed).standard_normal(units))


def control_orders(units: int, seed: int, orders: int = RANDOM_ORDERS) -> list[tuple[float, ...]]:
    """The scores of the random control's independent orders, of which more begin with the same ones."""
    return [random_scores(units, 1000 * (seed + 1) + draw) for draw in range(orders)]
