"""The study from end to end: planted models, rows, and the results that are made of the stored rows.

FOLDER/planted-<model>-<seed>/   a bundle: weights, and a card with the accuracy on held-out planted texts

The whole encoder is trained as `train-model` does, from the shipped weights on, on texts whose planted label does not
depend on their own. Learned methods are fitted to it with the settings of the shipped weights.

assets/studies/planted/rows.jsonl.gz    a row per verified input of the planted models
assets/studies/planted/scenes.jsonl.gz  the same for scenes
assets/studies/planted/models.json      the cards of the planted models, with what was fitted to them

On scenes it is known what should decide, words and patches together, which is no proof of what does: the truth of
those rows is the evidence of the statement. Only scenes of which the model predicts the true class count.
"""

import gzip
import json
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

import torch

from explainers.attribution.controls import control_orders
from explainers.comparison.decision import decide
from explainers.comparison.runner import estimates
from explainers.datasets import tables, text_sets
from explainers.datasets.example import Evidence, Example
from explainers.datasets.scenes.generator import generate_items
from explainers.errors import DataUnavailable
from explainers.evaluation.record_file import appending, read_records, resume_records
from explainers.installation import ASSETS, STORE_VARIABLE
from explainers.learned.batches import encode_for_learning
from explainers.learned.fit import recipe_for, write_weights
from explainers.learned.fitting_loop import fit
from explainers.methods.registry import learning_methods
from explainers.metrics import erasure, plausibility
from explainers.models import bundle_cards, calls, catalog, optimisation
from explainers.models.frozen_model import FrozenModel
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
from explainers.results.decision import Settings
from explainers.studies.planted import confidence_fit, measure, noise, shortcuts, table, truth
from explainers.training.artifacts import available_artifacts, own_folder
from explainers.training.spec import FitSpec

CLASSES = {"sst2": (1, 0), "nli": (0, 2)}  # of the first and the second side: positive, negative; entails, contradicts
STEPS = 350
RECIPE = TextModelRecipe(epochs=1, learning_rate=2e-4, batch=32, averaging=0.98, longest=64)
FITTED_ON, WATCHED = 400, 40  # texts of the learned methods
CHECKED_ON = 300  # held-out texts for the accuracy on the card
PRECISION = "bfloat16" if optimisation.computes_in_bfloat16(torch.device("cpu")) else "float32"  # of the trainings
Note = Callable[[str], None]
FOLDER = ASSETS / "studies" / "planted"
ROWS, SCENES, MODELS = "rows.jsonl.gz", "scenes.jsonl.gz", "models.json"
BLOCK = 10  # inputs of one model before the next one's turn
SEED = 4711  # of scenes that no model was trained or tested on
ORDERS = 19


@dataclass(frozen=True)
class Lengths:
    """Words of a text, or of both of a pair, at least and at most: to train with, and of those that are explained."""

    fewest: int
    trained: int
    explained: int


SHORT = {"sst2": Lengths(4, 13, 11), "nli": Lengths(4, 16, 13)}
LONG = {"sst2": Lengths(12, 38, 38), "nli": Lengths(14, 42, 42)}
BOTH = {"sst2": Lengths(6, 38, 38), "nli": Lengths(10, 42, 42)}
LENGTHS = (SHORT, SHORT, SHORT, LONG, BOTH)  # of the texts into which a seed plants
LONG_TOKENS = 96  # that a model of longer texts reads


@dataclass(frozen=True)
class PlantedTexts:
    """Texts by what they are used for: to train the planted model and the learned methods, and to explain."""

    train: tuple[Example, ...]
    held_out: tuple[Example, ...]


def lengths_of(model: str, seed: int) -> Lengths:
    """Return the lengths of the texts into which this seed plants."""
    return LENGTHS[seed][model]


def read_sources(model: str, seed: int, data: Path) -> PlantedTexts:
    """From the folder that holds the folders `sst2`, or `esnli` with `cad_nli` beside it; shuffled."""
    lengths = lengths_of(model, seed)
    splits = text_sets.read_sst2(data / "sst2") if model == "sst2" else text_sets.read_esnli(data / "esnli")
    held_out = (*splits.test, *(splits.explainer if model == "sst2" else _revised_test(data)))
    return PlantedTexts(
        _shuffled(_between(splits.train, lengths.fewest, lengths.trained)),
        _shuffled(_between(held_out, lengths.fewest, lengths.explained)),
    )


def _revised_test(data: Path) -> tuple[Example, ...]:
    """The pairs of the counterfactual revisions' test file."""
    rows = (row for _, row in tables.rows(data / "cad_nli" / "test.tsv.gz"))
    return tuple(Example(row["sentence1"], row["sentence2"]) for row in rows)


def _between(examples: Sequence[Example], fewest: int, most: int) -> tuple[Example, ...]:
    return tuple(example for example in examples if fewest <= _words(example) <= most)


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
    if not (target / bundle_cards.CARD).is_file():
        _train(model, seed, read_sources(model, seed, data), target, note)
    return load_bundle(target, torch.device("cpu"))


def _train(model: str, seed: int, sources: PlantedTexts, target: Path, note: Callable[[str], None]) -> None:
    began = time.perf_counter()
    longest = RECIPE.longest if lengths_of(model, seed) == SHORT[model] else LONG_TOKENS
    recipe = TextModelRecipe(**{**asdict(RECIPE), "seed": seed, "longest": longest})
    tokenizer = base_tokenizer(base_folder(), recipe.longest)
    mask_token = tokenizer.get_vocab()["[MASK]"]
    classes = classes_of(model, seed)
    train = shortcuts.planted_set(sources.train, STEPS * recipe.batch, seed, classes, judged=False)
    held_out = shortcuts.planted_set(sources.held_out, CHECKED_ON, seed, classes, judged=False)
    card = json.loads((bundle_cards.BUNDLES / model / bundle_cards.CARD).read_text())
    training = TextTraining(len(card["labels"]), recipe, target, STEPS)
    state = trained_network(bundle_cards.BUNDLES / model).state_dict()
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
    (target / bundle_cards.CARD).write_text(json.dumps(entries, indent=2) + "\n")
    note(f"{target.name}: accuracy {by_kind} in {entries['seconds']} s")


def _encoded(tokenizer: Any, planted: Sequence[shortcuts.Planted]) -> list[Encoded]:
    texts = [(item.example.text, item.example.pair) if item.example.pair else item.example.text for item in planted]
    tokens = tokenizer.encode_batch(texts)
    return [
        (encoded.ids, encoded.type_ids, some.example.label or 0) for encoded, some in zip(tokens, planted, strict=True)
    ]


def fit_learned(
    frozen: FrozenModel, model: str, seed: int, data: Path, folder: Path, note: Callable[[str], None]
) -> None:
    """Fits what is missing of the learned methods, with the settings of the shipped weights, to the store."""
    sources = read_sources(model, seed, data)
    store = own_folder(frozen.name, frozen.version)
    for method in learning_methods():
        spec = FitSpec(method, frozen.name, seed=seed, settings=(("precision", PRECISION),))
        if (store / f"{method}-{spec.name}.json").is_file():
            continue
        began = time.perf_counter()
        planted = shortcuts.planted_set(
            sources.train, FITTED_ON + WATCHED, seed, classes_of(model, seed), judged=False, start=7
        )
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


def measure_planted(
    models: Sequence[str], seeds: Sequence[int], inputs: int, data: Path, folder: Path, note: Note, *, fitted: int
) -> None:
    """Writes rows and cards to the stored files, in which those of other models and seeds stay; what lies in `folder`
    already is not computed again.

    The learned methods are fitted to the models of the first `fitted` seeds.
    """
    os.environ[STORE_VARIABLE] = str(folder / "store")
    pairs = [(model, seed) for seed in seeds for model in models]
    sources = {(model, seed): read_sources(model, seed, data) for model, seed in pairs}
    frozen = {(model, seed): planted_model(model, seed, data, folder, note) for model, seed in pairs}
    planted = {
        (model, seed): shortcuts.planted_set(
            sources[model, seed].held_out, inputs, seed, classes_of(model, seed), judged=True
        )
        for model, seed in pairs
    }
    for upto in range(BLOCK, inputs + BLOCK, BLOCK):
        for key in pairs:
            some, words = planted[key][:upto], plain_words(sources[key])
            new = sum(1 for _ in measure.measure_all(frozen[key], *key, some, words, folder / measure.FILE))
            note(f"{planted_name(*key)}: {new} new rows")
    found = read_records(folder / measure.FILE, signed=False)
    rows = [row for row in found if row["text"] < inputs and (row["model"], row["seed"]) in pairs]
    for key in (pair for pair in pairs if pair[1] in seeds[:fitted]):
        fit_learned(frozen[key], *key, data, folder, note)
        rows = [
            measure.with_learned(row, frozen[key], planted[key][row["text"]])
            if (row["model"], row["seed"]) == key
            else row
            for row in rows
        ]
    kept = [row for row in _all_rows(FOLDER / ROWS) if (row["model"], row["seed"]) not in pairs]
    write_rows([*kept, *rows], FOLDER / ROWS)
    names = {planted_name(*key) for key in pairs}
    cards = [card for card in read_models() if card["name"] not in names] + [
        {
            **json.loads((folder / planted_name(*key) / bundle_cards.CARD).read_text()),
            "fitted": fitted_methods(frozen[key]),
        }
        for key in pairs
    ]
    (FOLDER / MODELS).write_text(json.dumps(cards, indent=1) + "\n", encoding="utf-8")


def plain_words(sources: PlantedTexts) -> list[str]:
    """The words of the held-out texts, with which others are replaced."""
    texts = (f"{example.text} {example.pair or ''}" for example in sources.held_out)
    return sorted({word for text in texts for word in text.lower().split() if word.isalpha()})


def measure_scenes(number: int, folder: Path, note: Note) -> None:
    """Writes the rows of the scenes to the stored file, which stays as it is where none are asked for."""
    if not number:
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "scenes.jsonl"
    for row in scene_rows(catalog.load("scenes", device="cpu"), number, path):
        note(f"scene {row['text']}: {row.get('seconds', 0)} s")
    if path.is_file():
        write_rows(read_records(path, signed=False), FOLDER / SCENES)


def planted_results(games: int) -> tuple[str, dict[str, Any], confidence_fit.Checked]:
    """The document, the content of assets/confidence.json, and the check of the confidence."""
    rows = read_rows(FOLDER / ROWS)
    scenes = read_rows(FOLDER / SCENES) if (FOLDER / SCENES).is_file() else []
    content, checked = confidence_fit.fitted(rows, table.COMMAND)
    results = table.Results(
        rows,
        scenes,
        read_models(),
        content,
        checked,
        {
            "truth": truth.intervals(truth.within_input(rows, "AUC")),
            "precision": truth.intervals(truth.within_input(rows, "precision")),
            "diagnosticity": truth.intervals(truth.diagnosticity(rows)),
            "degraded": truth.intervals(truth.degradation(rows)),
        },
        {"truth": truth.intervals(truth.within_input(scenes, "AUC"))} if scenes else {},
        list(noise.passed(games)),
        games,
    )
    return table.planted_document(results), content, checked


def read_rows(path: Path) -> list[measure.Row]:
    """Those whose use is verified. Raises `DataUnavailable` where there is no such file."""
    if not path.is_file():
        raise DataUnavailable(f"{path} is missing. Run `python -m explainers study planted-measure` first.")
    return [row for row in _all_rows(path) if row["verified"]]


def _all_rows(path: Path) -> list[measure.Row]:
    if not path.is_file():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_rows(rows: Sequence[measure.Row], path: Path) -> None:
    """The same rows give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    path.write_bytes(gzip.compress(lines.encode(), mtime=0))


def read_models(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The cards of the planted models; none where nothing was measured."""
    path = folder / MODELS
    cards: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return cards


def scene_rows(model: FrozenModel, number: int, path: Path) -> Iterator[measure.Row]:
    """Appends rows to `path` until there are `number` of them, and yields the new ones."""
    lines = resume_records(path, None)
    done, counted = {row["text"] for row in lines}, sum(row["verified"] for row in lines)
    with appending(path) as append:
        for place, item in zip(count(), generate_items(SEED, held_out=False), strict=False):
            if counted >= number:
                return
            if place not in done:
                row = _row(model, item.example(), place)
                append(row)
                counted += row["verified"]
                yield row


def _row(model: FrozenModel, example: Example, place: int) -> measure.Row:
    began = time.perf_counter()
    model = model.pooled(calls.PredictionCache())
    decision, probabilities = decide(model, example, settings=Settings())
    units = decision.encoding.units
    known = example.evidence or Evidence()
    evidence = [n for n, unit in enumerate(units) if plausibility.is_evidence(unit, known)]
    row: measure.Row = {
        "model": "scenes",
        "seed": 0,
        "kind": "scene",
        "text": place,
        "units": len(units),
        "planted": evidence,
    }
    row |= {"label": decision.label, "p": measure.whole(probabilities[decision.label])}
    row["verified"] = decision.label == example.label and 0 < len(evidence) < len(units)
    if not row["verified"]:
        return row
    specs = (*measure.compared_methods(learned=False), *measure.compared_methods(learned=True))
    scores = {spec.id: list(estimates(spec, model, decision, calls.Meter()))[-1].scores for spec in specs}
    answers = erasure.MaskedPredictor(model, decision.encoding, "mask")
    orders = control_orders(len(units), 0, ORDERS)
    lines = iter(measure.curve_lines(answers, [*scores.values(), *orders], decision.label))
    row["scores"] = measure.rounded(scores)
    row["curves"] = {"mask": {method: next(lines) for method in scores}}
    row["random"] = {"mask": list(lines)}
    row["seconds"] = round(time.perf_counter() - began, 2)
    return row
