"""The same input explained for two models, or for two versions of one: where do they use different units?

Each method is compared with itself by the ranks that it gives to the units that both models read. Scores are not
compared: their scale is that of each model's probabilities. Importing this module does not load torch.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from explainers.comparison.consensus import abstains, spec_of
from explainers.errors import ExplanationError
from explainers.methods.registry import select
from explainers.metrics.agreement import Scores, spearman
from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.results.answer import CONSENSUS
from explainers.results.comparison import Comparison
from explainers.results.decision import Decision
from explainers.results.events import MethodResult
from explainers.training.artifacts import not_fitted


class SecondModel(Protocol):
    """What is to be known of a model to ask it the same as the first one."""

    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def version(self) -> str: ...
    @property
    def erasures(self) -> tuple[Erasure, ...]: ...
    @property
    def default_erasure(self) -> Erasure: ...


@dataclass(frozen=True)
class SecondQuestion:
    """What the second model is asked; `label` is None for the class that it predicts."""

    methods: tuple[str, ...]
    label: str | None
    versus: str | None
    erasure: Erasure


@dataclass(frozen=True)
class Apart:
    """The unit, by its number among the shared ones, whose two ranks differ most; 1 is the most important, and equal
    scores have the same rank."""

    unit: int
    first: int
    second: int


@dataclass(frozen=True)
class MethodPair:
    """One method's scores of the shared units, for the first model and for the second, and Spearman's ρ of the two;
    NaN with a single unit."""

    method: str
    first: Scores
    second: Scores
    agreement: float

    @property
    def ranks_nothing(self) -> bool:
        """Return whether all scores of one of the two are equal."""
        return len(set(self.first)) == 1 or len(set(self.second)) == 1

    @property
    def apart(self) -> Apart | None:
        """None where all ranks are equal."""
        first, second = _ranks(self.first), _ranks(self.second)
        unit = max(range(len(first)), key=lambda number: abs(first[number] - second[number]))
        return Apart(unit, first[unit], second[unit]) if first[unit] != second[unit] else None


@dataclass(frozen=True)
class ModelPair:
    """Two comparisons of one input. `units` are the numbers that a unit has in the first and in the second; `methods`
    begins with the consensus, then the one that differs most; `alone` are the methods and narrators that only one of
    them has a result of, the first's and the second's. A method that explains another class than the one in question
    has none.
    """

    first: Comparison
    second: Comparison
    units: tuple[tuple[int, int], ...]
    methods: tuple[MethodPair, ...]
    alone: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def same_target(self) -> bool:
        """Return whether both explain the same class, by its name, against the same other one."""
        one, other = (self._target(comparison) for comparison in (self.first, self.second))
        return one == other

    @staticmethod
    def _target(comparison: Comparison) -> tuple[str, ...]:
        decision = comparison.decision
        labels, versus = decision.card.labels, decision.target.versus
        return (labels[decision.label], *([] if versus is None else [labels[versus]]))

    def as_dict(self) -> dict[str, Any]:
        """Return both comparisons as JSON, and what differs between them."""
        methods = [
            {"method": pair.method, "spearman": pair.agreement, "first": list(pair.first), "second": list(pair.second)}
            for pair in self.methods
        ]
        return {
            "same_target": self.same_target,
            "units": [list(pair) for pair in self.units],
            "methods": methods,
            "only_first": list(self.alone[0]),
            "only_second": list(self.alone[1]),
            "first": self.first.as_dict(),
            "second": self.second.as_dict(),
        }


def second_question(
    first: Decision, methods: Iterable[str], name: str, model: SecondModel, *, label: str = ""
) -> SecondQuestion:
    """Return what the first model was asked, as far as the second, of this name, can answer: without methods that were
    not fitted to it, and about the class `label`, by default that which the first one explains, where it has it."""
    absent = {spec.weights_of for spec in not_fitted(name, model.version)}
    labels, wanted = first.card.labels, label or first.card.labels[first.label]
    versus = None if first.versus is None or label or wanted not in model.labels else labels[first.versus]
    erasure = first.settings.erasure
    return SecondQuestion(
        tuple(spec.id for spec in select(methods) if spec.weights_of not in absent),
        wanted if wanted in model.labels else None,
        versus if versus in model.labels else None,
        erasure if erasure in model.erasures else model.default_erasure,
    )


def two_models(first: Comparison, second: Comparison, narrators: Sequence[str] = ()) -> ModelPair:
    """`narrators` are those that were chosen for both. Raises `ExplanationError` if the comparisons are not about the
    same input, or share no unit."""
    one, other = first.decision.encoding, second.decision.encoding
    if one.texts != other.texts:
        raise ExplanationError("Two models are compared on one input. These comparisons are of different texts.")
    units = shared_units(one, other)
    if not units:
        raise ExplanationError("The two models share no word of this input.")
    ours, theirs = (
        {result.method: result for result in comparison.results if compared(result, comparison)}
        for comparison in (first, second)
    )
    pairs = []
    for method in ours:
        if method in theirs:
            scores = (
                tuple(ours[method].attribution.scores[number] for number, _ in units),
                tuple(theirs[method].attribution.scores[number] for _, number in units),
            )
            pairs.append(MethodPair(method, *scores, spearman(*scores)))
    pairs.sort(key=lambda pair: (pair.method != CONSENSUS, pair.agreement))  # the order of all methods first
    had, has = (
        (*results, *(narrative.method for narrative in comparison.narratives if narrative.method in narrators))
        for results, comparison in ((ours, first), (theirs, second))
    )
    alone = tuple(name for name in had if name not in has), tuple(name for name in has if name not in had)
    return ModelPair(first, second, units, tuple(pairs), alone)


def compared(result: MethodResult, comparison: Comparison) -> bool:
    """Return whether the method explains what is asked by asking the model: a random order, a single part, scores from
    a file and people's marks do not, and some methods explain the predicted class alone."""
    spec = spec_of(result)
    asks = not spec.is_random and not spec.is_single_part and (spec.is_joint or not spec.supplied)
    return asks and not abstains(result, comparison)


def shared_units(first: Encoding, second: Encoding) -> tuple[tuple[int, int], ...]:
    """Return the numbers in both of the units that stand at the same place of the same text, or of the image; of
    examples, which two prompts may have in other places, those that read the same."""
    numbers = {place: number for number, place in enumerate(places(second))}
    return tuple((number, numbers[place]) for number, place in enumerate(places(first)) if place in numbers)


def places(encoding: Encoding) -> Iterator[tuple[object, ...]]:
    """Yield for every unit what it is known by in another encoding of the same input."""
    seen: Counter[str] = Counter()
    for unit in encoding.units:
        seen[unit.text] += 1
        yield (unit.text, seen[unit.text]) if encoding.examples else (unit.segment, unit.start, unit.end, unit.box)


def _ranks(scores: Scores) -> list[int]:
    falling = sorted(scores, reverse=True)
    return [falling.index(score) + 1 for score in scores]
