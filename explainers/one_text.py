"""How far one part goes alone: what the model answers when the other text of a pair, or the picture or its text, is
erased; and to a pair that is swapped."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explainers.comparison import Question
from explainers.datasets.example import Example
from explainers.models.asking import text_names
from explainers.models.encoding import Encoding
from explainers.models.meter import Meter
from explainers.report.text import decimals, one_line

Probabilities = tuple[float, ...]


@dataclass(frozen=True)
class OneTextAlone:
    """Probabilities by class, each with the parts' names: the first alone, the second alone, of a pair both swapped."""

    labels: tuple[str, ...]
    names: tuple[str, ...]
    answers: tuple[Probabilities, ...]

    def as_dict(self) -> dict[str, dict[str, float]]:
        keys = [*(name.lower().replace(" ", "_") for name in self.names), "swapped"]
        shares = (dict(zip(self.labels, each, strict=True)) for each in self.answers)
        return dict(zip(keys, shares, strict=False))  # only a pair has an answer for "swapped"

    def __str__(self) -> str:
        asked = (f"{self.names[0]} alone", f"{self.names[1].lower()} alone", "swapped")
        return " · ".join(f"{name}: {self._first(each)}" for name, each in zip(asked, self.answers, strict=False))

    def _first(self, answer: Probabilities) -> str:
        best = int(np.argmax(answer))
        return f"{one_line(self.labels[best])} {decimals(answer[best])}"


def part_names(asks: Sequence[str], encoding: Encoding) -> tuple[str, ...]:
    """By `Unit.segment`: ("Premise", "Hypothesis"), ("Text", "Picture"), or ("",) for a single text."""
    return ("Text", "Picture") if encoding.pictured else text_names(asks, len(encoding.texts))


def one_text_alone(question: Question, meter: Meter) -> OneTextAlone | None:
    """Three questions about a pair, two about a picture with a text, less what is removed; None for a single text."""
    model, encoding, settings = question.model.metered(meter), question.encoding, question.settings
    if len(encoding.texts) == 1 and not encoding.pictured:
        return None
    owners = np.asarray([unit.segment for unit in encoding.units])
    alone = model.probabilities(encoding, [owners == 0, owners == 1], settings.erasure)
    names = part_names(model.asks, encoding)
    if encoding.pictured:
        return OneTextAlone(model.labels, names, tuple(tuple(float(p) for p in row) for row in alone))
    turned = model.encode(Example(encoding.texts[1], encoding.texts[0]), settings.unit)
    left = {(1 - unit.segment, unit.start, unit.end) for unit in encoding.units}
    gone = [at for at, unit in enumerate(turned.units) if (unit.segment, unit.start, unit.end) not in left]
    turned = model.without(turned, gone, settings.erasure)
    swapped = model.probabilities(turned, np.ones((1, len(turned.units))), settings.erasure)
    first, second, third = (tuple(float(p) for p in row) for row in np.vstack([alone, swapped]))
    return OneTextAlone(model.labels, names, (first, second, third))
