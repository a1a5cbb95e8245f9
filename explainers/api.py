"""What a notebook, the command line and the app share: ask once, get everything that was measured."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from explainers.comparison import Chance, Failed, Measured, Question, run
from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.errors import ExplanationError
from explainers.manifest import manifest
from explainers.methods import DEFAULT, chosen
from explainers.metrics.modalities import picture_share
from explainers.models.asking import check_count, check_picture, check_words, example_of
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import OF_PICTURES, UNIT_KINDS, Encoding, Unit, UnitKind
from explainers.models.meter import Meter
from explainers.models.notices import notices
from explainers.narrative.narrative import Narrative
from explainers.one_text import OneTextAlone, one_text_alone, part_names
from explainers.settings import Settings


@dataclass(frozen=True)
class Comparison:
    """One decision and its explanations. In a notebook it shows itself; `as_dict` is its JSON."""

    question: Question
    probabilities: tuple[float, ...]
    results: tuple[Measured, ...] = ()
    chance: Chance | None = None
    failures: tuple[Failed, ...] = ()
    removed: tuple[int, ...] = field(default=())
    one_text_alone: OneTextAlone | None = None  # of a pair
    narratives: tuple[Narrative, ...] = ()

    @property
    def label(self) -> str:
        return self.question.model.labels[self.question.label]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parts: ("Premise", "Hypothesis"), ("Text", "Picture"); ("",) for a single text."""
        return part_names(self.question.model.asks, self.question.encoding)

    @property
    def methods(self) -> tuple[str, ...]:
        """Ids of the finished methods, in the order of display."""
        return tuple(result.attribution.method for result in self.results)

    def as_dict(self) -> dict[str, Any]:
        """`model`, `label`, `probabilities` by label, `explanations`, the random control and the run manifest.

        `removed` are numbers of units of the whole text; offsets in `units` are always those of the whole text.
        """
        return {
            "model": self.question.model.name,
            "label": self.label,
            "probabilities": self.as_probabilities(),
            "explanations": [self._explanation(result) for result in self.results],
            "one_text_alone": self.one_text_alone.as_dict() if self.one_text_alone else None,
            "narratives": [self._narrative(each) for each in self.narratives],
            "random_control": self.chance.metrics if self.chance else None,
            "failures": [asdict(failure) for failure in self.failures],
            "removed": list(self.removed),
            "notice": self.question.encoding.notice,
            "manifest": manifest(self.question, self.methods),
        }

    def as_probabilities(self) -> dict[str, float]:
        return dict(zip(self.question.model.labels, self.probabilities, strict=True))

    def as_json(self) -> str:
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2)

    def _explanation(self, result: Measured) -> dict[str, Any]:
        found = result.attribution
        return {
            "method": found.method,
            "label": self.question.model.labels[found.label],
            "units": [_unit(unit) for unit in found.encoding.units],
            "scores": list(found.scores),
            "signed": found.signed,
            "picture_share": picture_share(found) if found.encoding.pictured else None,
            "spread": list(found.spread) or None,
            "completeness_gap": found.gap,
            "samples": found.samples or None,
            "seconds": found.seconds,
            "model_calls": found.model_calls,
            "metrics": result.metrics,
            "curve": {
                "share": [float(share) for share in result.path.shares],
                "removed": [float(p) for p in result.path.removed[:, found.label]],
                "kept": [float(p) for p in result.path.kept[:, found.label]],
            },
        }

    def _narrative(self, found: Narrative) -> dict[str, Any]:
        labels = self.question.model.labels
        return {
            "method": found.method,
            "text": found.text,
            "stated_label": None if found.stated is None else labels[found.stated],
            "c2_probabilities": dict(zip(labels, found.read, strict=True)) if found.read else None,
            "mentioned_units": list(found.mentions),
            "seconds": found.seconds,
        }

    def _repr_html_(self) -> str:
        from explainers.report.document import fragment

        return fragment(self)


def _unit(unit: Unit) -> dict[str, Any]:
    """`kind` is "word" or "patch"; a patch has a `box` (left, top, right, bottom) in pixels of the given image."""
    return {**asdict(unit), "kind": unit.kind}


def ask(
    model: FrozenModel,
    text: str | Example,
    *,
    label: str | None = None,
    settings: Settings | None = None,
    removed: Sequence[int] = (),
    meter: Meter | None = None,
) -> tuple[Question, tuple[float, ...]]:
    """The decision to explain and its probabilities: the predicted class, or the one that is named.

    `removed` are units that are erased for good. Raises `ExplanationError` for an unknown class, an empty text, or
    one text where the model asks for two.
    """
    settings = settings or Settings()
    metered = model.metered(meter or Meter())
    encoding = encoded(metered, example_of(text), settings.unit)
    if removed:
        encoding = metered.without(encoding, removed, settings.erasure)
    everything = np.ones((1, len(encoding.units)), dtype=bool)
    (probabilities,) = metered.probabilities(encoding, everything, settings.erasure)
    if label is not None and label not in model.labels:
        raise ExplanationError(f"The model has no class {label!r}. Choose one of: {', '.join(model.labels)}.")
    explained = int(probabilities.argmax()) if label is None else model.labels.index(label)
    return Question(model, encoding, explained, settings), tuple(float(p) for p in probabilities)


def encoded(model: FrozenModel, example: Example, unit: UnitKind) -> Encoding:
    """What the model reads, with every notice about it. Raises `ExplanationError` where it asks for something else."""
    check_picture(model.name, example, pictured=model.pictured)
    check_count(model.name, model.asks, example)
    found = model.encode(example, unit)
    check_words(model.name, model.asks, example, {each.segment for each in found.units})
    return replace(found, notice=notices(model.name, found, model.unknown, english=model.english))


def checked(unit: str, erasure: str, samples: int, steps: int, seed: int) -> Settings:
    """The settings, if all of them exist. Raises `ExplanationError` with what is possible."""
    if erasure not in OF_PICTURES:
        raise ExplanationError(f"There is no erasure {erasure!r}. Choose one of: {', '.join(OF_PICTURES)}.")
    if unit not in UNIT_KINDS:
        raise ExplanationError(f"There is no unit {unit!r}. Choose one of: {', '.join(UNIT_KINDS)}.")
    if samples < 10 or steps < 1 or seed < 0:
        raise ExplanationError("There must be at least 10 samples and 1 step, and the seed must not be negative.")
    return Settings(unit, erasure, samples, steps, seed)


def explain(
    model: FrozenModel,
    text: str | Example,
    text_pair: str | None = None,
    *,
    image: Picture | Path | str | bytes | None = None,
    methods: Sequence[str] = DEFAULT,
    label: str | None = None,
    erasure: str = "mask",
    unit: str = "word",
    samples: int = 500,
    steps: int = 50,
    seed: int = 0,
) -> Comparison:
    """Explains why the model predicts its class (or what speaks for `label`) by each method, and measures each.

    `text_pair` is the second text for a model of pairs, such as the hypothesis; `image` a file, its path or its content
    for a model of pictures. Raises `ExplanationError` with a sentence for whatever is wrong with the input.
    """
    example, settings = example_of(text, text_pair), checked(unit, erasure, samples, steps, seed)
    if image is not None:
        example = replace(example, picture=picture_of(image))
    return explain_with(model, example, methods, label=label, settings=settings)


def picture_of(image: Picture | Path | str | bytes) -> Picture:
    """From what a caller has. Raises `DataUnavailable` for an empty file; what else is wrong is found on reading."""
    if isinstance(image, bytes):
        return Picture.uploaded(image)
    return image if isinstance(image, Picture) else Picture(path=Path(image))


def explain_with(
    model: FrozenModel, text: str | Example, methods: Sequence[str], *, label: str | None, settings: Settings
) -> Comparison:
    """`explain` with the settings in one value."""
    entries = chosen(methods)
    question, probabilities = ask(model, text, label=label, settings=settings)
    alone = one_text_alone(question, Meter())
    events = list(run(question, entries, Meter()))
    return Comparison(
        question,
        probabilities,
        results=in_display_order([event for event in events if isinstance(event, Measured)]),
        chance=next((event for event in events if isinstance(event, Chance)), None),
        failures=tuple(event for event in events if isinstance(event, Failed)),
        one_text_alone=alone,
        narratives=tuple(event for event in events if isinstance(event, Narrative)),
    )


def in_display_order(results: Sequence[Measured]) -> tuple[Measured, ...]:
    order = [entry.id for entry in chosen({result.attribution.method for result in results})]
    return tuple(sorted(results, key=lambda result: order.index(result.attribution.method)))
