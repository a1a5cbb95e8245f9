"""Runs that are filled from the comparisons that come with the project, without a model.

The examples that a model's box offers: those that come with it, and those of its generator.
"""

import logging
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from app import model_info, model_pool
from app.compare.runs import Request, Run
from explainers.comparison.answer import consensus_members
from explainers.comparison.stored_results import StoredResult, read_stored, weights
from explainers.datasets.curated_examples import CuratedExample, curated_examples, example_of
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import select
from explainers.models import bundle_cards, tasks
from explainers.models import prompt as prompts
from explainers.results.answer import CONSENSUS
from explainers.results.comparison import Comparison
from explainers.results.events import (
    Duel,
    Event,
    Failure,
    MethodResult,
    Narrative,
    NarrativeCheck,
    OperatorCheck,
    RandomControl,
)
from explainers.training.artifacts import runnable_narrators, waiting_narrators

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StoredAnswer:
    """A stored result that answers a request; `valid` are the methods and narrators whose weights are still those."""

    result: StoredResult
    valid: frozenset[str]

    def outcome(self, method: str) -> MethodResult | Failure | None:
        """What is stored of the method: its result, or why it has failed; None where that is not valid any more."""
        if method not in self.valid:
            return None
        failures = (failure for failure in self.result.comparison.failures if failure.method == method)
        return self.result.comparison.result(method) or next(failures, None)

    @property
    def random_control(self) -> RandomControl | None:
        return self.result.comparison.random_control

    @property
    def operator_checks(self) -> tuple[OperatorCheck, ...]:
        """The checks, for the methods that are still valid."""
        return tuple(of_methods(check, self.valid) for check in self.result.comparison.operator_checks)


def stored_answer(request: Request) -> StoredAnswer | None:
    """None where the request is not a curated example with the settings that are stored, or the model has changed."""
    curated = _curated(request)
    stored = _read(curated) if curated is not None and not request.removed else None
    if stored is None:
        return None
    decision = stored.comparison.decision
    as_stored = (request.device, request.precision) == (model_pool.SERVER_DEVICE, "float32")
    same_class = request.label in (None, stored.comparison.label) and request.versus is None
    same_model = model_info.info_on_card(request.model).version == stored.card.version
    if not (as_stored and same_class and same_model and request.settings == decision.settings):
        return None
    return StoredAnswer(stored, _valid(stored))


def fill(run: Run, answer: StoredAnswer) -> bool:
    """Return whether everything that the run asks for is stored; then the run is done. Otherwise it is as it was."""
    stored, narrators = answer.result.comparison, _narrators(run.request, answer)
    outcomes = {method: answer.outcome(method) for method in run.columns}
    if narrators is None or None in outcomes.values() or not _same_consensus(stored, run.columns):
        return False
    run.stored, run.whole, run.whole_probabilities = answer.result, stored.decision, stored.probabilities
    for method, outcome in outcomes.items():
        column = run.columns[method]
        column.stored, column.attribution = True, outcome.attribution if isinstance(outcome, MethodResult) else None
    comparison = Comparison(stored.decision, stored.probabilities, order=tuple(run.columns))
    for event in _asked(stored, {CONSENSUS, *run.columns, *narrators}):
        comparison = comparison.with_event(event)
    run.current = comparison
    run.end("done")
    return True


def _same_consensus(stored: Comparison, asked: Container[str]) -> bool:
    """Return whether all methods of the stored consensus are asked for; then it is theirs."""
    return all(member.method in asked for member in consensus_members(stored))


def _asked(stored: Comparison, ids: Container[str]) -> Iterator[Event]:
    """The events of a stored comparison as far as they are about these methods and narrators; without its duels, which
    are shown where somebody asks for them."""
    for event in stored.events():
        match event:
            case MethodResult() | Failure() | Narrative() | NarrativeCheck() if event.method not in ids:
                continue
            case Duel():
                continue
            case OperatorCheck():
                yield of_methods(event, ids)
            case _:
                yield event


def of_methods(check: OperatorCheck, methods: Container[str]) -> OperatorCheck:
    """The check without the other methods."""
    return replace(check, metrics={name: metric for name, metric in check.metrics.items() if name in methods})


def _narrators(request: Request, answer: StoredAnswer) -> frozenset[str] | None:
    """Those that the request asks for; None where one of them was not stored. Where it asks for all that can run here,
    the others that were stored come too: their sentences need no language model."""
    stored, version = answer.result, answer.result.card.version
    runnable = runnable_narrators(request.model, version)
    wanted = set(runnable if request.narrators is None else request.narrators)
    done = {narrative.method for narrative in stored.comparison.narratives}
    done |= {failure.method for failure in stored.comparison.failures}
    there = done & answer.valid
    if not wanted <= there:
        return None
    others = set(waiting_narrators(request.model, version)) & there if wanted == set(runnable) else set()
    return frozenset(wanted | others)


def _curated(request: Request) -> CuratedExample | None:
    example = request.example
    candidates = [
        curated for curated in curated_examples() if (curated.model, curated.text) == (request.model, example.text)
    ]
    inputs = example.pair, example.image
    return next(
        (candidate for candidate in candidates if (candidate.pair, example_of(candidate).image) == inputs), None
    )


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
    now = weights(stored.card.name, stored.card.version, specs, narrators)
    ids = [*(spec.id for spec in specs), *narrators]
    return frozenset(id for id in ids if now.get(id) == stored.weights.get(id))


def _failed_methods(stored: StoredResult) -> list[str]:
    return [failure.method for failure in stored.comparison.failures if failure.method not in NARRATORS.ids]


__all__ = ["CuratedExample", "curated_examples", "example_of"]

OWN_TEXT = "your own text"
GENERATED = re.compile(r"(\w+) ([0-9]{1,6})")  # the name of a generated example: noun and seed


def named(title: str) -> CuratedExample | None:
    return next((example for example in curated_examples() if example.title == title), None)


def titles(model: str, *, multimodal: bool = False) -> list[str]:
    """The examples of a model, or of the one that it was made from; where it has none, all of its kind."""
    of_model = [example.title for example in curated_examples() if f"{model}-".startswith(f"{example.model}-")]
    texts = _texts_of_prompt(model)
    of_kind = [
        example.title
        for example in curated_examples()
        if bool(example.image) is multimodal and texts in (None, 1 if example.pair is None else 2)
    ]
    return [*dict.fromkeys(of_model or of_kind), OWN_TEXT]


def _texts_of_prompt(model: str) -> int | None:
    """How many texts the prompt in the name of a language model has slots for; None for other names."""
    try:
        return len(prompts.prompt_named(prompts.split_name(model)[1]).input_names)
    except prompts.PromptError:
        return None


def generator_nouns() -> tuple[str, ...]:
    """What the generators of the embedded models call their examples."""
    return tuple(filter(None, map(bundle_cards.generator_noun, bundle_cards.bundle_names())))


def is_generated(name: str) -> bool:
    """Return whether this is the name of a generated example, such as "scene 7"."""
    match = GENERATED.fullmatch(name)
    return match is not None and match[1] in generator_nouns()


def is_image_name(name: str) -> bool:
    """Return whether this is an example with an image, or a generated one."""
    curated = named(name)
    return is_generated(name) or (curated is not None and bool(curated.image))


@lru_cache(maxsize=64)
def generated_example(name: str) -> Example:
    """The generated image of this name with its statement."""
    return tasks.generated_example(name)
