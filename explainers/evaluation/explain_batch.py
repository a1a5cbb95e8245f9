"""Rows of a data set, explained: what every way of evaluating a set calls, and what it stores for each row.

`explain_batch` is pure: it reads nothing but model, plan and rows, and writes nothing. The seed of a row follows from
the seed of the plan and the row's id, never from its position, and no answer is shared between rows. So one process,
several, shards on many machines and a second attempt give the same numbers. A record is plain JSON:

{"id", "line", "text", "pair", "label", "device", "precision",
 "predicted", "probability", "seed", "units": [text], "segments": [number],
 "answer": {"status", "refusal", "agreement", "p", "words", "supported", "differs", "random", "robust"},
 "methods": {id: {"scores", "signed", "metrics": {operator: {metric id: value}}, "seconds", "passes", "group",
                  "removed": [p(class)], "kept": [p(class)], "plausibility": {metric id: value}}},
 "failures": {method id: reason}, "seconds", "passes"}

or {"id", "line", "text", "pair", "label", "failed": reason} where a row cannot be explained. `removed` and `kept` are
the erasure curves at the shares `CURVE_SHARES` of the units, of random orders their mean. `plausibility` is there where
people marked some of the units, for the class that the model predicts; that of random orders is what is expected.
"""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from explainers.annotations.judged import marked_truth
from explainers.annotations.records import Marked, Span
from explainers.comparison.answer import answered
from explainers.comparison.decision import card_of, decide
from explainers.comparison.runner import failure, run
from explainers.datasets.example import Example, InputImage
from explainers.datasets.labelled_rows import InputRow
from explainers.evaluation import measurement, names, record_file
from explainers.evaluation.brief_run import brief_run
from explainers.methods.registry import select
from explainers.metrics.erasure import MaskedPredictor
from explainers.metrics.faithfulness import METRICS, measured, metrics_at_percents
from explainers.metrics.plausibility import is_defined, plausibility, plausibility_by_chance
from explainers.models.calls import Meter, PredictionCache
from explainers.models.frozen_model import FrozenModel
from explainers.results.answer import Answer
from explainers.results.attribution import ErasureCurves, Floats
from explainers.results.comparison import Comparison
from explainers.results.decision import Settings
from explainers.results.events import MethodResult

SEEDS = 10_000  # different ones; the Compare page takes as many
Metrics = dict[str, dict[str, float]]  # by operator and metric id


@dataclass(frozen=True)
class SetPlan:
    """Which methods explain the rows, and with which settings; `settings.seed` is that of the plan. `images` is the
    folder of the images that the rows name. A `thorough` one explains a row as the Compare page does, any other in
    `brief_run`."""

    methods: tuple[str, ...]
    settings: Settings = field(default_factory=Settings)
    images: str = ""
    thorough: bool = True

    def example(self, row: InputRow) -> Example:
        """Return the input of a row."""
        return Example(row.text, row.pair, image=InputImage(path=Path(self.images, row.image)) if row.image else None)

    def as_dict(self, model: FrozenModel) -> dict[str, Any]:
        """Return what decides the numbers: records with equal plans can be mixed."""
        card = card_of(model)
        return {
            "model": {"name": card.name, "version": card.version, "sha256": card.sha256},
            **({} if model.precision == "float32" else {"precision": model.precision}),
            "labels": list(card.labels),
            "operators": operators(model, self.settings),
            "metrics": list(METRICS.ids),
            "methods": list(self.methods),
            "weights": {id: checksum for id in self.methods if (checksum := measurement.weights_checksum(model, id))},
            "settings": self.settings.as_dict(),
            "thorough": self.thorough,
            "crosslight": card.crosslight,
            "libraries": dict(card.libraries),
        }


def operators(model: FrozenModel, settings: Settings) -> list[str]:
    """Return the erasure operators under which is measured, first the one with which the explanations are made."""
    return [settings.erasure, *(erasure for erasure in model.erasures if erasure != settings.erasure)]


def row_seed(seed: int, id: str) -> int:
    """Return the seed of a row, 0 … `SEEDS` - 1."""
    return int(hashlib.sha256(f"{seed}:{id}".encode()).hexdigest(), 16) % SEEDS


def explain_batch(model: FrozenModel, plan: SetPlan, rows: Sequence[InputRow]) -> Iterator[record_file.Record]:
    """Yield the record of every row, in their order. A row that fails has a record that says why."""
    for row in rows:
        yield explain_row(model, plan, row)


def explain_row(model: FrozenModel, plan: SetPlan, row: InputRow) -> record_file.Record:
    """Return the record of one row."""
    started, model, meter = time.perf_counter(), model.pooled(PredictionCache()), Meter()
    try:
        comparison = _comparison(model, plan, row, meter)
        methods = {**_measured_methods(comparison), **_controls(model, comparison)}
        for method, values in _plausibility(comparison, row).items():
            methods[method]["plausibility"] = values
        failures = {failure.method: failure.reason for failure in comparison.failures}
    except Exception as error:  # one row must not end hours of the others
        return {**asdict(row), "failed": failure(row.id, error).reason}
    units = comparison.decision.encoding.units
    return {
        **asdict(row),
        "device": comparison.decision.card.device,
        "precision": comparison.decision.card.precision,
        "predicted": comparison.decision.label,
        "probability": comparison.probabilities[comparison.decision.label],
        "seed": comparison.decision.settings.seed,
        "units": [unit.text for unit in units],
        "segments": [unit.segment for unit in units],
        "answer": _answer(comparison.answer, thorough=plan.thorough),
        "methods": methods,
        "failures": failures,
        "seconds": time.perf_counter() - started,
        "passes": meter.calls,
    }


def _comparison(model: FrozenModel, plan: SetPlan, row: InputRow, meter: Meter) -> Comparison:
    """Return what the Compare page shows for the row, with its answer; of a brief plan less."""
    settings = replace(plan.settings, seed=row_seed(plan.settings.seed, row.id))
    decision, probabilities = decide(model, plan.example(row), settings=settings, meter=meter)
    comparison = Comparison(decision, probabilities, order=plan.methods)
    specs = select(plan.methods)
    events = (
        run(model, decision, specs, meter, narrators=()) if plan.thorough else brief_run(model, decision, specs, meter)
    )
    for event in events:
        comparison = comparison.with_event(event)
    return answered(comparison, finished=True)


def _answer(answer: Answer | None, *, thorough: bool) -> dict[str, Any]:
    """Return what is stored of the answer. Too few random orders are asked under other operators in a brief run to tell
    whether it is robust."""
    content = answer.as_dict() if answer else {}
    kept = ("status", "refusal", "agreement", "p", "words", "supported", "differs", "random")
    robust = bool(answer and answer.robust) if thorough else None
    return {**{name: content.get(name) for name in kept}, "robust": robust}


def _measured_methods(comparison: Comparison) -> dict[str, Any]:
    """Return scores, metrics under every operator, costs and group of each method, the consensus among them."""
    records = {}
    for result in comparison.displayed_results:
        attribution = result.attribution
        records[result.method] = {
            "scores": list(attribution.scores),
            "signed": attribution.signed,
            "metrics": _metrics(comparison, result),
            "seconds": attribution.seconds,
            "passes": attribution.model_calls,
            "group": comparison.answer.group(result.method) if comparison.answer else "",
            **curves_at_shares([result.curves]),
        }
    return records


def curves_at_shares(curves: Sequence[ErasureCurves]) -> dict[str, list[float]]:
    """Return the mean of the curves at `CURVE_SHARES`, with straight lines between their counts."""
    return {
        "removed": [float(p) for p in np.mean([_at_shares(one, one.removed) for one in curves], axis=0)],
        "kept": [float(p) for p in np.mean([_at_shares(one, one.kept) for one in curves], axis=0)],
    }


def _at_shares(curve: ErasureCurves, values: Floats) -> Floats:
    return np.interp(names.CURVE_SHARES, curve.shares, values[:, curve.label])


def _metrics(comparison: Comparison, result: MethodResult) -> Metrics:
    metrics: Metrics = {comparison.decision.settings.erasure: dict(result.metrics)}
    for check in comparison.operator_checks:
        if result.method in check.metrics:
            metrics[check.erasure] = dict(check.metrics[result.method])
    return metrics


def _controls(model: FrozenModel, comparison: Comparison) -> dict[str, Any]:
    """Return the metrics of random orders, the mean over them, and of the order of the input."""
    erasure, control = comparison.decision.settings.erasure, comparison.random_control
    random: Metrics = {} if control is None else {erasure: dict(control.metrics)}
    position: Metrics = {}
    first_units_first = _first_units_first(comparison)
    for check in comparison.operator_checks:
        random[check.erasure] = _aggregated(check.random)
    for operator in (erasure, *(check.erasure for check in comparison.operator_checks)):
        answers = MaskedPredictor(model, comparison.decision.encoding, operator)
        position[operator] = measured(answers, first_units_first, comparison.decision.label, metrics_at_percents())
    drawn = {} if control is None else curves_at_shares(control.curves)
    return {names.RANDOM: {"metrics": random, "group": "", **drawn}, names.POSITION: {"metrics": position, "group": ""}}


def _first_units_first(comparison: Comparison) -> tuple[float, ...]:
    return tuple(float(-unit) for unit in range(len(comparison.decision.encoding.units)))


def _plausibility(comparison: Comparison, row: InputRow) -> dict[str, dict[str, float]]:
    """Return by method how far it agrees with what people marked; nothing without marks, where all units are marked or
    none, where they are for another class than the predicted one, and where examples of the prompt are explained."""
    if not row.rationale or comparison.decision.encoding.examples or row.label not in (None, comparison.decision.label):
        return {}
    people = [
        Marked(tuple(Span(*span) for span in first), tuple(Span(*span) for span in second))
        for first, second in row.rationale
    ]
    truth = marked_truth(people, comparison.decision.encoding)
    if not is_defined(truth):
        return {}
    scores = {result.method: result.attribution.scores for result in comparison.displayed_results}
    scores[names.POSITION] = _first_units_first(comparison)
    return {names.RANDOM: plausibility_by_chance(truth), **{id: plausibility(truth, own) for id, own in scores.items()}}


def _aggregated(orders: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {metric.id: metric.aggregate(orders[metric.id]) for metric in METRICS if orders.get(metric.id)}
