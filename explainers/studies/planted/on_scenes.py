"""The same on scenes: what should decide is known there, words and patches together.

It is what should decide, not proof of what does: the truth of these rows is the evidence of the statement. Only scenes
of which the model predicts the true class count.
"""

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from explainers.attribution.controls import control_orders
from explainers.comparison.decision import decide
from explainers.comparison.runner import estimates
from explainers.datasets.example import Evidence, Example
from explainers.datasets.scenes.generator import generate_items
from explainers.evaluation.record_file import appending, resume_records
from explainers.metrics.erasure import MaskedPredictor
from explainers.metrics.evidence import is_evidence
from explainers.models.frozen_model import FrozenModel
from explainers.models.meter import Meter
from explainers.models.prediction_cache import PredictionCache
from explainers.results.settings import Settings
from explainers.studies.planted.measure import (
    Row,
    compared_methods,
    curve_lines,
    rounded,
    whole,
)

SEED = 4711  # of scenes that no model was trained or tested on
ORDERS = 19


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
