"""Sanity checks of explanation methods on one model and some texts: does an explanation follow what it should follow?

Every check alters one thing whose effect on a good explanation is known:

weights   the model's weights are random, from the output downwards: |ρ| with the explanation of the model itself, less
          that of unrelated orders (cascading parameter randomisation, Adebayo et al., 2018; smooth: averaged over noisy
          copies, Hedström et al., 2024). Every input has random weights of its own.
seed      another seed: ρ
class     the second most likely class in place of the predicted one: ρ (random logit test, Sixt et al., 2020)
planted   a word is put into the text that alone decides the answer of a copy of the model: is it first?
reverse   has the order of the units more evidence, AOPC-C − AOPC-S, than its own reverse?

ρ is Spearman's, over the units. `check_row` is pure, with seeds from the row's id, as `explain_batch`. A record is:

{"id", "weights": {method: [value after each step]}, "seed": {method: ρ}, "class": {method: ρ},
 "planted": {method: 0 | 1}, "reverse": {method: 0 | 1}, "reasons": {check: {method, or "" for all: reason}}},
or {"id", "failed": reason}
"""

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from explainers.comparison.decision import decide, encode_units
from explainers.comparison.runner import estimates, failure
from explainers.datasets.example import Example
from explainers.datasets.labelled_rows import InputRow
from explainers.errors import ExplanationError
from explainers.evaluation import explain_batch, names, record_file
from explainers.methods.registry import METHODS, MethodSpec, select
from explainers.metrics import agreement, erasure, faithfulness
from explainers.metrics.chance import evidence
from explainers.models import altered, calls, worker_processes
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.results.attribution import ranking
from explainers.results.decision import Decision

FEWEST_UNITS = 4  # of a text; ranks of fewer say next to nothing
TRIED = 50  # rows for each that is checked, of which one has enough units
FIRST_WORDS = 30  # among which a word is planted, so that no limit of the model cuts it off
PLANTED_WORDS = ("window", "seven", "table", "river", "yellow", "music")  # the first one that is one token is taken
INSIDE = "The word is planted at the model's answer, and {} reads what is inside the model."
CONSTANT = "The scores of {} are all equal: they rank nothing."
DRAW = "The order and its reverse have the same evidence."

Scores = tuple[float, ...]
Reasons = dict[str, str]  # by method


@dataclass(frozen=True)
class SanityPlan:
    """What is checked: the methods and settings of an evaluation; explanations of random weights are averaged over
    `smooth` noisy copies, or not for 0."""

    plan: explain_batch.SetPlan
    smooth: int = 0

    @property
    def specs(self) -> tuple[MethodSpec, ...]:
        """Return the methods of the plan, and a random order as control."""
        return (*select(self.plan.methods), *(spec for spec in METHODS if spec.is_random))


def steps_of(model: FrozenModel) -> list[str]:
    """Return what becomes random in each step; nothing for a model without weights."""
    try:
        return altered.randomisation_steps(model)
    except ExplanationError:
        return []


def checked_rows(
    model: FrozenModel, plan: explain_batch.SetPlan, rows: Sequence[InputRow], n: int
) -> tuple[InputRow, ...]:
    """Return `n` rows with enough units, chosen by seed and ids, in their order; where there are none, the first
    choices, whose records say so."""
    order = sorted(rows, key=lambda row: hashlib.sha256(f"sanity {plan.settings.seed}:{row.id}".encode()).digest())
    chosen: set[str] = set()
    for row in order[: TRIED * n]:
        if len(chosen) < n and _units(model, plan, row) >= FEWEST_UNITS:
            chosen.add(row.id)
    chosen = chosen or {row.id for row in order[:n]}
    return tuple(row for row in rows if row.id in chosen)


def run_checks(
    model: FrozenModel,
    plan: SanityPlan,
    rows: Sequence[InputRow],
    about: Mapping[str, Any],
    out: Path,
    processes: int = 1,
) -> Iterator[int]:
    """Check the rows that have no record in the folder yet, and those that failed; yield how many are done. `about`
    says where the rows are from."""
    path = out / names.SANITY_RECORDS
    head, ids = {**about, "plan": plan.plan.as_dict(model), "smooth": plan.smooth}, {row.id for row in rows}
    done = {
        record["id"] for record in record_file.resume_records(path, head, lambda record: "failed" not in record)
    } & ids
    missing = [row for row in rows if row.id not in done]

    def work(number: int) -> record_file.Record:
        return check_row(model, plan, missing[number])

    yield len(done)
    with (
        record_file.appending(path) as append,
        closing(worker_processes.map_in_processes(work, len(missing), processes)) as records,
    ):
        for number, record in enumerate(records, start=1):
            append(record)
            yield len(done) + number


def check_row(model: FrozenModel, plan: SanityPlan, row: InputRow) -> record_file.Record:
    """Return the record of one row."""
    model = model.pooled(calls.PredictionCache())
    try:
        settings = replace(plan.plan.settings, seed=explain_batch.row_seed(plan.plan.settings.seed, row.id))
        decision, probabilities = decide(model, plan.plan.example(row), settings=settings)
        if len(decision.encoding.units) < FEWEST_UNITS:
            raise ExplanationError(f"The input has fewer than {FEWEST_UNITS} units, whose ranks say next to nothing.")
    except Exception as error:  # one row must not end the others
        return {"id": row.id, "failed": failure(row.id, error).reason}
    checked = _Row(model, decision, probabilities, plan.specs)
    checks: dict[str, Callable[[Reasons], dict[str, Any]]] = {
        "weights": lambda reasons: checked.weights(plan.smooth, reasons),
        "seed": checked.seed,
        "class": checked.other_class,
        "planted": lambda reasons: checked.planted(plan.plan.example(row), reasons),
        "reverse": checked.reverse,
    }
    record: record_file.Record = {"id": row.id, "device": decision.card.device, "reasons": {}}
    for check, run in checks.items():
        reasons: Reasons = {}
        try:
            record[check] = run(reasons)
        except Exception as error:  # the other checks stand
            record[check], reasons = {}, {"": failure(check, error).reason}
        record["reasons"][check] = reasons
    return record


@lru_cache
def chance_rho(units: int) -> float:
    """Return the mean |ρ| of two unrelated orders of so many units."""
    generator, order = np.random.default_rng(0), np.arange(units)
    rows = np.array([generator.permutation(units) for _ in range(2000)])
    return float(np.abs(np.corrcoef(order, rows)[0, 1:]).mean())


class _Row:
    """One decision, the explanations of which are checked."""

    def __init__(
        self, model: FrozenModel, decision: Decision, probabilities: Sequence[float], specs: Sequence[MethodSpec]
    ) -> None:
        self.model, self.decision, self.probabilities, self.specs = model, decision, probabilities, specs
        self.failures: Reasons = {}
        scores = self._scores(model, decision, specs, self.failures)
        self.failures |= {spec.id: CONSTANT.format(spec.name) for spec in specs if _is_constant(scores.get(spec.id))}
        self.scores = {method: values for method, values in scores.items() if method not in self.failures}
        self.explained = [spec for spec in specs if spec.id in self.scores]

    def weights(self, smooth: int, reasons: Reasons) -> dict[str, list[float]]:
        reasons |= self.failures
        seed, chance = self.decision.settings.seed, chance_rho(len(self.decision.encoding.units))
        own = self._mean_scores(self.model, smooth, reasons) if smooth else self.scores
        values: dict[str, list[float]] = {method: [] for method in own}
        for copy in altered.randomised_copies(self.model, seed):
            scores = self._mean_scores(copy, smooth, reasons)
            for method in own.keys() & scores.keys():
                values[method].append(abs(agreement.spearman(own[method], scores[method])) - chance)
        return {method: row for method, row in values.items() if method not in reasons}

    def seed(self, reasons: Reasons) -> dict[str, float]:
        settings = replace(self.decision.settings, seed=self.decision.settings.seed + 1)
        return self._compared(replace(self.decision, settings=settings), self.explained, reasons)

    def other_class(self, reasons: Reasons) -> dict[str, float]:
        decision = replace(self.decision, label=self._runner_up)
        able = [spec for spec in self.explained if spec.can_explain(decision.target, self.decision.label)]
        reasons |= {
            spec.id: f"{spec.name} explains the predicted class only." for spec in self.explained if spec not in able
        }
        return self._compared(decision, able, reasons)

    def planted(self, example: Example, reasons: Reasons) -> dict[str, int]:
        encoding, unit, position = self._with_planted_word(example)
        able = [spec for spec in self.specs if not spec.learns and spec.group != "Attention"]
        reasons |= {spec.id: INSIDE.format(spec.name) for spec in self.specs if spec not in able}
        copy = altered.planted_copy(self.model, encoding, position, self._runner_up)
        scores = self._scores(copy, replace(self.decision, encoding=encoding, label=self._runner_up), able, reasons)
        reasons |= {spec.id: CONSTANT.format(spec.name) for spec in able if _is_constant(scores.get(spec.id))}
        return {method: int(np.argmax(values) == unit) for method, values in scores.items() if method not in reasons}

    def reverse(self, reasons: Reasons) -> dict[str, int]:
        reasons |= self.failures
        answers = erasure.MaskedPredictor(self.model, self.decision.encoding, self.decision.settings.erasure)

        def evidence_of(order: Sequence[int]) -> float:
            scores = np.empty(len(order))
            scores[list(order)] = np.arange(len(order), 0, -1)
            return evidence(
                faithfulness.measured(
                    answers, tuple(scores.tolist()), self.decision.label, faithfulness.decisive_metrics()
                )
            )

        gains = {}
        for method, scores in self.scores.items():
            order = [int(unit) for unit in ranking(scores)]
            gains[method] = evidence_of(order) - evidence_of(order[::-1])
        reasons |= {method: DRAW for method, gain in gains.items() if gain == 0 or np.isnan(gain)}
        return {method: int(gain > 0) for method, gain in gains.items() if method not in reasons}

    @property
    def _runner_up(self) -> int:
        """Return the most likely class besides the predicted one."""
        order = np.argsort(self.probabilities)[::-1]
        return int(next(label for label in order if label != self.decision.label))

    def _compared(self, decision: Decision, specs: Sequence[MethodSpec], reasons: Reasons) -> dict[str, float]:
        """Return ρ of the explanations of another decision with the first ones."""
        reasons |= self.failures
        scores = self._scores(self.model, decision, specs, reasons)
        return {method: agreement.spearman(self.scores[method], values) for method, values in scores.items()}

    def _scores(
        self, model: FrozenModel, decision: Decision, specs: Sequence[MethodSpec], reasons: Reasons
    ) -> dict[str, Scores]:
        """Return the scores by method; of a method that fails the reason."""
        scores = {}
        for spec in specs:
            try:
                *_, last = estimates(spec, model, decision, calls.Meter())
                scores[spec.id] = last.scores
            except Exception as error:  # the other methods stand
                reasons[spec.id] = failure(spec.id, error).reason
        return scores

    def _mean_scores(self, model: FrozenModel, smooth: int, reasons: Reasons) -> dict[str, Scores]:
        """Return the scores, each method's averaged over noisy copies after every map is scaled to length 1."""
        copies = altered.noisy_copies(model, smooth, self.decision.settings.seed) if smooth else (model,)
        by_copy = [self._scores(copy, self.decision, self.explained, reasons) for copy in copies]
        return {method: _mean([scores[method] for scores in by_copy]) for method in by_copy[0] if method not in reasons}

    def _with_planted_word(self, original: Example) -> tuple[Encoding, int, int]:
        """Return the input with one more word, the number of its unit, and the position of its token."""
        gaps = [match.end() for match in re.finditer(r"\S+", original.text)][:FIRST_WORDS]
        at = random.Random(self.decision.settings.seed).choice([0, *gaps])
        for word in PLANTED_WORDS:
            added = f" {word}" if at else f"{word} "
            example = replace(original, text=original.text[:at] + added + original.text[at:])
            start = at + added.index(word)
            words = self.model.encode(example)
            positions = [
                place
                for place, owner in enumerate(words.owners)
                if 0 <= owner < len(words.units) and _covers(words, owner, start, len(word))
            ]
            encoding = encode_units(self.model, example, self.decision.settings)
            if encoding.windows:
                raise ExplanationError("Nothing is planted into a text that is read in several windows.")
            unit = next((n for n in range(len(encoding.units)) if _covers(encoding, n, start, len(word))), None)
            if len(positions) == 1 and words.ids.count(words.ids[positions[0]]) == 1 and unit is not None:
                return encoding, unit, positions[0]
        raise ExplanationError("No word that could be planted is one token of this model and new in the text.")


def _units(model: FrozenModel, plan: explain_batch.SetPlan, row: InputRow) -> int:
    try:
        return len(encode_units(model, plan.example(row), plan.settings).units)
    except ExplanationError:
        return 0


def _covers(encoding: Encoding, unit: int, start: int, length: int) -> bool:
    """Return whether a unit of the first text holds these characters."""
    one = encoding.units[unit]
    return one.segment == 0 and one.start <= start and start + length <= one.end


def _is_constant(scores: Scores | None) -> bool:
    return scores is not None and len(set(scores)) == 1


def _mean(maps: Sequence[Scores]) -> Scores:
    if len(maps) == 1:
        return maps[0]
    rows = np.array(maps)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return tuple((rows / np.where(lengths > 0, lengths, 1)).mean(axis=0).tolist())
