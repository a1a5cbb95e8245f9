"""The tasks of the embedded models, collected from every architecture that has a module `tasks`; without torch."""

from collections.abc import Sequence
from typing import Any

from explainers.datasets.entailment import NO_RULES, ReasonTruth
from explainers.datasets.example import Example
from explainers.errors import ModelUnavailable
from explainers.models.architectures import architecture_module, architectures_with
from explainers.models.bundle_cards import bundle_names, generator_noun, stands_on
from explainers.models.task_spec import Task, TrainingOptions


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
