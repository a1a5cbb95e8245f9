"""Training the bundle `scenes`, and measuring it on generated scenes and on people's statements."""

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

from explainers.datasets.entailment import LABELS
from explainers.datasets.example import Example, Splits
from explainers.datasets.scenes import generator, nlvr
from explainers.datasets.scenes.statements import Boxes, Count, Every, Unanswerable, kind_of
from explainers.errors import DataUnavailable, ExplanationError
from explainers.models.bundle_cards import BUNDLES, CARD
from explainers.models.foreign.process_limits import can_fork
from explainers.models.frozen_model import Floats
from explainers.models.scenes import samples
from explainers.models.scenes.bundle import WORDS, load_bundle
from explainers.models.scenes.model import SceneModel
from explainers.models.scenes.network import configured, train_tokenizer
from explainers.models.scenes.recipe import SceneModelRecipe
from explainers.models.scenes.training import (
    CHECKPOINT,
    WEIGHTS,
    SceneTraining,
    train,
)
from explainers.models.text.base_weights import sha256

WORK, LOG = Path("runs/scenes"), "log.jsonl"
SEEDS = {"train": 11, "explainer": 12, "validation": 13, "test": 14}  # of generated parts; no two share a seed
SIZES = {"train": 8000, "explainer": 2000, "validation": 500, "test": 2000}
VOCABULARY_SEED, MONITOR_SEED = 99, 777  # of the tokenizer's sentences, and of the samples to monitor
STATEMENT_NAMES = {Count: "count", Boxes: "boxes", Every: "every", Unanswerable: "unsaid"}  # on the card


def generated_part(name: str) -> tuple[generator.SceneItem, ...]:
    """A part of the generated scenes, by its seed; the test's sentences have forms that are kept from training."""
    return tuple(islice(generator.generate_items(SEEDS[name], held_out=name == "test"), SIZES[name]))


def more_training(number: int) -> tuple[Example, ...]:
    """The `number` examples with which the training part would go on."""
    items = generator.generate_items(SEEDS["train"], held_out=False)
    return tuple(item.example() for item in islice(items, SIZES["train"], SIZES["train"] + number))


def splits(_folder: Path | None) -> Splits:
    """Generated scenes with their reasons and their evidence; no files are needed."""
    parts = {name: tuple(item.example() for item in generated_part(name)) for name in SEEDS}
    return Splits(parts["train"], parts["validation"], parts["test"], explainer=parts["explainer"])


def make_scenes(data: Path | None, recipe: SceneModelRecipe, out: Path | None, *, resume: bool) -> dict[str, Any]:
    """Trains `scenes` and writes weights, words and card to `out`. Returns the card. `data` holds NLVR."""
    if data is None:
        raise DataUnavailable("Give --data, the folder of NLVR: train.tar.gz, dev.tar.gz and test.tar.gz.")
    if recipe.steps < 1:
        raise ExplanationError(f"A training needs at least 1 step, not {recipe.steps}.")
    if not can_fork():
        raise ExplanationError("scenes is trained by two processes, which needs Linux: this system cannot fork.")
    started = all((WORK / name).is_file() for name in (WORDS, CHECKPOINT))
    if resume and not started:
        raise DataUnavailable(f"{WORK} holds no interrupted training. Omit --resume to start one.")
    human, folder = nlvr.read_nlvr(data), out or BUNDLES / "scenes"
    rows = [(row.text, row.label or 0, row.image.pixels()) for row in human.train if row.image]
    bank = nlvr.bank(human.train, human.intended)
    WORK.mkdir(parents=True, exist_ok=True)
    if resume:
        training = resume_training(recipe)
    else:
        tokenizer = train_tokenizer([*samples.generate_sentences(20_000, VOCABULARY_SEED), *(row[0] for row in rows)])
        tokenizer.save(str(WORK / WORDS))
        (WORK / LOG).unlink(missing_ok=True)
        training = SceneTraining(tokenizer, len(LABELS), recipe, WORK)
    with (WORK / LOG).open("a", encoding="utf-8") as log:
        for line in train(training, samples.Sources(rows, bank), monitored_samples(human)):
            print(json.dumps(line), file=log, flush=True)
    return write_bundle(human, recipe, folder, {"rows": len(rows), "understood": len(bank)})


def resume_training(recipe: SceneModelRecipe) -> SceneTraining:
    """The interrupted training, with its tokenizer."""
    training = SceneTraining(configured(Tokenizer.from_file(str(WORK / WORDS))), len(LABELS), recipe, WORK)
    training.resume()
    return training


def monitored_samples(human: nlvr.Nlvr) -> dict[str, Sequence[samples.SceneSample]]:
    held_out = [
        samples.item_sample(item) for item in islice(generator.generate_items(MONITOR_SEED, held_out=True), 600)
    ]
    dev = [samples.row_sample(row.text, row.label or 0, row.image.pixels()) for row in human.dev if row.image]
    return {"unseen_wording": held_out, "nlvr_dev": dev}


def write_bundle(human: nlvr.Nlvr, recipe: SceneModelRecipe, folder: Path, about: dict[str, int]) -> dict[str, Any]:
    """Copies the trained files to `folder`, measures the model that is loaded from there, and writes its card."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (WEIGHTS, WORDS):
        shutil.copy(WORK / name, folder / name)
    card: dict[str, Any] = {
        "name": "scenes",
        "position": 3,
        "architecture": "scenes",
        "labels": list(LABELS),
        "texts": ["text"],
        "pictures": True,
        "generated": True,
        "generator": "scene",
        "data": {
            "name": "scenes drawn by a seeded generator; NLVR's statements and images (Suhr et al., 2017)",
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
    (folder / CARD).write_text(json.dumps(card, indent=2) + "\n")
    model = load_bundle(folder, torch.device("cpu"))
    card["accuracy"] = {
        name: scene_accuracy(model, [scene.example() for scene in generated_part(name)])
        for name in ("validation", "test")
    }
    card["per_kind"] = accuracies(model, human)
    (folder / CARD).write_text(json.dumps(card, indent=2) + "\n")
    return card


def accuracies(model: SceneModel, human: nlvr.Nlvr) -> dict[str, dict[str, Any]]:
    """Accuracy per kind of statement, on generated scenes with held-out wording and on people's statements, with
    their number; "text only": with every patch erased by the mean colour."""
    test = generated_part("test")
    generated = defaultdict(list)
    for item in test:
        generated[STATEMENT_NAMES[type(item.statement)]].append(item.example())
    parts = {"generated, unseen wording": dict(generated)}
    for name, rows in (("NLVR dev", human.dev), ("NLVR test", human.test)):
        by_kind = defaultdict(list)
        for row in rows:
            by_kind[kind_of(row.text)].append(row)
        parts[name] = dict(by_kind)
    return {name: _table(model, kinds) for name, kinds in parts.items()}


def _table(model: SceneModel, kinds: dict[str, list[Example]]) -> dict[str, Any]:
    every = [row for rows in kinds.values() for row in rows]
    return {
        "all": {
            "accuracy": scene_accuracy(model, every),
            "n": len(every),
            "text only": scene_accuracy(model, every, blind=True),
        },
        **{kind: {"accuracy": scene_accuracy(model, rows), "n": len(rows)} for kind, rows in sorted(kinds.items())},
    }


def scene_accuracy(model: SceneModel, rows: Sequence[Example], *, blind: bool = False) -> float:
    """The accuracy; if no row is neutral, neutral is never predicted."""
    predictions = np.stack([predict(model, row, blind=blind) for row in rows])
    labels = [row.label for row in rows]
    if LABELS.index("neutral") not in labels:
        predictions[:, LABELS.index("neutral")] = 0
    return round(float((predictions.argmax(1) == labels).mean()), 4)


def predict(model: SceneModel, row: Example, *, blind: bool) -> Floats:
    encoding = model.encode(row)
    keeps = [[unit.kind == "word" or not blind for unit in encoding.units]]
    return np.asarray(model.probabilities(encoding, keeps)[0])
