"""The study from end to end: models, rows, and the results that are made of the stored rows.

assets/studies/planted/rows.jsonl.gz    a row per verified input of the planted models
assets/studies/planted/scenes.jsonl.gz  the same for scenes
assets/studies/planted/models.json      the cards of the planted models, with what was fitted to them

On scenes it is known what should decide, words and patches together, which is no proof of what does: the truth of
those rows is the evidence of the statement. Only scenes of which the model predicts the true class count.
"""

import gzip
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from explainers.attribution.controls import control_orders
from explainers.comparison.decision import decide
from explainers.comparison.runner import estimates
from explainers.datasets.example import Evidence, Example
from explainers.datasets.scenes.generator import generate_items
from explainers.errors import DataUnavailable
from explainers.evaluation.record_file import appending, read_records, resume_records
from explainers.installation import ASSETS, STORE_VARIABLE
from explainers.metrics.erasure import MaskedPredictor
from explainers.metrics.plausibility import is_evidence
from explainers.models.bundle_cards import CARD
from explainers.models.calls import Meter, PredictionCache
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.results.settings import Settings
from explainers.studies.planted import confidence_fit, truth
from explainers.studies.planted.measure import (
    FILE,
    Row,
    compared_methods,
    curve_lines,
    measure_all,
    rounded,
    whole,
    with_learned,
)
from explainers.studies.planted.noise import passed
from explainers.studies.planted.shortcuts import planted_set
from explainers.studies.planted.table import COMMAND, Results, planted_document
from explainers.studies.planted.training import (
    PlantedTexts,
    classes_of,
    fit_learned,
    fitted_methods,
    planted_model,
    planted_name,
    read_sources,
)

Note = Callable[[str], None]
FOLDER = ASSETS / "studies" / "planted"
ROWS, SCENES, MODELS = "rows.jsonl.gz", "scenes.jsonl.gz", "models.json"
BLOCK = 10  # inputs of one model before the next one's turn
SEED = 4711  # of scenes that no model was trained or tested on
ORDERS = 19


def measure_planted(
    models: Sequence[str], seeds: Sequence[int], inputs: int, data: Path, folder: Path, note: Note, *, fitted: int
) -> None:
    """Writes rows and cards to the stored files, in which those of other models and seeds stay; what lies in `folder`
    already is not computed again.

    The learned methods are fitted to the models of the first `fitted` seeds.
    """
    os.environ[STORE_VARIABLE] = str(folder / "store")
    sources = {model: read_sources(model, data) for model in models}
    pairs = [(model, seed) for seed in seeds for model in models]
    frozen = {(model, seed): planted_model(model, seed, data, folder, note) for model, seed in pairs}
    planted = {
        (model, seed): planted_set(sources[model].held_out, inputs, seed, classes_of(model, seed), judged=True)
        for model, seed in pairs
    }
    for upto in range(BLOCK, inputs + BLOCK, BLOCK):
        for key in pairs:
            some, words = planted[key][:upto], plain_words(sources[key[0]])
            new = sum(1 for _ in measure_all(frozen[key], *key, some, words, folder / FILE))
            note(f"{planted_name(*key)}: {new} new rows")
    found = read_records(folder / FILE, signed=False)
    rows = [row for row in found if row["text"] < inputs and (row["model"], row["seed"]) in pairs]
    for key in (pair for pair in pairs if pair[1] in seeds[:fitted]):
        fit_learned(frozen[key], *key, data, folder, note)
        rows = [
            with_learned(row, frozen[key], planted[key][row["text"]]) if (row["model"], row["seed"]) == key else row
            for row in rows
        ]
    kept = [row for row in _all_rows(FOLDER / ROWS) if (row["model"], row["seed"]) not in pairs]
    write_rows([*kept, *rows], FOLDER / ROWS)
    names = {planted_name(*key) for key in pairs}
    cards = [card for card in read_models() if card["name"] not in names] + [
        {**json.loads((folder / planted_name(*key) / CARD).read_text()), "fitted": fitted_methods(frozen[key])}
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
    for row in scene_rows(load("scenes", device="cpu"), number, path):
        note(f"scene {row['text']}: {row.get('seconds', 0)} s")
    if path.is_file():
        write_rows(read_records(path, signed=False), FOLDER / SCENES)


def planted_results(games: int) -> tuple[str, dict[str, Any], confidence_fit.Checked]:
    """The document, the content of assets/confidence.json, and the check of the confidence."""
    rows = read_rows(FOLDER / ROWS)
    scenes = read_rows(FOLDER / SCENES) if (FOLDER / SCENES).is_file() else []
    content, checked = confidence_fit.fitted(rows, COMMAND)
    results = Results(
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
        list(passed(games)),
        games,
    )
    return planted_document(results), content, checked


def read_rows(path: Path) -> list[Row]:
    """Those whose use is verified. Raises `DataUnavailable` where there is no such file."""
    if not path.is_file():
        raise DataUnavailable(f"{path} is missing. Run `python -m explainers study planted-measure` first.")
    return [row for row in _all_rows(path) if row["verified"]]


def _all_rows(path: Path) -> list[Row]:
    if not path.is_file():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """The same rows give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    path.write_bytes(gzip.compress(lines.encode(), mtime=0))


def read_models(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The cards of the planted models; none where nothing was measured."""
    path = folder / MODELS
    cards: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return cards


def scene_rows(model: FrozenModel, number: int, path: Path) -> Iterator[Row]:
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


def _row(model: FrozenModel, example: Example, place: int) -> Row:
    began = time.perf_counter()
    model = model.pooled(PredictionCache())
    decision, probabilities = decide(model, example, settings=Settings())
    units = decision.encoding.units
    truth = example.evidence or Evidence()
    evidence = [n for n, unit in enumerate(units) if is_evidence(unit, truth)]
    row: Row = {"model": "scenes", "seed": 0, "kind": "scene", "text": place, "units": len(units), "planted": evidence}
    row |= {"label": decision.label, "p": whole(probabilities[decision.label])}
    row["verified"] = decision.label == example.label and 0 < len(evidence) < len(units)
    if not row["verified"]:
        return row
    specs = (*compared_methods(learned=False), *compared_methods(learned=True))
    scores = {spec.id: list(estimates(spec, model, decision, Meter()))[-1].scores for spec in specs}
    answers = MaskedPredictor(model, decision.encoding, "mask")
    orders = control_orders(len(units), 0, ORDERS)
    lines = iter(curve_lines(answers, [*scores.values(), *orders], decision.label))
    row["scores"] = rounded(scores)
    row["curves"] = {"mask": {method: next(lines) for method in scores}}
    row["random"] = {"mask": list(lines)}
    row["seconds"] = round(time.perf_counter() - began, 2)
    return row
