"""The embedded models: what each is trained on, and how its bundle is made."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from explainers.datasets import esnli, sst2
from explainers.datasets.example import Example, Splits
from explainers.errors import ModelUnavailable
from explainers.models.asking import SINGLE
from explainers.models.base import HUB_ID as BASE_ID
from explainers.models.base import SHA256 as BASE_SHA256
from explainers.models.base import sha256
from explainers.models.bundle import WEIGHTS, load_bundle
from explainers.models.cards import BUNDLES, CARD
from explainers.models.classifier import FrozenModel
from explainers.models.scenes import making as scenes
from explainers.models.training import LOG, Recipe, train


@dataclass(frozen=True)
class Task:
    """What an embedded model is trained for: its classes in the order of their numbers, and its data."""

    labels: tuple[str, ...]
    data: str
    licence: str
    rule: str  # how the parts were kept apart
    read: Callable[[Path | None], Splits]
    asks: tuple[str, ...] = SINGLE  # what its texts are called


TASKS = {
    "sst2": Task(
        ("negative", "positive"),
        "SST-2 (Socher et al., 2013), GLUE's phrases; half of the Rotten Tomatoes sentences that are not in SST "
        "(Pang and Lee, 2005); to warm up, Yelp sentences",
        "research use",
        "validation: random training sentences, none of whose phrases is in train; test: the dev sentences",
        lambda folder: sst2.read(folder),
    ),
    "nli": Task(
        esnli.LABELS,
        "e-SNLI (Camburu et al., 2018), its dev file; SNLI pairs with counterfactual revisions (Kaushik et al., 2020), "
        "their train and dev files; to learn to explain, unlabelled, e-SNLI-VE (Do et al., 2021)",
        "e-SNLI: MIT; counterfactual revisions: Apache-2.0",
        "validation: the pairs of random pictures of e-SNLI dev, none of which is in train; test: test_a, no premise "
        "of which, nor one that shares seven words in a row with it, is in the counterfactual part of train",
        lambda folder: esnli.read(folder),
        asks=("premise", "hypothesis"),
    ),
    "scenes": Task(
        scenes.LABELS,
        "scenes of three boxes with statements about them, drawn by a seeded generator; no files are needed",
        "as this project",
        "every part is drawn with a seed of its own; the sentences of test have forms that no other part has",
        scenes.splits,
    ),
}


def make_bundle(name: str, data: Path | None, recipe: Recipe, out: Path | None, *, resume: bool) -> dict[str, Any]:
    """Trains the model `name` and writes weights and card to `out`. Returns the card.

    The accuracies on the card are those of the bundle as it was written, loaded again and asked through the door.
    """
    if name not in TASKS:
        raise ModelUnavailable(f"There is no embedded model {name!r} to train. Choose one of: {', '.join(TASKS)}.")
    if name == "scenes":
        raise ModelUnavailable("scenes is not trained on the base weights; its recipe is one of its own.")
    task, folder, work = TASKS[name], out or BUNDLES / name, Path("runs") / name
    parts = task.read(data)
    if not resume:
        for left_over in ("finished", LOG):  # of an earlier training, which would be taken for this one
            (work / left_over).unlink(missing_ok=True)
    if not (work / "finished").is_file():
        train((parts.train, parts.warm_up, parts.validation), len(task.labels), recipe, work, resume=resume)
        (work / "finished").touch()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(work / WEIGHTS, folder / WEIGHTS)
    found: dict[str, Any] = {
        "name": name,
        "labels": list(task.labels),
        "texts": list(task.asks),
        "base": {"id": BASE_ID, "sha256": BASE_SHA256, "licence": "Apache-2.0"},
        "data": {"name": task.data, "licence": task.licence},
        "splits": {
            "train": len(parts.train),
            "validation": len(parts.validation),
            "test": len(parts.test),
            "warm_up": len(parts.warm_up),
            "explainer": len(parts.explainer),
            "rule": task.rule,
        },
        "recipe": asdict(recipe),
        "command": command(name, recipe),
        "sha256": sha256(folder / WEIGHTS),
        "accuracy": {},
        "log": [json.loads(line) for line in (work / LOG).read_text().splitlines() if "validation" in line],
    }
    (folder / CARD).write_text(json.dumps(found, indent=2) + "\n")
    model = load_bundle(folder, torch.device("cpu"))
    found["accuracy"] = {"validation": measured(model, parts.validation), "test": measured(model, parts.test)}
    (folder / CARD).write_text(json.dumps(found, indent=2) + "\n")
    return found


def command(name: str, recipe: Recipe) -> str:
    """What to type to get this bundle again; DIR holds the data in the files that the reader names."""
    return (
        f"python -m explainers train-model {name} --data DIR --epochs {recipe.epochs} --rank {recipe.rank} "
        f"--learning-rate {recipe.learning_rate} --seed {recipe.seed}"
    )


def measured(model: FrozenModel, part: Sequence[Example]) -> float:
    """Accuracy of a loaded model."""
    right = 0
    for example in part:
        encoding = model.encode(example)
        right += model.probabilities(encoding, np.ones((1, len(encoding.units)))).argmax() == example.label
    return float(right / len(part))
