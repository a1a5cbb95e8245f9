"""What an embedded model is trained for, and the tasks of all architectures with a module `tasks`; without torch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from explainers.datasets.entailment import NO_RULES, ReasonChecker, ReasonTruth, TopicChecker
from explainers.datasets.example import UNSEEN, Example, Splits
from explainers.errors import DataUnavailable, ModelUnavailable
from explainers.models.bundle_cards import (
    architecture_module,
    architectures_with,
    bundle_names,
    generator_noun,
    stands_on,
)
from explainers.models.inputs.requirements import SINGLE_TEXT

RecipeType = TypeVar("RecipeType")


@dataclass(frozen=True)
class TrainingOptions:
    """What `train-model` was given. None stands for the default of the model's recipe."""

    data: Path | None = None
    out: Path | None = None  # by default the folder of the embedded models
    resume: bool = False
    epochs: int | None = None
    steps: int | None = None
    rank: int | None = None
    learning_rate: float | None = None
    seed: int = 0
    uniform_masking: bool | None = None

    def recipe(self, recipe_class: type[RecipeType]) -> RecipeType:
        """The recipe with the hyperparameters given here; those that it does not have are ignored."""
        names = {field.name for field in fields(recipe_class)}  # type: ignore[arg-type]
        return recipe_class(
            **{name: value for name, value in vars(self).items() if name in names and value is not None}
        )


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """What a classifier is trained on, as its card says it."""

    labels: tuple[str, ...]  # in the order of their numbers
    data: str
    licence: str
    split_rule: str  # how the parts are kept disjoint
    read: Callable[[Path | None], Splits]
    input_names: tuple[str, ...] = SINGLE_TEXT
    position: int = 0  # in lists and selections
    decides: str = ""  # what the model decides, as "whether …"


@dataclass(frozen=True, kw_only=True)
class Task(TrainingData):
    """Data and training of an embedded model, and the examples that stand for it."""

    make: Callable[[TrainingOptions], dict[str, Any]]  # trains, writes the bundle and returns its card
    example: Callable[[], Example]  # the input of the benchmark
    multimodal: bool = False
    reason_source: str = ""  # name of the set of reasons in `data`; empty where the data have none
    sentences: Callable[[Path | None], Sequence[str]] | None = None  # more sentences than the splits hold
    generated_example: Callable[[int], Example] | None = None  # by seed; None where the data are not generated
    more_training: Callable[[int], Sequence[Example]] | None = None  # so many, generated, that `read` does not have
    check_reason: ReasonChecker | None = None  # None where no rules tell whether a reason is true of its input
    check_topic: TopicChecker | None = None  # None where no rules tell whether a reason is on the topic of another

    @property
    def generated(self) -> bool:
        """Return whether the data come from a generator, so that no files are needed."""
        return self.generated_example is not None


def _collected() -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    for architecture in architectures_with("tasks"):
        tasks |= architecture_module(architecture, "tasks").TASKS
    return dict(sorted(tasks.items(), key=lambda item: item[1].position))


TASKS: dict[str, Task] = _collected()


def make_bundle(name: str, options: TrainingOptions) -> dict[str, Any]:
    """Trains the model `name` and writes its bundle. Returns the card."""
    if name not in TASKS:
        raise ModelUnavailable(f"The embedded model {name!r} is not available. Choose one of: {', '.join(TASKS)}.")
    return TASKS[name].make(options)


def task_of(model: str) -> Task | None:
    """The task of an embedded model, for a changed copy that of the model it was made from; None for other models."""
    return TASKS.get(model) or TASKS.get(stands_on(model))


def split_of(model: str, data: Path | None, split: str) -> tuple[Example, ...]:
    """Return a part of the data of an embedded model, or of a changed copy of one.

    Raises `DataUnavailable` for a model that is not embedded, an unknown part, and data that cannot be read.
    """
    task = own_task(model)
    if split not in UNSEEN:
        raise DataUnavailable(f"Unknown split {split!r}. Choose one of: {', '.join(UNSEEN)}.")
    return tuple(getattr(task.read(data), split))


def own_task(model: str) -> Task:
    """Return the task of an embedded model, as `task_of`. Raises `DataUnavailable` for a model that has no data of its
    own."""
    task = task_of(model)
    if task is None:
        raise DataUnavailable(
            f"{model} is no embedded model, so it has no data of its own. Give a table, or a file with a text per line."
        )
    return task


def generated_example(name: str) -> Example:
    """The generated example of this name, such as "scene 7". Raises `ValueError` if no generator has the noun."""
    noun, _, number = name.rpartition(" ")
    for model in bundle_names():
        task = TASKS.get(model)
        if task is not None and task.generated_example is not None and generator_noun(model) == noun:
            return task.generated_example(int(number))
    raise ValueError(f"no generator of examples such as {name!r}")


def reason_truth(model: str, reason: str, example: Example) -> ReasonTruth:
    """Return whether the reason is true of the input, by the rules of the model's task if it has any."""
    task = TASKS.get(model)
    if task is None or task.check_reason is None:
        return NO_RULES
    return task.check_reason(reason, example)


def reason_on_topic(model: str, reason: str, references: Sequence[str]) -> bool | None:
    """Whether the reason is about what one of the true reasons is about; None where the task has no rule for it."""
    task = TASKS.get(model)
    return None if task is None or task.check_topic is None else task.check_topic(reason, references)
