"""What a comparison answers on many inputs, with two seeds, and what it answers where every method is a random order.

A row per input in answers.jsonl:

{"input": number, "units": n, "luck": [methods named, …], "seeds": [{"status", "words", "top", "supported", …}, …]}

`luck` has one number per draw: how many of ten random orders, in the places of the methods, the answer names; -1 where
their consensus alone passed. `seeds` is empty for inputs of which only luck is measured.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from explainers.attribution.controls import random_scores
from explainers.comparison.answer import answer, answered
from explainers.comparison.consensus import consensus_scores
from explainers.comparison.decision import decide
from explainers.comparison.measuring import run_random_control
from explainers.comparison.runner import run
from explainers.datasets.example import Example
from explainers.evaluation.measurement import Plan
from explainers.evaluation.record_file import Record, appending, resume_records
from explainers.methods.registry import default_methods, select
from explainers.methods.spec import SLOW, MethodSpec
from explainers.metrics.chance import evidence, sampled_null
from explainers.metrics.erasure import MaskedPredictor, erasure_curves
from explainers.metrics.faithfulness import measured, metrics_at_percents
from explainers.models.frozen_model import FrozenModel
from explainers.models.meter import Meter
from explainers.models.prediction_cache import PredictionCache
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import Attribution, metric_counts, ranking
from explainers.results.comparison import Comparison
from explainers.results.decision import Decision
from explainers.results.events import MethodResult
from explainers.results.settings import Settings

FILE = "answers.jsonl"
DRAWS = 2  # sets of random orders per input
FAKE_SEED = 10_000_000  # far from the seeds of the random control
TOP = 3  # units of the consensus that are compared between seeds

Scores = tuple[float, ...]


def tested_methods() -> tuple[str, ...]:
    """Return the ids of the default methods that can take part in a consensus."""
    return tuple(spec.id for spec in select(default_methods()) if spec.comparable and not spec.is_random)


def record_answers(
    model: FrozenModel, inputs: Sequence[Example], explained: int, plan: Plan, out: Path
) -> Iterator[int]:
    """Append the rows that are missing in `out`, the first `explained` inputs with the methods' answers; yield how many
    inputs are done. Raises `ExplanationError` if the rows there belong to another run."""
    signature = {**plan.signature(model, inputs), "methods": [spec.id for spec in plan.specs], "explained": explained}
    done = {row["input"] for row in resume_records(out / FILE, signature)}
    with appending(out / FILE) as append:
        for number, example in enumerate(inputs):
            if number not in done:
                specs = plan.specs if number < explained else ()
                append({"input": number, **answer_row(model, example, specs, plan.settings)})
            yield number + 1


def answer_row(model: FrozenModel, example: Example, specs: Sequence[MethodSpec], settings: Settings) -> Record:
    """Return the row of an input without its number; without `specs` only luck."""
    model = model.pooled(PredictionCache())
    decision, probabilities = decide(model, example, settings=settings)
    seeds: list[Record] = []
    if specs:
        first, row = explained_with(model, decision, probabilities, specs, ())
        again = replace(decision, settings=replace(settings, seed=settings.seed + 1))
        sampling = [spec for spec in specs if spec.kind in SLOW]
        rest = [result for result in first.results if result.method not in (CONSENSUS, *(s.id for s in sampling))]
        seeds = [row, explained_with(model, again, probabilities, sampling, rest)[1]]
    return {
        "units": len(decision.encoding.units),
        "p": probabilities[decision.label],
        "luck": [named_by_luck(model, decision, probabilities, draw) for draw in range(DRAWS)],
        "seeds": seeds,
    }


def explained_with(
    model: FrozenModel,
    decision: Decision,
    probabilities: Scores,
    specs: Sequence[MethodSpec],
    known: Sequence[MethodResult],
) -> tuple[Comparison, Record]:
    """Return the finished comparison by `specs` and what is `known`, and what it answers as plain values."""
    meter, started = Meter(), time.perf_counter()
    comparison = Comparison(decision, probabilities, results=tuple(known))
    attributions = [result.attribution for result in known]
    for event in run(model, decision, specs, meter, narrators=(), known=attributions):
        comparison = comparison.with_event(event)
    comparison = answered(comparison, finished=True)
    joint, result = comparison.consensus, comparison.answer
    values: Record = {} if result is None else {**result.as_dict(), "refused": bool(result.refusal)}
    return comparison, {
        **values,
        "top": [] if joint is None else ranking(joint.attribution.scores)[:TOP].tolist(),
        "evidence": {result.method: evidence(result.metrics) for result in comparison.results},
        "operators_evidence": {
            check.erasure: {method: evidence(values) for method, values in check.metrics.items()}
            for check in comparison.operator_checks
        },
        "random_evidence": random_evidence(comparison),
        "calls": meter.calls,
        "seconds": time.perf_counter() - started,
    }


def random_evidence(comparison: Comparison) -> dict[str, float]:
    """Return the mean evidence of the random orders, by operator."""
    control = comparison.random_control
    by_operator = {check.erasure: check.random for check in comparison.operator_checks if check.random}
    scores = {**({} if control is None else {comparison.decision.settings.erasure: control.scores}), **by_operator}
    return {name: float(np.mean(sampled_null(values).values)) for name, values in scores.items()}


def named_by_luck(model: FrozenModel, decision: Decision, probabilities: Scores, draw: int) -> int:
    """Return how many methods the answer names if each is a random order; -1 if it names none, but their consensus."""
    answers = MaskedPredictor(model, decision.encoding, decision.settings.erasure)
    units, methods = len(decision.encoding.units), tested_methods()
    first = FAKE_SEED + draw * len(methods)
    rows = {method: random_scores(units, first + number) for number, method in enumerate(methods)}
    rows = {**rows, CONSENSUS: consensus_scores(list(rows.values()))}
    comparison = Comparison(
        decision,
        probabilities,
        results=tuple(_measured(answers, method, scores, decision.label) for method, scores in rows.items()),
        random_control=run_random_control(answers, decision.label, decision.settings.seed),
    )
    result = answer(comparison, finished=True)
    return len(result.better_than_chance) or -int(result.status == "supported")


def _measured(answers: MaskedPredictor, method: str, scores: Scores, label: int) -> MethodResult:
    attribution = Attribution(method, answers.encoding, label, scores, signed=True)
    curves = erasure_curves(answers, scores, label, metric_counts(len(scores)))
    return MethodResult(attribution, curves, measured(answers, scores, label, metrics_at_percents(), curves=curves), {})


def rows_of(out: Path) -> list[dict[str, Any]]:
    """Return the rows in the order of the inputs."""
    from explainers.evaluation.record_file import read_records

    return sorted(read_records(out / FILE), key=lambda row: row["input"])


def paired_evidence(rows: Sequence[Record], method: str, other: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the evidence of two methods on the inputs on which both have it, (N,) each."""
    values = [row["seeds"][0]["evidence"] for row in rows if row["seeds"]]
    both = [(value[method], value[other]) for value in values if {method, other} <= set(value)]
    return np.array([one for one, _ in both]), np.array([two for _, two in both])
