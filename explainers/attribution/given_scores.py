"""Scores that were made elsewhere, for spans of the text, mapped to the units of the model.

Signed scores are shared out: a span gives each unit that it touches a part of its score, in proportion to the
characters that they share, and a unit adds up what it gets, so that the sum stays as it was. Unsigned scores are masks:
a unit gets the highest score of the spans that touch it. Spans without characters, such as special tokens, and spans in
what the model does not read give nothing; units that no span touches score 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explainers.errors import ExplanationError
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.results.attribution import Attribution, floats

ScoredSpan = tuple[int, int, int]  # number of the text, start and end (exclusive) in code points


@dataclass(frozen=True)
class GivenScores:
    """Costs nothing. A score per span of `texts`; `label` names the class that they are about, "" for any."""

    method: str = "elsewhere"
    texts: tuple[str, ...] = ()
    spans: tuple[ScoredSpan, ...] = ()
    scores: tuple[float, ...] = ()
    signed: bool = True
    label: str = ""

    def attribute(self, model: FrozenModel, encoding: Encoding, label: int) -> Attribution:
        """Raises `ExplanationError` for another text or class, and if no unit gets a score."""
        if encoding.texts != tuple(text.encode("utf-8", "replace").decode() for text in self.texts):
            raise ExplanationError("These scores were made for another text.")
        if self.label and self.label != model.labels[label]:
            raise ExplanationError(f"These scores are about the class {self.label}, not {model.labels[label]}.")
        values = unit_scores(encoding, self.spans, self.scores, signed=self.signed)
        if not any(values):
            raise ExplanationError("No unit that the model reads has a score.")
        return Attribution(self.method, encoding, label, values, signed=self.signed)


def unit_scores(
    encoding: Encoding, spans: Sequence[ScoredSpan], scores: Sequence[float], *, signed: bool
) -> tuple[float, ...]:
    """A score per unit, by the rule above."""
    values = np.zeros(len(encoding.units))
    for (segment, start, end), score in zip(spans, scores, strict=True):
        shared = np.array(
            [
                max(0, min(end, unit.end) - max(start, unit.start)) * (unit.segment == segment and unit.box is None)
                for unit in encoding.units
            ],
            dtype=float,
        )
        if shared.any() and signed:
            values += score * shared / shared.sum()
        elif shared.any():
            values = np.where(shared > 0, np.maximum(values, score), values)
    return floats(values)
