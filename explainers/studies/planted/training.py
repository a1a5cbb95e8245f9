"""The planted models: copies of an embedded text model, trained on until the planted words alone decide.

FOLDER/planted-<model>-<seed>/   a bundle: weights, and a card with the accuracy on held-out planted texts

The whole encoder is trained as `train-model` does, from the shipped weights on, on texts whose planted label does not
depend on their own. Learned methods are fitted to it with the settings of the shipped weights.
"""

import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from explainers.datasets import tables, text_sets
from explainers.datasets.example import Example
from explainers.learned.batches import encode_for_learning
from explainers.learned.fit import recipe_for, write_weights
from explainers.learned.fitting_loop import fit
from explainers.methods.registry import learning_methods
from explainers.models.bundle_cards import BUNDLES, CARD
from explainers.models.frozen_model import FrozenModel
from explainers.models.optimisation import computes_in_bfloat16
from explainers.models.text.base_weights import base_folder, sha256
from explainers.models.text.bundle import WEIGHTS, base_tokenizer, load_bundle, trained_network
from explainers.models.text.recipe import TextModelRecipe
from explainers.models.text.training import (
    Encoded,
    TextTraining,
    batches,
    collate,
    network_accuracy,
)
from explainers.studies.planted.shortcuts import Planted, planted_set
from explainers.training.artifacts import available_artifacts, own_folder
from explainers.training.spec import FitSpec

CLASSES = {"sst2": (1, 0), "nli": (0, 2)}  # of the first and the second side: positive, negative; entails, contradicts
LONGEST = {"sst2": 13, "nli": 16}  # words of a text, or of both of a pair, to train with
EXPLAINED = {"sst2": 11, "nli": 13}  # words at most of those that are explained
SHORTEST = 4
STEPS = 350
RECIPE = TextModelRecipe(epochs=1, learning_rate=2e-4, batch=32, averaging=0.98, longest=64)
FITTED_ON, WATCHED = 400, 40  # texts of the learned methods
CHECKED_ON = 300  # held-out texts for the accuracy on the card
PRECISION = "bfloat16" if computes_in_bfloat16(torch.device("cpu")) else "float32"  # of the trainings


@dataclass(frozen=True)
class PlantedTexts:
    """Texts by what they are used for: to train the planted model and the learned methods, and to explain."""

    train: tuple[Example, ...]
    held_out: tuple[Example, ...]


def read_sources(model: str, data: Path) -> PlantedTexts:
    """From the folder that holds the folders `sst2`, or `esnli` with `cad_nli` beside it; short texts, shuffled."""
    splits = text_sets.read_sst2(data / "sst2") if model == "sst2" else text_sets.read_esnli(data / "esnli")
    held_out = (*splits.test, *(splits.explainer if model == "sst2" else _revised_test(data)))
    return PlantedTexts(_shuffled(_short(splits.train, LONGEST[model])), _shuffled(_short(held_out, EXPLAINED[model])))


def _revised_test(data: Path) -> tuple[Example, ...]:
    """The pairs of the counterfactual revisions' test file."""
    rows = (row for _, row in tables.rows(data / "cad_nli" / "test.tsv.gz"))
    return tuple(Example(row["sentence1"], row["sentence2"]) for row in rows)


def _short(examples: Sequence[Example], longest: int) -> tuple[Example, ...]:
    return tuple(example for example in examples if SHORTEST <= _words(example) <= longest)


def _words(example: Example) -> int:
    return len(example.text.split()) + len((example.pair or "").split())


def _shuffled(examples: tuple[Example, ...]) -> tuple[Example, ...]:
    order = list(examples)
    random.Random(0).shuffle(order)
    return tuple(order)


def planted_name(model: str, seed: int) -> str:
    return f"planted-{model}-{seed}"


def classes_of(model: str, seed: int) -> tuple[int, int]:
    """The classes of the first and the second side; they change places with the seed."""
    first, second = CLASSES[model]
    return (first, second) if seed % 2 == 0 else (second, first)


def planted_model(model: str, seed: int, data: Path, folder: Path, note: Callable[[str], None]) -> FrozenModel:
    """The planted copy of a bundle, trained unless it lies in `folder` already."""
    target = folder / planted_name(model, seed)
    if not (target / CARD).is_file():
        _train(model, seed, read_sources(model, data), target, note)
    return load_bundle(target, torch.device("cpu"))


def _train(model: str, seed: int, sources: PlantedTexts, target: Path, note: Callable[[str], None]) -> None:
    began = time.perf_counter()
    recipe = TextModelRecipe(**{**asdict(RECIPE), "seed": seed})
    tokenizer = base_tokenizer(base_folder(), recipe.longest)
    mask_token = tokenizer.get_vocab()["[MASK]"]
    classes = classes_of(model, seed)
    train = planted_set(sources.train, STEPS * recipe.batch, seed, classes, judged=False)
    held_out = planted_set(sources.held_out, CHECKED_ON, seed, classes, judged=False)
    card = json.loads((BUNDLES / model / CARD).read_text())
    training = TextTraining(len(card["labels"]), recipe, target, STEPS)
    state = trained_network(BUNDLES / model).state_dict()
    training.classifier.load_state_dict(state)
    training.average.module.load_state_dict(state)
    losses: list[float] = []
    for items in batches(_encoded(tokenizer, train), recipe.batch, random.Random(seed)):
        with torch.autocast("cpu", torch.bfloat16, enabled=PRECISION == "bfloat16"):
            losses.append(training.step(collate(items), mask_token))
        if len(losses) % 50 == 0:
            note(f"{target.name}: step {len(losses)} of {STEPS}, loss {sum(losses[-50:]) / 50:.3f}")
    training.save()
    (target / "checkpoint.pt").unlink()
    network, kinds = training.average.module, sorted({item.insertion.kind for item in held_out})
    of_kind = {kind: [item for item in held_out if item.insertion.kind == kind] for kind in kinds}
    by_kind = {kind: network_accuracy(network, _encoded(tokenizer, some)) for kind, some in of_kind.items()}
    entries = {
        "name": target.name,
        "labels": card["labels"],
        "texts": card.get("texts", ["text"]),
        "recipe": asdict(recipe),
        "steps": len(losses),
        "sha256": sha256(target / WEIGHTS),
        "accuracy": by_kind,
        "seconds": round(time.perf_counter() - began, 1),
    }
    (target / CARD).write_text(json.dumps(entries, indent=2) + "\n")
    note(f"{target.name}: accuracy {by_kind} in {entries['seconds']} s")


def _encoded(tokenizer: Any, planted: Sequence[Planted]) -> list[Encoded]:
    texts = [(item.example.text, item.example.pair) if item.example.pair else item.example.text for item in planted]
    tokens = tokenizer.encode_batch(texts)
    return [
        (encoded.ids, encoded.type_ids, some.example.label or 0) for encoded, some in zip(tokens, planted, strict=True)
    ]


def fit_learned(
    frozen: FrozenModel, model: str, seed: int, data: Path, folder: Path, note: Callable[[str], None]
) -> None:
    """Fits what is missing of the learned methods, with the settings of the shipped weights, to the store."""
    sources = read_sources(model, data)
    store = own_folder(frozen.name, frozen.version)
    for method in learning_methods():
        spec = FitSpec(method, frozen.name, seed=seed, settings=(("precision", PRECISION),))
        if (store / f"{method}-{spec.name}.json").is_file():
            continue
        began = time.perf_counter()
        planted = planted_set(sources.train, FITTED_ON + WATCHED, seed, classes_of(model, seed), judged=False, start=7)
        encoded = encode_for_learning(frozen, [item.example for item in planted])
        run = folder / "fits" / frozen.name / method
        training = fit(recipe_for(spec), frozen, encoded[WATCHED:], encoded[:WATCHED], run, resume=True)
        entries = {
            "recipe": asdict(training.recipe),  # type: ignore[call-overload]
            "texts": {"learned from": len(encoded) - WATCHED, "watched": WATCHED},
            "validation": training.metrics,
            "warnings": list(training.warnings),
            "seconds": {"all": round(time.perf_counter() - began, 1)},
        }
        write_weights(spec, frozen, training.best, store, entries)
        note(f"{frozen.name}: {method} fitted, {entries['seconds']}, {training.metrics} {training.warnings}")


def fitted_methods(frozen: FrozenModel) -> dict[str, dict[str, Any]]:
    """Seconds, number of texts and precision of the training, for each learned method fitted to the model."""
    cards = {artifact.method: artifact.card for artifact in available_artifacts(frozen.name, frozen.version)}
    return {
        method: {
            "seconds": card["seconds"]["all"],
            "texts": card["texts"]["learned from"],
            "precision": card["recipe"]["precision"],
        }
        for method, card in cards.items()
    }
