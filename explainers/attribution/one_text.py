"""Controls for pairs, and for pictures with a text: one part is all that counts. The figures then say how far that
part alone goes.

    s_u = 1 if unit u is of part number `segment`, else 0        0: premise or text, 1: hypothesis or picture

At a cut inside the part, its first words or patches are the ones that are taken.
"""

from dataclasses import dataclass

from explainers.explanation import Attribution
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Encoding


@dataclass(frozen=True)
class OneText:
    """Costs nothing. `name` is the id of the method that this is."""

    name: str = "premise_only"
    segment: int = 0

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        scores = tuple(float(unit.segment == self.segment) for unit in encoding.units)
        return Attribution(self.name, encoding, label, scores, signed=False)
