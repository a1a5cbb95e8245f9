"""The task of `scenes`; readable without torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from explainers.datasets.entailment import LABELS, ReasonTruth
from explainers.datasets.example import Example, Splits
from explainers.datasets.scenes.generator import generate_items
from explainers.models.scenes.recipe import SceneModelRecipe
from explainers.models.tasks import Task, TrainingOptions


def _read(folder: Path | None) -> Splits:
    from explainers.models.scenes.build import splits  # imports torch

    return splits(folder)


def _make(options: TrainingOptions) -> dict[str, Any]:
    from explainers.models.scenes.build import make_scenes  # imports torch

    return make_scenes(options.data, options.recipe(SceneModelRecipe), options.out, resume=options.resume)


def _generated(seed: int) -> Example:
    return next(generate_items(seed, held_out=True)).example()


def _more_training(number: int) -> tuple[Example, ...]:
    from explainers.models.scenes.build import more_training  # imports torch

    return more_training(number)


def _check_reason(reason: str, example: Example) -> ReasonTruth:
    from explainers.datasets.scenes.reason_checker import check_reason  # imports scipy

    return check_reason(reason, example)


def _check_topic(reason: str, references: Sequence[str]) -> bool | None:
    from explainers.datasets.scenes.reason_checker import on_topic

    return on_topic(reason, references)


def _first_of_test() -> Example:
    from explainers.models.scenes.build import SEEDS  # imports torch

    return _generated(SEEDS["test"])


TASKS = {
    "scenes": Task(
        position=3,
        decides="whether the text follows from the image, contradicts it, or neither",
        labels=LABELS,
        data="scenes of three boxes with statements about them, drawn by a seeded generator; no files are needed",
        licence="as this project",
        split_rule="every part is drawn with a seed of its own; the sentences of test have forms that no other part "
        "has",
        read=_read,
        make=_make,
        example=_first_of_test,
        multimodal=True,
        reason_source="scenes",
        generated_example=_generated,
        more_training=_more_training,
        check_reason=_check_reason,
        check_topic=_check_topic,
    ),
}
