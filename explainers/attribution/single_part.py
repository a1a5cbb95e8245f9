"""Controls for pairs, and for images with a text: one part counts, the other does not.

Their metrics say how far that part alone goes.

    s_u = 1 if unit u belongs to part number `segment`, else 0        0: premise or text, 1: hypothesis or image

At a cut inside the part, its first words or patches are the ones that are taken.
"""

from dataclasses import dataclass

from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.results.attribution import Attribution


@dataclass(frozen=True)
class SinglePart:
    """Costs nothing. `name` is the id of the method that this is."""

    name: str = "premise_only"
    segment: int = 0

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        scores = tuple(float(unit.segment == self.segment) for unit in encoding.units)
        return Attribution(self.name, encoding, label, scores, signed=False)
