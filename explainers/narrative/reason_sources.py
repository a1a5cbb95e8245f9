"""Where decisions with human reasons come from: a model's own data, or a published set of images.

A generated data set gives the reasons of its generator.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from explainers.datasets.example import Example, Splits
from explainers.datasets.images.sets import ImageFiles
from explainers.errors import DataUnavailable
from explainers.models.frozen_model import FrozenModel
from explainers.models.tasks import TASKS, Task

HELD_OUT = 10  # of a set in one file, one image in so many is for validation and another one for the test


@dataclass(frozen=True)
class ReasonSource:
    """Disjoint splits; every example of `training` has reasons. `sentences` are for the warm-up, none from the test."""

    name: str
    training: tuple[Example, ...]
    validation: tuple[Example, ...]
    test: tuple[Example, ...]
    sentences: Callable[[], Sequence[str]]
    generated: bool = False  # whether a generator gave the reasons
    more_training: Callable[[int], Sequence[Example]] | None = None  # so many further examples, from the generator

    def further_training(self, number: int) -> Sequence[Example]:
        """Raises `DataUnavailable` where no generator draws examples."""
        if self.more_training is None:
            raise DataUnavailable(f"No generator draws more examples of {self.name}. Omit --set more_examples.")
        return self.more_training(number)


def reason_source(model: FrozenModel, data: Path | None, images: ImageFiles | None = None) -> ReasonSource:
    """Raises `DataUnavailable` where there are no reasons for this model's classes."""
    if images is not None:
        return _published(model, data, images)
    task = _task(model)
    if task is None:
        raise DataUnavailable(
            f"Reasons for the classes of {model.name} are not available. "
            + ("Give a published set with --format and --pictures." if model.multimodal else "e-SNLI is about others.")
        )
    splits = task.read(data)
    training = tuple(example for example in (*splits.train, *splits.explainer) if example.explanations)
    more = task.sentences or (lambda _data: ())
    return ReasonSource(
        task.reason_source,
        training,
        splits.validation,
        splits.test,
        lambda: _sentences(splits, more(data)),
        generated=task.generated,
        more_training=task.more_training,
    )


def _task(model: FrozenModel) -> Task | None:
    """The task whose data give reasons for the model's classes: those about images only for the model of this task."""
    for name, task in TASKS.items():
        applies = name == model.name if model.multimodal else not task.multimodal
        if task.reason_source and task.labels == model.labels and applies:
            return task
    return None


def _sentences(splits: Splits, more: Sequence[str]) -> list[str]:
    """Texts and reasons of the training pairs, sorted, each once."""
    texts = (text for example in splits.train for text in (example.text, example.pair or "", *example.explanations))
    return sorted({*more, *texts} - {""})


def _published(model: FrozenModel, data: Path | None, images: ImageFiles) -> ReasonSource:
    examples = images.read(data, model.labels).examples
    with_reasons = tuple(example for example in examples if example.explanations and example.label is not None)
    number = {image: at for at, image in enumerate(dict.fromkeys(reason.image for reason in with_reasons))}
    if len(number) < 4 * HELD_OUT:
        raise DataUnavailable(
            f"The set {images.format} has reasons for {len(number)} images; {4 * HELD_OUT} are needed."
        )
    parts: dict[int, list[Example]] = {}
    for reason in with_reasons:  # all that is said about one image stays together
        parts.setdefault(min(number[reason.image] % HELD_OUT, 2), []).append(reason)
    splits = Splits(train=tuple(parts[2]), validation=tuple(parts[0]), test=tuple(parts[1]))
    return ReasonSource(images.format, splits.train, splits.validation, splits.test, lambda: _sentences(splits, ()))
