"""One decision, its explanations and what was measured about them. Importing this module does not load torch."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from explainers.errors import ExplanationError
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.models.inputs.requirements import display_input_names
from explainers.results.ablated_inputs import AblatedInputs
from explainers.results.attribution import Attribution
from explainers.results.duel import Duel
from explainers.results.erasure_curves import ErasureCurves
from explainers.results.manifest import manifest
from explainers.results.narrative import Narrative, NarrativeCheck
from explainers.results.operator_check import OperatorCheck
from explainers.results.settings import Settings
from explainers.results.strict_json import strict_json
from explainers.results.verdict import Verdict

if TYPE_CHECKING:
    import pandas

    from explainers.models.frozen_model import FrozenModel

Table = Literal["scores", "metrics", "curves"]


@dataclass(frozen=True)
class Question:
    """One decision to explain. `encoding` must have units; `label` is the class whose probability is explained."""

    model: "FrozenModel"
    encoding: Encoding
    label: int
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        if not self.encoding.units:
            raise ExplanationError("All words are removed. Restore at least one to explain the decision.")


@dataclass(frozen=True)
class MethodResult:
    """An attribution, its erasure curves, and by metric id its metrics and their noise (standard deviation)."""

    attribution: Attribution
    curves: ErasureCurves
    metrics: dict[str, float]
    noise: dict[str, float]


@dataclass(frozen=True)
class RandomControl:
    """The curves of several random orders, by metric id the score of each, and by metric id their aggregate.

    It replaces the result of `method`, which is a single random order.
    """

    curves: tuple[ErasureCurves, ...]
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    method: str = "random"

    @property
    def deviations(self) -> dict[str, float]:
        """By metric id, the standard deviation over the orders."""
        return {metric: float(np.std(scores)) for metric, scores in self.scores.items()}


@dataclass(frozen=True)
class Failure:
    """A method that could not explain this decision, and why."""

    method: str
    reason: str


@dataclass(frozen=True)
class Comparison:
    """One decision and its explanations. In a notebook it draws itself; `as_dict` is its JSON."""

    question: Question
    probabilities: tuple[float, ...]
    results: tuple[MethodResult, ...] = ()
    random_control: RandomControl | None = None
    failures: tuple[Failure, ...] = ()
    removed: tuple[int, ...] = ()
    ablated_inputs: AblatedInputs | None = None  # of a pair, or of an image with text
    narratives: tuple[Narrative, ...] = ()
    narrative_checks: tuple[NarrativeCheck, ...] = ()
    operator_checks: tuple[OperatorCheck, ...] = ()
    duels: tuple[Duel, ...] = ()
    verdict: Verdict | None = None  # made of the rest, where somebody has asked for it

    @property
    def label(self) -> str:
        return self.question.model.labels[self.question.label]

    @property
    def predicted(self) -> int:
        """Number of the class with the highest probability."""
        return max(range(len(self.probabilities)), key=lambda label: self.probabilities[label])

    @property
    def names(self) -> tuple[str, ...]:
        """Of the inputs, by `Unit.segment`: ("Premise", "Hypothesis"), ("Text", "Image"); ("",) for one text."""
        return part_names(self.question.model.input_names, self.question.encoding)

    @property
    def methods(self) -> tuple[str, ...]:
        """Ids of the finished methods, in the order of display."""
        return tuple(result.attribution.method for result in self.results)

    @property
    def displayed_results(self) -> tuple[MethodResult, ...]:
        """Without the single random order, once the control of several random orders is there."""
        control = self.random_control
        return tuple(each for each in self.results if control is None or each.attribution.method != control.method)

    def narrative_check(self, narrator: str) -> NarrativeCheck | None:
        """What was checked about the sentence of this narrator; None before it was."""
        return next((each for each in self.narrative_checks if each.method == narrator), None)

    def to_frame(self, table: Table = "scores") -> "pandas.DataFrame":
        """A pandas frame with a row per method and unit ("scores"), method ("metrics") or curve point ("curves")."""
        from explainers.results import frames  # pandas takes a while, and the page does not need it

        return {"scores": frames.scores, "metrics": frames.metrics, "curves": frames.curves}[table](self)

    def as_dict(self) -> dict[str, Any]:
        """`model`, `label`, `probabilities` by label, `explanations`, the random control and the run manifest.

        `removed` are unit numbers of the whole input; offsets in `units` always refer to the whole text.
        """
        return {
            "model": self.question.model.name,
            "label": self.label,
            "probabilities": self.as_probabilities(),
            "explanations": [self._explanation(result) for result in self.results],
            "one_text_alone": self.ablated_inputs.as_dict() if self.ablated_inputs else None,
            "narratives": [self._narrative(narrative) for narrative in self.narratives],
            "random_control": _defined(self.random_control.metrics) if self.random_control else None,
            "other_operators": {check.erasure: _operator(check) for check in self.operator_checks},
            "verdict": self.verdict.as_dict() if self.verdict else None,
            "failures": [asdict(failure) for failure in self.failures],
            "removed": list(self.removed),
            "notice": self.question.encoding.warning,
            "manifest": self.manifest(),
            **({"duels": [duel.as_dict() for duel in self.duels]} if self.duels else {}),
        }

    def as_probabilities(self) -> dict[str, float]:
        return dict(zip(self.question.model.labels, self.probabilities, strict=True))

    def as_json(self) -> str:
        return strict_json(self.as_dict())

    def manifest(self) -> dict[str, Any]:
        """What somebody else needs to reproduce the numbers."""
        question = self.question
        return manifest(question.model, question.encoding, question.settings, self.methods)

    def _explanation(self, result: MethodResult) -> dict[str, Any]:
        attribution, curves = result.attribution, result.curves
        return {
            "method": attribution.method,
            "label": self.question.model.labels[attribution.label],
            "units": [_unit(unit) for unit in attribution.encoding.units],
            "scores": list(attribution.scores),
            "signed": attribution.signed,
            "picture_share": attribution.image_share if attribution.encoding.multimodal else None,
            "spread": list(attribution.spread) or None,
            "completeness_gap": attribution.gap,
            "samples": attribution.samples or None,
            **({"samples_at_most": attribution.samples_at_most} if attribution.samples_at_most else {}),
            "seconds": attribution.seconds,
            "model_calls": attribution.model_calls,
            "new_calls": attribution.new_calls,
            "metrics": _defined(result.metrics),
            "curve": {
                "share": [float(share) for share in curves.shares],
                "removed": [float(p) for p in curves.removed[:, attribution.label]],
                "kept": [float(p) for p in curves.kept[:, attribution.label]],
            },
        }

    def _narrative(self, narrative: Narrative) -> dict[str, Any]:
        labels = self.question.model.labels
        check = self.narrative_check(narrative.method)
        return {
            "method": narrative.method,
            "text": narrative.text,
            "stated_label": None if narrative.stated is None else labels[narrative.stated],
            "c2_probabilities": dict(zip(labels, narrative.read, strict=True)) if narrative.read else None,
            "mentioned_units": list(narrative.mentions),
            "true": check.true if check else None,
            "used": check.used if check else None,
            "seconds": narrative.seconds,
        }


def part_names(input_names: Sequence[str], encoding: Encoding) -> tuple[str, ...]:
    """By `Unit.segment`: ("Premise", "Hypothesis"), ("Text", "Image"), or ("",) for one text."""
    return ("Text", "Image") if encoding.multimodal else display_input_names(input_names, len(encoding.texts))


def _defined(metrics: Mapping[str, float]) -> dict[str, float | None]:
    """None where a metric is not defined, because JSON has no NaN."""
    return {metric: None if math.isnan(value) else value for metric, value in metrics.items()}


def _operator(check: OperatorCheck) -> dict[str, Any]:
    """Metrics by method, and of each the mean over the random orders."""
    return {
        "metrics": {method: _defined(values) for method, values in check.metrics.items()},
        "random_control": _defined({metric: float(np.mean(values)) for metric, values in check.random.items()}),
        "failure": check.failure or None,
    }


def _unit(unit: Unit) -> dict[str, Any]:
    """`kind` is "word" or "patch"; a patch has a `box` (left, top, right, bottom) in pixels of the given image."""
    return {**asdict(unit), "kind": unit.kind}
