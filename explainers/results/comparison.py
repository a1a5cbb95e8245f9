"""One decision, its explanations and what was measured about them.

`Comparison.with_event` is the only place where the events of a run are put together: for the notebook, the command
line, the app and stored results alike. Importing this module does not load torch.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from explainers.errors import ExplanationError
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.models.inputs.requirements import display_input_names
from explainers.models.target import Target
from explainers.results.answer import CONSENSUS, Answer
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision
from explainers.results.events import (
    AblatedInputs,
    Duel,
    Event,
    Failure,
    MethodResult,
    MethodStarted,
    Narrative,
    NarrativeCheck,
    OperatorCheck,
    Postponed,
    RandomControl,
)
from explainers.results.manifest import manifest, strict_json

if TYPE_CHECKING:
    import pandas

EXAMPLES, TEXT = "Examples", "Text"  # of a prompt, and below them
LISTS: dict[type, str] = {
    Narrative: "narratives",
    NarrativeCheck: "narrative_checks",
    OperatorCheck: "operator_checks",
    Duel: "duels",
}
Table = Literal["scores", "metrics", "curves"]


@dataclass(frozen=True, repr=False)
class Comparison:
    """One decision and its explanations. In a notebook it draws itself; `as_dict` is its JSON.

    `order` are method ids in the order of display: results and failures stand in it whenever they come; what it does
    not name comes last.
    """

    decision: Decision
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
    answer: Answer | None = None  # made of the rest, where somebody has asked for it
    order: tuple[str, ...] = ()
    budget: float | None = None  # seconds; None: until all is done
    postponed: tuple[str, ...] = ()  # the parts that did not fit into the budget (`events.Postponed`)
    index: Any = None  # of the input in the pandas series from which it comes

    def __repr__(self) -> str:
        """Return a line about it, as "<Comparison of sst2, for positive (0.98): 10 methods, 1 failed>"."""
        count = len([method for method in self.methods if method != CONSENSUS])
        failed = f", {len(self.failures)} failed" if self.failures else ""
        about = f"{self.decision.card.name}, for {self.explained} ({self.probability:.2f})"
        return f"<Comparison of {about}: {count} method{'' if count == 1 else 's'}{failed}>"

    def with_event(self, event: Event) -> "Comparison":
        """Return the comparison with what one event of its run adds. A method that starts or estimates adds nothing."""
        match event:
            case MethodStarted() | Attribution():
                return self
            case MethodResult():
                others = (result for result in self.results if result.method != event.method)
                return replace(self, results=tuple(sorted((*others, event), key=self._place)))
            case Failure():
                return replace(self, failures=tuple(sorted((*self.failures, event), key=self._place)))
            case RandomControl():
                return replace(self, random_control=event)
            case AblatedInputs():
                return replace(self, ablated_inputs=event)
            case Postponed():
                return replace(self, postponed=(*self.postponed, event.part))
            case _:
                name = LISTS[type(event)]
                longer: dict[str, Any] = {name: (*getattr(self, name), event)}
                return replace(self, **longer)

    def events(self) -> Iterator[Event]:
        """Yield events that fold to this comparison again."""
        if self.ablated_inputs is not None:
            yield self.ablated_inputs
        if self.random_control is not None:
            yield self.random_control
        yield from self.results
        yield from self.failures
        yield from self.narratives
        yield from self.narrative_checks
        yield from self.operator_checks
        yield from self.duels
        yield from map(Postponed, self.postponed)

    def _place(self, event: MethodResult | Failure) -> int:
        if event.method == CONSENSUS:
            return -1
        return self.order.index(event.method) if event.method in self.order else len(self.order)

    def result(self, method: str) -> MethodResult | None:
        """Return what was measured about the method; None before it was."""
        return next((result for result in self.results if result.method == method), None)

    @property
    def ended_early(self) -> tuple[str, ...]:
        """Return the ids of the methods that would have become better with more time."""
        return tuple(result.method for result in self.results if result.attribution.ended_early)

    @property
    def lacks_methods(self) -> bool:
        """Return whether more time would add a method or the random orders, or make a method better."""
        methods = {*self.order, "random"}
        return bool(self.ended_early or methods.intersection(self.postponed))

    @property
    def is_complete(self) -> bool:
        """Return whether everything fitted into the budget."""
        return not self.postponed and not self.ended_early

    @property
    def consensus(self) -> MethodResult | None:
        """Return the row of the joint order; None before two methods are finished."""
        return self.result(CONSENSUS)

    def failure(self, method: str) -> str:
        """Return why the method, or narrator, could not explain the decision; empty where it has not failed."""
        return next((failure.reason for failure in self.failures if failure.method == method), "")

    @property
    def label(self) -> str:
        """Return the name of the explained class."""
        return self.decision.card.labels[self.decision.label]

    @property
    def explained(self) -> str:
        """Return the name of what is explained: "A", or "A rather than B"."""
        return self.decision.explained

    @property
    def probability(self) -> float:
        """Return that of what is explained, for the whole input: p(A), or p(A) / (p(A) + p(B))."""
        return self.decision.target.of(self.probabilities)

    @property
    def explains_predicted(self) -> bool:
        """Return whether the predicted class is explained, and not rather than another one."""
        return self.decision.target == Target(self.predicted)

    @property
    def predicted(self) -> int:
        """Number of the class with the highest probability."""
        return max(range(len(self.probabilities)), key=lambda label: self.probabilities[label])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs by `Unit.segment`: ("Premise", "Hypothesis"), ("Text", "Image"); ("",) for one text."""
        return part_names(self.decision.card.input_names, self.decision.encoding)

    @property
    def methods(self) -> tuple[str, ...]:
        """Ids of the finished methods, in the order of display."""
        return tuple(result.attribution.method for result in self.results)

    @property
    def displayed_results(self) -> tuple[MethodResult, ...]:
        """Without the single random order, once the control of several random orders is there."""
        control = self.random_control
        return tuple(
            result for result in self.results if control is None or result.attribution.method != control.method
        )

    def narrative_check(self, narrator: str) -> NarrativeCheck | None:
        """What was checked about the sentence of this narrator; None before it was."""
        return next((check for check in self.narrative_checks if check.method == narrator), None)

    def to_frame(self, table: Table = "scores") -> "pandas.DataFrame":
        """A pandas frame with a row per method and unit ("scores"), method ("metrics") or curve point ("curves")."""
        from explainers.results import frames  # pandas takes a while, and the page does not need it

        if table not in get_args(Table):
            raise ExplanationError(f"Unknown table {table!r}. Choose one of: {', '.join(get_args(Table))}.")
        target, erasure = self._target(), self.decision.settings.erasure
        if table == "metrics":
            return frames.metrics(self.displayed_results, self.random_control, target, erasure)
        if table == "curves":
            return frames.curves(self.results, self.random_control, target, erasure)
        return self.scores_of(result.attribution for result in self.results)

    def scores_of(self, attributions: Iterable[Attribution]) -> "pandas.DataFrame":
        """Return the frame "scores" of these explanations of the same decision, measured or not."""
        from explainers.results import frames

        return frames.scores(attributions, self._target(), self.names, self.decision.kind_of)

    def as_dict(self) -> dict[str, Any]:
        """`model`, `label`, `probabilities` by label, `explanations`, the random control and the run manifest.

        Where one class is explained rather than another, `versus` names that one, also in each explanation.
        `removed` are unit numbers of the whole input; offsets in `units` always refer to the whole text.
        """
        return {
            "model": self.decision.card.name,
            **self._target(),
            "probabilities": self.as_probabilities(),
            **self._class_words(),
            "explanations": [self._explanation(result) for result in self.results],
            "one_text_alone": self.ablated_inputs.as_dict() if self.ablated_inputs else None,
            "narratives": [self._narrative(narrative) for narrative in self.narratives],
            "random_control": _defined(self.random_control.metrics) if self.random_control else None,
            "other_operators": {check.erasure: _operator(check) for check in self.operator_checks},
            "answer": self._answer(),
            "failures": [asdict(failure) for failure in self.failures],
            "removed": list(self.removed),
            "warning": self.decision.encoding.warning,
            "manifest": self._origin(),
            **({"budget": self._budget()} if self.budget is not None else {}),
            **({"duels": [duel.as_dict() for duel in self.duels]} if self.duels else {}),
        }

    def _class_words(self) -> dict[str, Any]:
        share = self.decision.share_of_words
        return {} if share is None else {"share_of_class_words": share}

    def _answer(self) -> dict[str, Any] | None:
        """Return the answer, and the decisive words as they stand in the input."""
        if self.answer is None:
            return None
        units = self.decision.encoding.units
        return {**self.answer.as_dict(), "texts": [units[unit].text for unit in self.answer.words]}

    def _budget(self) -> dict[str, Any]:
        return {"seconds": self.budget, "postponed": list(self.postponed), "ended_early": list(self.ended_early)}

    def as_probabilities(self) -> dict[str, float]:
        return dict(zip(self.decision.card.labels, self.probabilities, strict=True))

    def as_json(self) -> str:
        return strict_json(self.as_dict())

    def manifest(self) -> dict[str, Any]:
        """Return what somebody else needs to reproduce the numbers, and the answer that they gave."""
        return {**self._origin(), "answer": self._answer()}

    def _origin(self) -> dict[str, Any]:
        origin = manifest(self.decision.card, self.decision.encoding, self.decision.settings, self.methods)
        return {**origin, "target": self._target()} if self.decision.target.is_contrast else origin

    def _target(self) -> dict[str, str]:
        """Return the names of the explained class and, where there is one, of the class that it is compared with."""
        labels, versus = self.decision.card.labels, self.decision.versus
        return {"label": self.label} if versus is None else {"label": self.label, "versus": labels[versus]}

    def _unit(self, unit: Unit) -> dict[str, Any]:
        """`kind` is as in `Decision.kind_of`; a patch has a `box` (left, top, right, bottom) in pixels of the given
        image."""
        return {**asdict(unit), "kind": self.decision.kind_of(unit)}

    def _explanation(self, result: MethodResult) -> dict[str, Any]:
        attribution, curves = result.attribution, result.curves
        return {
            "method": attribution.method,
            **self._target(),
            "units": [self._unit(unit) for unit in attribution.encoding.units],
            "scores": list(attribution.scores),
            "signed": attribution.signed,
            "image_share": attribution.image_share if attribution.encoding.multimodal else None,
            "spread": list(attribution.spread) or None,
            "completeness_gap": attribution.gap,
            "samples": attribution.samples or None,
            **({"samples_at_most": attribution.samples_at_most} if attribution.samples_at_most else {}),
            **({"ended_early": True} if attribution.ended_early else {}),
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
        labels = self.decision.card.labels
        check = self.narrative_check(narrative.method)
        return {
            "method": narrative.method,
            "text": narrative.text,
            "stated_label": None if narrative.stated is None else labels[narrative.stated],
            "c2_probabilities": dict(zip(labels, narrative.read, strict=True)) if narrative.read else None,
            "mentioned_units": list(narrative.mentions),
            "true": check.true if check else None,
            "used": check.used if check else None,
            **({"chance": check.chance} if check and check.chance is not None else {}),
            "seconds": narrative.seconds,
        }


def part_names(input_names: Sequence[str], encoding: Encoding) -> tuple[str, ...]:
    """Names of the parts by `Unit.segment`: ("Premise", "Hypothesis"), ("Text", "Image"), or ("",) for one text; below
    the examples of a prompt, ("Examples", "Text")."""
    if encoding.multimodal:
        return ("Text", "Image")
    names = display_input_names(input_names, len(encoding.texts))
    return (EXAMPLES, *(name or TEXT for name in names)) if encoding.examples else names


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


class Comparisons(list[Comparison]):
    """A list in the order of the inputs, whose tables stand below each other."""

    def to_frame(self, table: Table = "scores") -> "pandas.DataFrame":
        """Return `Comparison.to_frame` of all, with the number of the input, from 0, in the first column `input`, and
        with the index of those that come from a series in the second, `index`."""
        import pandas as pd

        from_series = any(comparison.index is not None for comparison in self)
        frames = [comparison.to_frame(table) for comparison in self]
        for number, (frame, comparison) in enumerate(zip(frames, self, strict=True)):
            frame.insert(0, "input", number)
            if from_series:
                frame.insert(1, "index", pd.Series([comparison.index] * len(frame), frame.index))
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame({"input": []})

    def __repr__(self) -> str:
        if not self:
            return "<Comparisons of no input>"
        supported = sum(bool(one.answer and one.answer.status == "supported") for one in self)
        model = self[0].decision.card.name
        failures = sum(len(one.failures) for one in self)
        failed = f", {failures} failed: see the `failures` of each" if failures else ""
        return f"<Comparisons of {model}: {len(self)} inputs, {supported} with a supported answer{failed}>"
