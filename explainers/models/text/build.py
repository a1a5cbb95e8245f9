"""How the bundle of an embedded text model is made, with the accuracy of what was written."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from explainers.datasets.example import Splits
from explainers.models.accuracy import accuracy
from explainers.models.bundle_cards import BUNDLES, CARD
from explainers.models.task_spec import Task
from explainers.models.text.base_weights import HUB_ID as BASE_ID
from explainers.models.text.base_weights import SHA256 as BASE_SHA256
from explainers.models.text.base_weights import sha256
from explainers.models.text.bundle import WEIGHTS, load_bundle
from explainers.models.text.recipe import TextModelRecipe
from explainers.models.text.training import LOG, train

FINISHED = "finished"  # a file in the run's folder, present once the training is over


def make_text_bundle(
    name: str, task: Task, data: Path | None, recipe: TextModelRecipe, out: Path | None, *, resume: bool
) -> dict[str, Any]:
    """Trains the model and writes weights and card to `out`, by default beside the other bundles. Returns the card.

    The accuracies on the card are those of the bundle as it was written, loaded again.
    """
    folder, run = out or BUNDLES / name, Path("runs") / name
    splits = task.read(data)
    if not resume:
        for stale in (FINISHED, LOG):  # of an earlier training, which would be taken for this one
            (run / stale).unlink(missing_ok=True)
    if not (run / FINISHED).is_file():
        train((splits.train, splits.warm_up, splits.validation), len(task.labels), recipe, run, resume=resume)
        (run / FINISHED).touch()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(run / WEIGHTS, folder / WEIGHTS)
    card = _card(name, task, splits, recipe, folder)
    card["log"] = [json.loads(line) for line in (run / LOG).read_text().splitlines() if "validation" in line]
    _write(folder, card)
    model = load_bundle(folder, torch.device("cpu"))
    card["accuracy"] = {"validation": accuracy(model, splits.validation), "test": accuracy(model, splits.test)}
    _write(folder, card)
    return card


def command(name: str, recipe: TextModelRecipe) -> str:
    """The command that makes this bundle again; DIR holds the data in the files that the reader names."""
    return (
        f"python -m explainers train-model {name} --data DIR --epochs {recipe.epochs} --rank {recipe.rank} "
        f"--learning-rate {recipe.learning_rate} --seed {recipe.seed}"
    )


def _card(name: str, task: Task, splits: Splits, recipe: TextModelRecipe, folder: Path) -> dict[str, Any]:
    return {
        "name": name,
        "position": task.position,
        "labels": list(task.labels),
        "texts": list(task.input_names),
        "base": {"id": BASE_ID, "sha256": BASE_SHA256, "licence": "Apache-2.0"},
        "data": {"name": task.data, "licence": task.licence},
        "splits": {
            "train": len(splits.train),
            "validation": len(splits.validation),
            "test": len(splits.test),
            "warm_up": len(splits.warm_up),
            "explainer": len(splits.explainer),
            "rule": task.split_rule,
        },
        "recipe": asdict(recipe),
        "command": command(name, recipe),
        "sha256": sha256(folder / WEIGHTS),
        "accuracy": {},
    }


def _write(folder: Path, card: dict[str, Any]) -> None:
    (folder / CARD).write_text(json.dumps(card, indent=2) + "\n")
