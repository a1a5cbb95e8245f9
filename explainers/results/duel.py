"""The smallest experiment that separates two methods: a few units that one ranks high and the other low."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DuelSide:
    """One method's `units` (numbers among the explained units), and p(class) without them and with only them."""

    method: str
    units: tuple[int, ...]
    removed: float
    kept: float


@dataclass(frozen=True)
class Duel:
    """Two sides with as many units each. `full` is p(class) of the whole input; `random_removed` and `random_kept` are
    p(class) without, and with only, as many random units, a value per draw. `winner` is None where the experiment does
    not separate the methods."""

    sides: tuple[DuelSide, DuelSide]
    full: float
    random_removed: tuple[float, ...]
    random_kept: tuple[float, ...]
    winner: str | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON. The unit numbers are those of an explanation's `units`."""
        return {
            "sides": [
                {"method": side.method, "units": list(side.units), "removed": side.removed, "kept": side.kept}
                for side in self.sides
            ],
            "probability": self.full,
            "random_removed": list(self.random_removed),
            "random_kept": list(self.random_kept),
            "winner": self.winner,
        }
