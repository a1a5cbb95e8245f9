"""What a run gives while it explains one decision, all of it plain values; readable without torch.

A narrative: what a narrator answers with.

The events: a method started, an estimate, a result, the random control, a failure, a sentence and what was checked
about it, the metrics under another erasure operator, a duel, what was postponed. `Comparison.with_event` folds them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from explainers.models.inputs.encoding import Erasure
from explainers.results.answer import Null
from explainers.results.attribution import Attribution, ErasureCurves

NO_WORD = "it names no word of the input"


@dataclass(frozen=True)
class Narrative:
    """A generated sentence. `stated` is the class it names, None if it names none.

    `read` are C2's probabilities, read from what φ is about to say; empty where the training has no C2. `mentions` are
    numbers of units whose word, or another form of it, stands in the sentence; derived, not part of the paper.
    """

    method: str
    text: str
    stated: int | None
    read: tuple[float, ...]
    mentions: tuple[int, ...]
    seconds: float


@dataclass(frozen=True)
class NarrativeCheck:
    """What was checked about the narrative of `method`.

    `true` tells whether its reason is true of the input, None where no checker knows; `true_note` says why. `used`
    tells whether the probability of the stated class falls further without the words that the sentence mentions than
    without any other set of as many (`random_removed`), None where `use_note` says why not. `full` and `removed` are
    that probability with all units and without the mentioned words, None where nothing was erased. `chance` is how
    likely the reason holds, by a regression on readings; None where that is not known.
    """

    method: str
    true: bool | None = None
    true_note: str = ""
    used: bool | None = None
    use_note: str = ""
    full: float | None = None
    removed: float | None = None
    random_removed: tuple[float, ...] = ()
    chance: float | None = None


Probabilities = tuple[float, ...]


@dataclass(frozen=True)
class AblatedInputs:
    """Predictions for an input with one of its parts ablated.

    `predictions` are the probabilities with only the first part, with only the second, and of a pair swapped. `names`
    are those of the parts: ("Premise", "Hypothesis"), ("Text", "Image").
    """

    labels: tuple[str, ...]
    names: tuple[str, ...]
    predictions: tuple[Probabilities, ...]
    multimodal: bool = False

    def as_dict(self) -> dict[str, dict[str, float]]:
        """Values by part, such as "premise", and "swapped" for a pair."""
        names = ("text", "picture") if self.multimodal else self.names
        keys = [*(name.lower().replace(" ", "_") for name in names), "swapped"]
        by_label = (dict(zip(self.labels, probabilities, strict=True)) for probabilities in self.predictions)
        return dict(zip(keys, by_label, strict=False))  # only a pair can be swapped


@dataclass(frozen=True)
class OperatorCheck:
    """The metrics under another erasure operator, to see whether the answer depends on the operator.

    `metrics` by method id and metric id; `random` by metric id, the value of each random order. Only metrics
    that need no more than the percents of AOPC are there. `failure` says why nothing was measured.
    """

    erasure: Erasure
    metrics: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    random: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    failure: str = ""


@dataclass(frozen=True)
class DuelSide:
    """One method's `units` (numbers among the explained units), and p(class) without them and with only them."""

    method: str
    units: tuple[int, ...]
    removed: float
    kept: float


@dataclass(frozen=True)
class Duel:
    """The smallest experiment that separates two methods: a few units that one ranks high and the other low.

    Two sides with as many units each. `full` is p(class) of the whole input; `random_removed` and `random_kept` are
    p(class) without, and with only, as many random units, a value per draw. `winner` is None where the experiment does
    not separate the methods; `p` is how often the two ends of a random order are as far apart."""

    sides: tuple[DuelSide, DuelSide]
    full: float
    random_removed: tuple[float, ...]
    random_kept: tuple[float, ...]
    winner: str | None
    p: float = 1.0

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
            "p": self.p,
        }


@dataclass(frozen=True)
class MethodStarted:
    method: str


@dataclass(frozen=True)
class MethodResult:
    """An attribution, its erasure curves, and by metric id its metrics and their noise (standard deviation)."""

    attribution: Attribution
    curves: ErasureCurves
    metrics: dict[str, float]
    noise: dict[str, float]

    @property
    def method(self) -> str:
        """Return the id of the method."""
        return self.attribution.method


@dataclass(frozen=True)
class RandomControl:
    """The curves of several random orders, by metric id the score of each, and by metric id their aggregate.

    It replaces the result of `method`, which is a single random order. `exact` has AOPC-C − AOPC-S of every order of
    the units, where it was computed.
    """

    curves: tuple[ErasureCurves, ...]
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    method: str = "random"
    exact: Null | None = None

    @property
    def deviations(self) -> dict[str, float]:
        """Map each metric id to the standard deviation over the orders."""
        return {metric: float(np.std(scores)) for metric, scores in self.scores.items()}


@dataclass(frozen=True)
class Failure:
    """A method that could not explain this decision, and why."""

    method: str
    reason: str


@dataclass(frozen=True)
class Postponed:
    """A part of the comparison that did not fit into its budget of time.

    `part` is the id of a method, narrator or the random control, or an erasure operator of which nothing was measured.
    """

    part: str


Event = (
    MethodStarted
    | Attribution  # an estimate, or the last one before it is measured
    | MethodResult
    | RandomControl
    | Failure
    | Postponed
    | Narrative
    | NarrativeCheck
    | OperatorCheck
    | AblatedInputs
    | Duel
)
