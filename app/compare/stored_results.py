"""Runs that are filled from the comparisons that come with the project, without a model."""

import logging
from collections.abc import Container
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from app import model_info
from app.compare.runs import Column, Request, Run
from explainers.comparison.stored_results import StoredResult, read_stored, weights
from explainers.datasets.curated_examples import CuratedExample, curated_examples, example_of
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import select
from explainers.results.comparison import Question, RandomControl
from explainers.results.operator_check import OperatorCheck
from explainers.results.stored_model import StoredModel
from explainers.training.artifacts import available_artifacts

if TYPE_CHECKING:
    from app.model_pool import ModelPool

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StoredAnswer:
    """A stored result that answers a request; `valid` are the methods and narrators whose weights are still those."""

    result: StoredResult
    valid: frozenset[str]

    def fill_column(self, column: Column) -> bool:
        """Whether the method was stored, and the column is filled."""
        comparison, method = self.result.comparison, column.spec.id
        if method not in self.valid:
            return False
        failure = next((each.reason for each in comparison.failures if each.method == method), "")
        result = next((each for each in comparison.results if each.attribution.method == method), None)
        if result is not None:
            column.result, column.attribution = result, result.attribution
        column.failure, column.stored = failure, bool(failure) or result is not None
        return column.stored

    @property
    def random_control(self) -> RandomControl | None:
        return self.result.comparison.random_control

    @property
    def operator_checks(self) -> tuple[OperatorCheck, ...]:
        """Of the methods that are still valid."""
        return tuple(of_methods(check, self.valid) for check in self.result.comparison.operator_checks)


def stored_answer(request: Request) -> StoredAnswer | None:
    """None where the request is not a curated example with the settings that are stored, or the model has changed."""
    curated = _curated(request)
    stored = _read(curated) if curated is not None and not request.removed else None
    if stored is None:
        return None
    question = stored.comparison.question
    same_class = request.label in (None, question.model.labels[question.label])
    same_model = model_info.info_on_card(request.model).version == stored.model.version
    if not (same_class and same_model and request.settings == question.settings):
        return None
    return StoredAnswer(stored, _valid(stored))


def fill(run: Run, answer: StoredAnswer) -> bool:
    """Whether everything that the run asks for is stored; then the run is done. Otherwise it is as it was."""
    comparison, narrators = answer.result.comparison, _narrators(run.request, answer)
    columns = {name: Column(column.spec) for name, column in run.columns.items()}
    if narrators is None or not all(answer.fill_column(column) for column in columns.values()):
        return False
    run.columns, run.stored = columns, answer.result
    run.whole = run.question = comparison.question
    run.whole_probabilities = run.probabilities = comparison.probabilities
    run.ablated_inputs, run.random_control = comparison.ablated_inputs, comparison.random_control
    run.narratives = tuple(each for each in comparison.narratives if each.method in narrators)
    run.narrative_checks = tuple(each for each in comparison.narrative_checks if each.method in narrators)
    run.narrator_failures = tuple(each for each in comparison.failures if each.method in narrators)
    run.operator_checks = tuple(of_methods(check, columns) for check in comparison.operator_checks)
    run.stored_duels = comparison.duels
    run.status = "done"
    return True


def of_methods(check: OperatorCheck, methods: Container[str]) -> OperatorCheck:
    """The check without the other methods."""
    return replace(check, metrics={name: each for name, each in check.metrics.items() if name in methods})


def _narrators(request: Request, answer: StoredAnswer) -> frozenset[str] | None:
    """Those that the request asks for; None where one of them was not stored."""
    stored, wanted = answer.result, request.narrators
    if wanted is None:
        fitted = available_artifacts(request.model, stored.model.version, "narrative")
        wanted = tuple(artifact.method for artifact in fitted)
    done = {each.method for each in stored.comparison.narratives}
    done |= {each.method for each in stored.comparison.failures}
    return frozenset(wanted) if set(wanted) <= done & answer.valid else None


def asked_question(pool: "ModelPool", run: Run) -> Question:
    """The run's question with a model that can be asked: where the run was stored, it is loaded and reads the input."""
    if run.question is None:
        raise ValueError("the run has no prediction yet")
    if not isinstance(run.question.model, StoredModel):
        return run.question
    from explainers.comparison.question import checked_encoding  # brings torch

    model, request = pool.model(run.request.model), run.request
    return replace(run.question, model=model, encoding=checked_encoding(model, request.example, request.settings.unit))


def _curated(request: Request) -> CuratedExample | None:
    example = request.example
    candidates = [each for each in curated_examples() if (each.model, each.text) == (request.model, example.text)]
    inputs = example.pair, example.image
    return next((each for each in candidates if (each.pair, example_of(each).image) == inputs), None)


@lru_cache(maxsize=64)
def _read(curated: CuratedExample) -> StoredResult | None:
    try:
        return read_stored(curated)
    except ExplanationError as error:
        log.warning("%s", error)  # the example is computed instead
        return None


def _valid(stored: StoredResult) -> frozenset[str]:
    comparison = stored.comparison
    specs = select(dict.fromkeys([*comparison.methods, *_failed_methods(stored)]))
    narrators = [spec.id for spec in NARRATORS]
    now = weights(stored.model.name, stored.model.version, specs, narrators)
    ids = [*(spec.id for spec in specs), *narrators]
    return frozenset(id for id in ids if now.get(id) == stored.weights.get(id))


def _failed_methods(stored: StoredResult) -> list[str]:
    return [each.method for each in stored.comparison.failures if each.method not in NARRATORS.ids]
