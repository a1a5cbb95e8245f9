"""How the bundle `scenes` is made, and how well it does on scenes and on statements that people wrote."""

import json
import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from explainers.datasets.example import Example, Splits
from explainers.datasets.scenes import nlvr
from explainers.datasets.scenes.generator import Item, items
from explainers.datasets.scenes.kinds import kind_of
from explainers.errors import DataUnavailable, ExplanationError
from explainers.models.base import sha256
from explainers.models.cards import BUNDLES, CARD
from explainers.models.classifier import Floats
from explainers.models.processes import forks
from explainers.models.scenes.bundle import WORDS, load_scenes
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.reader import learned, ready
from explainers.models.scenes.recipe import Recipe
from explainers.models.scenes.samples import Sample, Sources, of_item, of_row, sentences
from explainers.models.scenes.training import CHECKPOINT, WEIGHTS, Training, train

LABELS = ("entailment", "neutral", "contradiction")
WORK, LOG = Path("runs/scenes"), "log.jsonl"
SEEDS = {"train": 11, "explainer": 12, "validation": 13, "test": 14}  # of generated parts; no two share a seed
SIZES = {"train": 8000, "explainer": 2000, "validation": 500, "test": 2000}
OF_SENTENCES, WATCHED = 99, 777  # seeds of the sentences from which words are learned, and of what is watched


def part(name: str) -> tuple[Item, ...]:
    """A part of the generated scenes, by its seed; the test says everything in forms that training never sees."""
    return tuple(islice(items(SEEDS[name], held_out=name == "test"), SIZES[name]))


def splits(_folder: Path | None) -> Splits:
    """Generated scenes with their reasons and their evidence; no files are needed."""
    made = {name: tuple(item.example() for item in part(name)) for name in SEEDS}
    return Splits(made["train"], made["validation"], made["test"], explainer=made["explainer"])


def make_scenes(data: Path | None, recipe: Recipe, out: Path | None, *, resume: bool) -> dict[str, Any]:
    """Trains `scenes` and writes weights, words and card to `out`. Returns the card. `data` holds NLVR."""
    if data is None:
        raise DataUnavailable("Give --data, the folder of NLVR: train.tar.gz, dev.tar.gz and test.tar.gz.")
    if recipe.steps < 1:
        raise ExplanationError(f"There must be at least 1 step, not {recipe.steps}.")
    if not forks():
        raise ExplanationError("scenes is trained by two processes, which needs Linux: this system cannot fork.")
    begun = all((WORK / name).is_file() for name in (WORDS, CHECKPOINT))
    if resume and not begun:
        raise DataUnavailable(f"There is no interrupted training in {WORK}. Leave --resume away to begin one.")
    people, folder = nlvr.read(data), out or BUNDLES / "scenes"
    rows = [(row.text, row.label or 0, row.picture.pixels()) for row in people.train if row.picture]
    bank = nlvr.bank(people.train, people.intended)
    WORK.mkdir(parents=True, exist_ok=True)
    if resume:
        training = resumed(recipe)
    else:
        words = learned([*sentences(20_000, OF_SENTENCES), *(row[0] for row in rows)])
        words.save(str(WORK / WORDS))
        (WORK / LOG).unlink(missing_ok=True)
        training = Training(words, len(LABELS), recipe, WORK)
    with (WORK / LOG).open("a", encoding="utf-8") as log:
        for line in train(training, Sources(rows, bank), watched(people)):
            print(json.dumps(line), file=log, flush=True)
    return written(people, recipe, folder, {"rows": len(rows), "understood": len(bank)})


def resumed(recipe: Recipe) -> Training:
    """The training that was interrupted, with the words that it had."""
    training = Training(ready(Tokenizer.from_file(str(WORK / WORDS))), len(LABELS), recipe, WORK)
    training.resume()
    return training


def watched(people: nlvr.Nlvr) -> dict[str, Sequence[Sample]]:
    unseen = [of_item(item) for item in islice(items(WATCHED, held_out=True), 600)]
    dev = [of_row(row.text, row.label or 0, row.picture.pixels()) for row in people.dev if row.picture]
    return {"unseen_wording": unseen, "nlvr_dev": dev}


def written(people: nlvr.Nlvr, recipe: Recipe, folder: Path, about: dict[str, int]) -> dict[str, Any]:
    """Copies what was trained and measures it as it lies there, through the door."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (WEIGHTS, WORDS):
        shutil.copy(WORK / name, folder / name)
    found: dict[str, Any] = {
        "name": "scenes",
        "architecture": "scenes",
        "labels": list(LABELS),
        "texts": ["text"],
        "pictures": True,
        "data": {
            "name": "scenes drawn by a seeded generator; NLVR's statements and pictures (Suhr et al., 2017)",
            "licence": "generated scenes: as this project; NLVR: CC BY 4.0",
        },
        "splits": {
            **{name: SIZES[name] for name in ("explainer", "validation", "test")},
            "train": recipe.steps * recipe.batch,
            "nlvr": about,
            "rule": "every part is drawn with a seed of its own; the sentences of test have forms that no sentence of "
            "the other parts has; of NLVR only its train part is learned from",
        },
        "recipe": asdict(recipe),
        "command": f"python -m explainers train-model scenes --data DIR --steps {recipe.steps} "
        f"--learning-rate {recipe.learning_rate} --seed {recipe.seed}",
        "sha256": sha256(folder / WEIGHTS),
        "accuracy": {},
        "log": [json.loads(line) for line in (WORK / LOG).read_text().splitlines() if "nlvr_dev" in line],
    }
    (folder / CARD).write_text(json.dumps(found, indent=2) + "\n")
    model = load_scenes(folder, torch.device("cpu"))
    found["accuracy"] = {name: right(model, [each.example() for each in part(name)]) for name in ("validation", "test")}
    found["per_kind"] = measured(model, people)
    (folder / CARD).write_text(json.dumps(found, indent=2) + "\n")
    return found


def measured(model: SceneModel, people: nlvr.Nlvr) -> dict[str, dict[str, Any]]:
    """Accuracy per kind of statement, on generated scenes with unseen wording and on what people wrote, with the number
    of statements; "text only": with every patch erased by the mean colour."""
    test = part("test")
    drawn = defaultdict(list)
    for item in test:
        drawn[type(item.statement).__name__.lower()].append(item.example())
    parts = {"generated, unseen wording": dict(drawn)}
    for name, rows in (("NLVR dev", people.dev), ("NLVR test", people.test)):
        by_kind = defaultdict(list)
        for row in rows:
            by_kind[kind_of(row.text)].append(row)
        parts[name] = dict(by_kind)
    return {name: _table(model, kinds) for name, kinds in parts.items()}


def _table(model: SceneModel, kinds: dict[str, list[Example]]) -> dict[str, Any]:
    every = [row for rows in kinds.values() for row in rows]
    return {
        "all": {"accuracy": right(model, every), "n": len(every), "text only": right(model, every, blind=True)},
        **{kind: {"accuracy": right(model, rows), "n": len(rows)} for kind, rows in sorted(kinds.items())},
    }


def right(model: SceneModel, rows: Sequence[Example], *, blind: bool = False) -> float:
    """Accuracy; where no row is neutral, the likelier of the other two classes counts as the answer."""
    answers = np.stack([asked(model, row, blind=blind) for row in rows])
    labels = [row.label for row in rows]
    if LABELS.index("neutral") not in labels:
        answers[:, LABELS.index("neutral")] = 0
    return round(float((answers.argmax(1) == labels).mean()), 4)


def asked(model: SceneModel, row: Example, *, blind: bool) -> Floats:
    encoding = model.encode(row)
    keeps = [[unit.kind == "word" or not blind for unit in encoding.units]]
    (found,) = model.probabilities(encoding, keeps)
    return np.asarray(found)
