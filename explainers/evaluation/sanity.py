"""Sanity checks of explanation methods on one model and some texts: does an explanation follow what it should follow?

Every check alters one thing whose effect on a good explanation is known:

weights   the model's weights are random, from the output downwards: ρ with the explanation of the model itself
          (cascading randomisation, Adebayo et al., 2018; smooth: averaged over noisy copies, Hedström et al., 2024)
seed      another seed: ρ
class     the explanation of the runner-up class instead of the predicted one: ρ
planted   a word is put into the text that alone decides the answer of a copy of the model: is it first?
reverse   is the order of the units better than its own reverse by AOPC-C − AOPC-S?

ρ is Spearman's, over the units. `check_row` is pure, with seeds from the row's id, as `explain_batch`. A record is:

{"id", "weights": {method: [ρ after each step]}, "seed": {method: ρ}, "class": {method: ρ}, "planted": {method: 0 | 1},
 "reverse": {method: 0 | 1}, "reasons": {check: {method, or "" for all: reason}}}, or {"id", "failed": reason}
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from explainers.comparison.decision import decide
from explainers.comparison.runner import estimates, failure
from explainers.datasets.example import Example
from explainers.datasets.labelled_rows import InputRow
from explainers.errors import ExplanationError
from explainers.evaluation.explain_batch import SetPlan, row_seed
from explainers.evaluation.record_file import Record, appending, resume_records
from explainers.methods.registry import METHODS, select
from explainers.methods.spec import MethodSpec
from explainers.metrics.agreement import spearman
from explainers.metrics.chance import evidence
from explainers.metrics.erasure import MaskedPredictor
from explainers.metrics.faithfulness import decisive_metrics, measured
from explainers.models.altered import noisy_copies, planted_copy, randomised_copies
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.models.meter import Meter
from explainers.models.prediction_cache import PredictionCache
from explainers.models.worker_processes import map_in_processes
from explainers.results.decision import Decision

FILE = "sanity.jsonl"
FEWEST_UNITS = 4  # of a text; ranks of fewer say next to nothing
FIRST_WORDS = 30  # among which a word is planted, so that no limit of the model cuts it off
PLANTED_WORDS = ("window", "seven", "table", "river", "yellow", "music")  # the first one that is one token is taken
INSIDE = "The word is planted at the model's answer, and {} reads what is inside the model."

Scores = tuple[float, ...]
Reasons = dict[str, str]  # by method


@dataclass(frozen=True)
class AlteredModels:
    """The model, its copies with random weights by what became random last, and why there are none."""

    model: FrozenModel
    randomised: tuple[tuple[str, tuple[FrozenModel, ...]], ...]
    smooth: tuple[FrozenModel, ...]  # noisy copies of the model itself; it alone without smoothing
    reason: str = ""

    @property
    def steps(self) -> list[str]:
        return [name for name, _ in self.randomised]


def altered_models(model: FrozenModel, seed: int, smooth: int) -> AlteredModels:
    """Return the copies; explanations of random weights are averaged over `smooth` noisy copies, or not for 0."""

    def copies(one: FrozenModel) -> tuple[FrozenModel, ...]:
        return noisy_copies(one, smooth, seed) if smooth else (one,)

    try:
        randomised = tuple((name, copies(one)) for name, one in randomised_copies(model, seed))
        return AlteredModels(model, randomised, copies(model))
    except ExplanationError as error:
        return AlteredModels(model, (), (model,), str(error))


def checked_methods(plan: SetPlan) -> tuple[MethodSpec, ...]:
    """Return the methods of the plan, and a random order as control."""
    return (*select(plan.methods), *(spec for spec in METHODS if spec.is_random))


def run_checks(
    models: AlteredModels, plan: SetPlan, rows: Sequence[InputRow], out: Path, processes: int
) -> Iterator[int]:
    """Check the rows that have no record in the folder yet; yield how many are done."""
    path = out / FILE
    head = {"plan": plan.as_dict(models.model), "steps": models.steps, "smooth": len(models.smooth)}
    head |= {"ids": [row.id for row in rows]}
    done = {record["id"] for record in resume_records(path, head)}
    missing = [row for row in rows if row.id not in done]

    def work(number: int) -> Record:
        return check_row(models, plan, missing[number])

    yield len(done)
    with appending(path) as append, closing(map_in_processes(work, len(missing), processes)) as records:
        for number, record in enumerate(records, start=1):
            append(record)
            yield len(done) + number


def check_row(models: AlteredModels, plan: SetPlan, row: InputRow) -> Record:
    """Return the record of one row."""
    seed = row_seed(plan.settings.seed, row.id)
    model = models.model.pooled(PredictionCache())
    try:
        settings = replace(plan.settings, seed=seed)
        decision, probabilities = decide(model, Example(row.text, row.pair), settings=settings)
        if len(decision.encoding.units) < FEWEST_UNITS:
            raise ExplanationError(f"The text has fewer than {FEWEST_UNITS} units, whose ranks say next to nothing.")
    except Exception as error:  # one row must not end the others
        return {"id": row.id, "failed": failure(row.id, error).reason}
    checked = _Row(model, decision, probabilities, checked_methods(plan))
    checks: dict[str, Callable[[Reasons], dict[str, Any]]] = {
        "weights": lambda reasons: checked.weights(models, reasons),
        "seed": checked.seed,
        "class": checked.other_class,
        "planted": lambda reasons: checked.planted(row, reasons),
        "reverse": checked.reverse,
    }
    record: Record = {"id": row.id, "reasons": {}}
    for check, run in checks.items():
        reasons: Reasons = {}
        try:
            record[check] = run(reasons)
        except Exception as error:  # the other checks stand
            record[check], reasons = {}, {"": failure(check, error).reason}
        record["reasons"][check] = reasons
    return record


class _Row:
    """One decision, the explanations of which are checked."""

    def __init__(
        self, model: FrozenModel, decision: Decision, probabilities: Sequence[float], specs: Sequence[MethodSpec]
    ) -> None:
        self.model, self.decision, self.probabilities, self.specs = model, decision, probabilities, specs
        self.failures: Reasons = {}
        self.scores = self._scores(model, decision, self.failures)

    def weights(self, models: AlteredModels, reasons: Reasons) -> dict[str, list[float]]:
        if models.reason:
            raise ExplanationError(models.reason)
        smooth = len(models.smooth) > 1 or models.smooth[0] is not models.model
        own = self._mean_scores(models.smooth, reasons) if smooth else self.scores
        reasons |= self.failures
        values: dict[str, list[float]] = {method: [] for method in own}
        for _, copies in models.randomised:
            scores = self._mean_scores(copies, reasons)
            for method in values:
                values[method].append(spearman(own[method], scores[method]) if method in scores else float("nan"))
        return {method: row for method, row in values.items() if method not in reasons}

    def seed(self, reasons: Reasons) -> dict[str, float]:
        settings = replace(self.decision.settings, seed=self.decision.settings.seed + 1)
        return self._compared(replace(self.decision, settings=settings), self.specs, reasons)

    def other_class(self, reasons: Reasons) -> dict[str, float]:
        predicted = self.decision.label
        order = np.argsort(self.probabilities)[::-1]
        runner_up = int(next(label for label in order if label != predicted))
        decision = replace(self.decision, label=runner_up)
        able = [spec for spec in self.specs if spec.can_explain(decision.target, predicted)]
        reasons |= {
            spec.id: f"{spec.name} explains the predicted class only." for spec in self.specs if spec not in able
        }
        return self._compared(decision, able, reasons)

    def planted(self, row: InputRow, reasons: Reasons) -> dict[str, int]:
        if self.decision.settings.erasure == "zero":
            raise ExplanationError("No word is planted under the operator “zero”, which leaves the token where it is.")
        runner_up = int(np.argsort(self.probabilities)[-2])
        encoding, unit, token = self._with_planted_word(row)
        able = [spec for spec in self.specs if not spec.learns and spec.group != "Attention"]
        reasons |= {spec.id: INSIDE.format(spec.name) for spec in self.specs if spec not in able}
        copy = planted_copy(self.model, token, runner_up).pooled(PredictionCache())
        scores = self._scores(copy, replace(self.decision, encoding=encoding, label=runner_up), reasons, able)
        return {method: int(np.argmax(values) == unit) for method, values in scores.items()}

    def reverse(self, reasons: Reasons) -> dict[str, int]:
        reasons |= self.failures
        answers = MaskedPredictor(self.model, self.decision.encoding, self.decision.settings.erasure)

        def evidence_of(scores: Scores) -> float:
            return evidence(measured(answers, scores, self.decision.label, decisive_metrics()))

        return {
            method: int(evidence_of(scores) > evidence_of(tuple(-score for score in scores)))
            for method, scores in self.scores.items()
        }

    def _compared(self, decision: Decision, specs: Sequence[MethodSpec], reasons: Reasons) -> dict[str, float]:
        """Return ρ of the explanations of another decision with the first ones."""
        reasons |= self.failures
        able = [spec for spec in specs if spec.id in self.scores]
        scores = self._scores(self.model, decision, reasons, able)
        return {method: spearman(self.scores[method], values) for method, values in scores.items()}

    def _scores(
        self, model: FrozenModel, decision: Decision, reasons: Reasons, specs: Sequence[MethodSpec] | None = None
    ) -> dict[str, Scores]:
        """Return the scores by method; of a method that fails the reason."""
        scores = {}
        for spec in self.specs if specs is None else specs:
            try:
                *_, last = estimates(spec, model, decision, Meter())
                scores[spec.id] = last.scores
            except Exception as error:  # the other methods stand
                reasons[spec.id] = failure(spec.id, error).reason
        return scores

    def _mean_scores(self, copies: Sequence[FrozenModel], reasons: Reasons) -> dict[str, Scores]:
        """Return the scores, each method's averaged over the copies after every map is scaled to length 1."""
        each = [self._scores(copy.pooled(PredictionCache()), self.decision, reasons) for copy in copies]
        return {method: _mean([scores[method] for scores in each]) for method in each[0] if method not in reasons}

    def _with_planted_word(self, row: InputRow) -> tuple[Encoding, int, int]:
        """Return the input with one more word, the number of its unit, and its token."""
        gaps = [match.end() for match in re.finditer(r"\S+", row.text)][:FIRST_WORDS]
        at = random.Random(self.decision.settings.seed).choice([0, *gaps])
        for word in PLANTED_WORDS:
            added = f" {word}" if at else f"{word} "
            example = Example(row.text[:at] + added + row.text[at:], row.pair)
            start = at + added.index(word)
            words, encoding = self.model.encode(example), self.model.encode(example, self.decision.settings.unit)
            tokens = [
                words.ids[place]
                for place, owner in enumerate(words.owners)
                if 0 <= owner < len(words.units) and _covers(words, owner, start, len(word))
            ]
            unit = next((n for n in range(len(encoding.units)) if _covers(encoding, n, start, len(word))), None)
            if len(tokens) == 1 and words.ids.count(tokens[0]) == 1 and unit is not None:
                return encoding, unit, tokens[0]
        raise ExplanationError("No word that could be planted is one token of this model and new in the text.")


def _covers(encoding: Encoding, unit: int, start: int, length: int) -> bool:
    """Return whether a unit of the first text holds these characters."""
    one = encoding.units[unit]
    return one.segment == 0 and one.start <= start and start + length <= one.end


def _mean(maps: Sequence[Scores]) -> Scores:
    rows = np.array(maps)
    if len(rows) == 1:
        return maps[0]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return tuple((rows / np.where(lengths > 0, lengths, 1)).mean(axis=0).tolist())
