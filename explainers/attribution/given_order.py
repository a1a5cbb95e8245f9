"""The order in which a person marked units: not an explanation of the model, but a guess to compare with them.

s_u = n, n - 1, …, 1 for the n marked units in the order of marking, 0 for the others
"""

from dataclasses import dataclass

from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.results.attribution import Attribution


@dataclass(frozen=True)
class GivenOrder:
    """Costs nothing. `order` are unit numbers, the most important first."""

    order: tuple[int, ...] = ()

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        """Raises `ExplanationError` if no unit is marked, and for a number that is no unit's."""
        units, order = len(encoding.units), dict.fromkeys(self.order)
        if not order:
            raise ExplanationError("No unit is marked. Mark at least one, the most important first.")
        for number in order:
            if not 0 <= number < units:
                raise ExplanationError(f"There is no unit {number}. Choose numbers from 0 to {units - 1}.")
        scores = dict(zip(order, range(len(order), 0, -1), strict=True))
        values = tuple(float(scores.get(number, 0)) for number in range(units))
        return Attribution("guess", encoding, label, values, signed=False)
