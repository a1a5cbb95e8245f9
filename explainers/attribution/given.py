"""Orders and scores that are supplied with the input and measured as the methods are; they are none of the methods.

A person's order of marked units is no explanation of the model, but a guess to compare with them:

    s_u = n, n - 1, …, 1 for the n marked units in the order of marking, 0 for the others

Scores that were made elsewhere, for spans of the text, are mapped to the units of the model. Signed scores are shared
out: a span gives each unit that it touches a part of its score, in proportion to the characters that they share, and a
unit adds up what it gets, so that the sum stays as it was. Unsigned scores are masks: a unit gets the highest score of
the spans that touch it. Spans without characters, such as special tokens, and spans in what the model does not read
give nothing; units that no span touches score 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from explainers.errors import ExplanationError
from explainers.methods.registry import MethodSpec
from explainers.models.target import Target
from explainers.results.attribution import Attribution, floats

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel
    from explainers.models.inputs.encoding import Encoding

ScoredSpan = tuple[int, int, int]  # number of the text, start and end (exclusive) in code points

GUESS = MethodSpec(
    id="guess",
    name="Your order",
    group="Yours",
    kind="given",
    signed=False,
    idea="The units that you marked, in your order, measured as the methods are.",
    caution="It says what you find important, not what the model used. Units that you did not mark all score 0.",
    formula=r"s_u=n+1-\text{position of } u \text{ among the } n \text{ marked units}",
    source="your marks",
    implementation=f"{__name__}:GivenOrder",
    colour="#8c5a2b",
    passes=lambda _units, _samples, _steps: 0,
    supplied="needs units that you mark. Use explain(…, guess=…) or the app for it.",
)

PEOPLE = MethodSpec(
    id="people",
    name="People's marks",
    group="Yours",
    kind="given",
    signed=False,
    idea="The evidence that people marked for their own answer, measured as the methods are.",
    caution="It says what people find important, not what the model used. Units that nobody marked all score 0.",
    formula=r"s_u=\text{the share of people who marked } u",
    source="the data",
    implementation=f"{__name__}:GivenScores",
    colour="#5a6e78",
    passes=lambda _units, _samples, _steps: 0,
    supplied="needs people's marks. Give a file of items with rationales to the app.",
)

FROM_FILE = MethodSpec(
    id="given",
    name="From a file",
    group="Yours",
    kind="one pass",
    signed=True,
    idea="Scores that another program computed, measured as the methods are.",
    caution="Whether they were computed for this model is not known here.",
    formula=r"s_u=\sum_{\text{spans } t}s_t\,\frac{|t\cap u|}{|t|}",
    source="your file",
    implementation=f"{__name__}:GivenScores",
    colour="#965a96",
    passes=lambda _units, _samples, _steps: 0,
    supplied="needs a file with scores. Use `explain --attributions FILE` or the app for it.",
)


def guess_spec(marked: Iterable[int], removed: Iterable[int] = ()) -> MethodSpec | None:
    """The method that ranks the `marked` units of the whole input, without the removed ones; None if none is left."""
    gone = sorted(set(removed))
    order = tuple(unit - sum(gap < unit for gap in gone) for unit in dict.fromkeys(marked) if unit not in gone)
    return replace(GUESS, fixed=(("order", order),)) if order else None


@dataclass(frozen=True)
class GivenScores:
    """Costs nothing. A score per span of `texts`; `label` names what they are about, such as "positive" or "positive
    rather than negative", "" for anything."""

    method: str = "elsewhere"
    texts: tuple[str, ...] = ()
    spans: tuple[ScoredSpan, ...] = ()
    scores: tuple[float, ...] = ()
    signed: bool = True
    label: str = ""

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        """Raises `ExplanationError` for another text or class, and if no unit gets a score."""
        if encoding.texts != tuple(text.encode("utf-8", "replace").decode() for text in self.texts):
            raise ExplanationError("These scores were made for another text.")
        target = model.target or Target(label)
        if self.label and self.label != target.name(model.labels):
            raise ExplanationError(f"These scores are about the class {self.label}, not {target.name(model.labels)}.")
        values = unit_scores(encoding, self.spans, self.scores, signed=self.signed)
        if not any(values):
            raise ExplanationError("No unit that the model reads has a score.")
        return Attribution(self.method, encoding, label, values, signed=self.signed)


def unit_scores(
    encoding: "Encoding", spans: Sequence[ScoredSpan], scores: Sequence[float], *, signed: bool
) -> tuple[float, ...]:
    """A score per unit, by the rule above. Raises `ExplanationError` where the units are examples of a prompt."""
    if encoding.examples:
        raise ExplanationError("These scores are about the text, and the units are the examples of the prompt.")
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


@dataclass(frozen=True)
class GivenOrder:
    """Costs nothing. `order` are unit numbers, the most important first."""

    order: tuple[int, ...] = ()

    def attribute(self, model: "FrozenModel", encoding: "Encoding", label: int) -> Attribution:
        """Raises `ExplanationError` if no unit is marked, and for a number that is no unit's."""
        units, order = len(encoding.units), dict.fromkeys(self.order)
        if not order:
            raise ExplanationError("No unit is marked. Mark at least one, the most important first.")
        for number in order:
            if not 0 <= number < units:
                raise ExplanationError(f"There is no unit {number}. Choose numbers from 0 to {units - 1}.")
        scores = dict(zip(order, range(len(order), 0, -1), strict=True))
        values = tuple(float(scores.get(number, 0)) for number in range(units))
        return Attribution(GUESS.id, encoding, label, values, signed=GUESS.signed)
