"""What a run gives while it explains one decision, all of it plain values; readable without torch.

An attribution: what every method answers with. Sign and range are data here, never guessed by a view. Its curves are
probabilities along an erasure order: units removed from the highest score down, and kept alone.

A narrative: what a narrator answers with.

The events: a method started, an estimate, a result, the random control, a failure, a sentence and what was checked
about it, the metrics under another erasure operator, a duel, what was postponed. `Comparison.with_event` folds them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, PlainSerializer

from explainers.models.inputs.encoding import Encoding, Erasure
from explainers.results.answer import Null

Stage = Literal["estimate", "final"]


@dataclass(frozen=True)
class Attribution:
    """One score per unit of `encoding` for class number `label`; positive signed scores support the class.

    `spread` is the standard deviation of each score that sampling alone would cause, `draws` are equally likely
    alternative scores from which it is estimated; `gap` is |Σ scores - (f(x) - f(baseline))|. `model_calls` are the
    answers that it used, `new_calls` those of them that had to be computed; None where that was not recorded.
    """

    method: str
    encoding: Encoding
    label: int
    scores: tuple[float, ...]
    signed: bool
    spread: tuple[float, ...] = ()
    draws: tuple[tuple[float, ...], ...] = ()
    gap: float | None = None
    samples: int = 0
    samples_at_most: int | None = None  # where sampling ends by itself
    ended_early: bool = False  # because there was no more time for it
    stage: Stage = "final"
    seconds: float = 0.0
    model_calls: int = 0
    new_calls: int | None = None

    def __post_init__(self) -> None:
        scores, units = len(self.scores), len(self.encoding.units)
        if scores != units:
            raise ValueError(f"{self.method} gave {scores} scores for {units} units")
        if not np.isfinite(self.scores).all():
            raise ValueError(f"{self.method} gave scores that are not finite: {self.scores}")

    @property
    def image_share(self) -> float | None:
        """Σ|s| over patches divided by Σ|s| over all units, 0…1; None where every score is 0."""
        sizes = np.abs(self.scores)
        patches = [number for number, unit in enumerate(self.encoding.units) if unit.kind == "patch"]
        return float(sizes[patches].sum() / sizes.sum()) if sizes.any() else None

    def ended(self) -> "Attribution":
        """Return this estimate as the result, because there is no more time for better ones."""
        return replace(self, stage="final", ended_early=True)

    def costing(self, seconds: float, model_calls: int, new_calls: int) -> "Attribution":
        return replace(self, seconds=seconds, model_calls=model_calls, new_calls=new_calls)


def ranking(scores: tuple[float, ...]) -> NDArray[np.int64]:
    """Unit numbers from the highest score to the lowest; equal scores stay in the order of the text."""
    return np.argsort(-np.asarray(scores, dtype=float), kind="stable")


def floats(values: object) -> tuple[float, ...]:
    """Plain numbers, so that results can be cached, compared and written as JSON."""
    return tuple(float(value) for value in np.asarray(values, dtype=float).reshape(-1))


Floats = NDArray[np.float64]


def _rows(values: object) -> Floats:
    rows = np.asarray(values, dtype=float)
    if rows.size and rows.ndim != 2:
        raise ValueError("a curve has a row of probabilities per count")
    return rows


Curve = Annotated[Floats, BeforeValidator(_rows), PlainSerializer(np.ndarray.tolist, return_type=list[list[float]])]

PERCENTS = (1, 5, 10, 20, 50)  # ERASER's K (DeYoung et al., 2020)
EVERY_COUNT_UP_TO = 60  # units; longer inputs are sampled in steps of 2 %


def top_count(units: int, percent: float) -> int:
    """k = max(1, ⌈n·K/100⌉), never more than n."""
    return min(units, max(1, int(np.ceil(units * percent / 100 - 1e-9))))


def curve_counts(units: int) -> tuple[int, ...]:
    """Counts of erased units at which a curve is sampled: all, for long inputs every 2 % and those of `PERCENTS`."""
    if units <= EVERY_COUNT_UP_TO:
        return tuple(range(units + 1))
    steps = {round(units * step / 50) for step in range(51)}
    return tuple(sorted(steps | {top_count(units, percent) for percent in PERCENTS}))


def metric_counts(units: int) -> tuple[int, ...]:
    """The counts that the metrics at `PERCENTS` read, with both ends."""
    return tuple(sorted({0, units, *(top_count(units, percent) for percent in PERCENTS)}))


def first_counts(units: int) -> tuple[int, ...]:
    """Those of `metric_counts` and the middle of every gap: where every curve of a comparison is measured."""
    possible = curve_counts(units)
    places = [possible.index(count) for count in metric_counts(units)]
    middles = {(low + high) // 2 for low, high in pairwise(places)}
    return tuple(possible[place] for place in sorted({*places, *middles}))


@dataclass(frozen=True)
class ErasureCurves:
    """Class probabilities when the `counts[i]` highest-scored units are removed, and when only they are kept.

    Between the counts a curve is drawn as a straight line; see `explainers.metrics.faithfulness` for where they lie.
    `kept` is empty where only removal was computed. `label` is the class that the metrics read.
    """

    counts: tuple[int, ...]
    removed: Curve  # (len(counts), C)
    kept: Curve  # (len(counts), C)
    label: int

    @property
    def units(self) -> int:
        return self.counts[-1]

    @property
    def only_ends(self) -> bool:
        """Return whether nothing between its ends was measured, which are those of every order."""
        return len(self.counts) <= min(self.units, 2)

    @property
    def shares(self) -> Floats:
        """`counts` as shares of all units, 0…1."""
        return np.asarray(self.counts) / max(self.units, 1)

    def when_removed(self, percent: float) -> float:
        """p(label) without the top `percent` % of the units."""
        return self.removed_at(top_count(self.units, percent))

    def when_kept(self, percent: float) -> float:
        """p(label) with only the top `percent` % of the units."""
        return self.kept_at(top_count(self.units, percent))

    def removed_at(self, count: int) -> float:
        """p(label) without the `count` highest-scored units, one of `counts`."""
        return float(self.removed[self.counts.index(count), self.label])

    def kept_at(self, count: int) -> float:
        """p(label) with only the `count` highest-scored units, one of `counts`."""
        return float(self.kept[self.counts.index(count), self.label])

    @property
    def full(self) -> float:
        """p(label) of the whole input."""
        return float(self.removed[0, self.label])

    @property
    def reverse(self) -> tuple[Floats, Floats]:
        """Shares, and p(label) when the lowest-scored units are removed first; read off `kept`."""
        return 1 - self.shares[::-1], self.kept[::-1, self.label]


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
