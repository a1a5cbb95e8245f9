"""Controls for pairs: one text is all that counts. The figures then say how far that text alone goes.

    s_u = 1 if unit u is of text number `segment`, else 0

At a cut inside the text, its first words are the ones that are taken.
"""

from dataclasses import dataclass

from explainers.explanation import Attribution
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Encoding

METHODS = ("premise_only", "hypothesis_only")


@dataclass(frozen=True)
class OneText:
    """Costs nothing."""

    segment: int = 0

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        scores = tuple(float(unit.segment == self.segment) for unit in encoding.units)
        return Attribution(METHODS[self.segment], encoding, label, scores, signed=False)
