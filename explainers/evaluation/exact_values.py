"""A decision about few units with the answer to every mask: a game of which Shapley values are known exactly."""

from dataclasses import dataclass, field
from math import comb

import numpy as np
from numpy.typing import NDArray

from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Erasure

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]

MOST_UNITS = 16  # 65,536 masks


def all_masks(units: int) -> Masks:
    """(2^units, units): row r keeps unit u where bit u of r is set. Raises `ValueError` for too many units."""
    if units > MOST_UNITS:
        raise ValueError(f"{units} units have {2**units:,} masks; at most {MOST_UNITS} units are possible.")
    return (np.arange(2**units)[:, None] >> np.arange(units) & 1).astype(bool)


@dataclass(eq=False)
class Game:
    """`values` (2^units,) are p(label) by mask, in the order of `all_masks`; `asked` are those that were looked up."""

    units: int
    values: Floats = field(repr=False)
    asked: set[int] = field(default_factory=set, repr=False)

    def probabilities(self, masks: Masks) -> Floats:
        """p(label) of each mask, (B,)."""
        rows = np.asarray(masks, dtype=bool) @ (1 << np.arange(self.units))
        self.asked |= set(rows.tolist())
        values: Floats = self.values[rows]
        return values

    def played_again(self) -> "Game":
        """The same game, of which nothing was asked yet."""
        return Game(self.units, self.values)


def game_of(model: FrozenModel, encoding: Encoding, label: int, erasure: Erasure = "mask") -> Game:
    """Asks for every mask: 2^units passes."""
    units = len(encoding.units)
    return Game(units, model.probabilities(encoding, all_masks(units), erasure)[:, label])


def exact_shapley(game: Game) -> Floats:
    """φ_u = Σ_S (v(S ∪ u) - v(S)) / (n C(n-1, |S|)) over all sets S without u, (units,)."""
    masks = all_masks(game.units)
    sizes = masks.sum(axis=1)
    scores = np.zeros(game.units)
    for unit in range(game.units):
        without = np.flatnonzero(~masks[:, unit])
        shares = np.array([1 / (game.units * comb(game.units - 1, int(size))) for size in sizes[without]])
        scores[unit] = shares @ (game.values[without | (1 << unit)] - game.values[without])
    return scores
