"""`python -m explainers study stored-results`: the comparisons of the curated examples that come with the project.

What differs between two stored results, beyond what fp32 leaves open.

On another processor, with another number of threads or in other batches a layer's sums come in another order. Three
times what such noise does to scores and probabilities is allowed (see tests/contracts). A method that optimises for
each input amplifies it step by step, and where two units change places its curve is another one: SEARCHED is for those.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from explainers.commands.options import show_progress, user_errors
from explainers.comparison.stored_results import StoredResult, read_stored, storable, write_stored
from explainers.datasets.curated_examples import CuratedExample, curated_examples, example_of
from explainers.errors import ExplanationError
from explainers.methods.registry import METHODS

MOST_SHOWN = 10  # differences of one example


def stored_results_command(
    model: Annotated[str, typer.Option(help="Only the examples of this model.")] = "",
    example: Annotated[str, typer.Option(help="Only the example with this title.")] = "",
    narrator: Annotated[
        str, typer.Option(help="Only add the sentence of this narrator to what is stored, or replace it there.")
    ] = "",
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a stored result is missing or differs.")
    ] = False,
) -> None:
    """Compute the curated examples with the default methods and settings, and store them in assets/results."""
    with user_errors():
        differing = False
        for curated in chosen(model, example):
            started = time.perf_counter()
            stored = with_narrator(curated, narrator) if narrator else computed(curated)
            seconds = f"{time.perf_counter() - started:.1f} s"
            if check:
                lines = list(changes(curated, stored))
                differing = differing or bool(lines)
                show_progress(f"{'differs' if lines else 'equal'}: {curated.model}, {curated.title} ({seconds})")
                for line in lines[:MOST_SHOWN]:
                    typer.echo(f"  {line}")
            else:
                show_progress(f"written: {write_stored(curated, stored)} ({seconds})")
        if differing:
            typer.echo("Run `python -m explainers study stored-results`.", err=True)
            raise typer.Exit(1)


def chosen(model: str, title: str) -> "list[CuratedExample]":
    """Raises `ExplanationError` where there is no such example."""
    examples = [
        example
        for example in curated_examples()
        if model in ("", example.model) and title in ("", example.title) and (model or is_here(example.model))
    ]
    if not examples:
        titles = ", ".join(repr(example.title) for example in curated_examples() if model in ("", example.model))
        raise ExplanationError(f"There is no such example. Choose one of: {titles or 'those of another model'}.")
    return examples


def is_here(model: str) -> bool:
    """Return whether a model of a curated example can be loaded: what stands on SmolLM2 needs it in the store."""
    from explainers.models.bundle_cards import bundle_names
    from explainers.models.smollm2 import version_on_card

    return model in bundle_names() or bool(version_on_card(model))


def computed(curated: "CuratedExample", methods: "Sequence[str] | None" = None) -> "StoredResult":
    """The comparison by the default methods and all narrators, or only by these, on the CPU; with the duel
    that the page opens on."""
    from explainers.api import compare
    from explainers.comparison.duel import separable_duel
    from explainers.datasets.example import Example
    from explainers.metrics.erasure import MaskedPredictor
    from explainers.models.calls import PredictionCache
    from explainers.models.catalog import load
    from explainers.results.decision import Settings

    known = example_of(curated)
    given = Example(known.text, known.pair, image=known.image)
    model = load(curated.model, device="cpu").pooled(PredictionCache())
    settings = Settings(erasure=model.default_erasure)
    comparison = compare(model, given, methods, label=None, settings=settings)
    fought = separable_duel(comparison, MaskedPredictor(model, comparison.decision.encoding, settings.erasure))
    return storable(curated, replace(comparison, duels=() if fought is None else (fought,)))


def with_narrator(curated: "CuratedExample", narrator: str) -> "StoredResult":
    """What is stored of the example, with a new sentence of the narrator and its checks. Raises `ExplanationError`
    where nothing is stored for the model as it is, or the narrator fails."""
    from explainers.comparison.decision import checked_encoding
    from explainers.comparison.runner import check, run_narrators
    from explainers.methods.narrator_specs import NARRATORS
    from explainers.metrics.erasure import MaskedPredictor
    from explainers.models.catalog import load
    from explainers.results.events import Failure, Narrative, NarrativeCheck

    stored, model = read_stored(curated), load(curated.model, device="cpu")
    if stored is None or stored.card.version != model.version:
        raise ExplanationError(f"Nothing is stored of {curated.title!r} for this model. Omit --narrator.")
    comparison, settings = stored.comparison, stored.comparison.decision.settings
    encoding = checked_encoding(model, example_of(curated), settings)
    answers = MaskedPredictor(model, encoding, settings.erasure)
    (event,) = run_narrators(model, replace(comparison.decision, encoding=encoding), (narrator,))
    if isinstance(event, Failure):
        raise ExplanationError(f"{narrator} has no sentence for {curated.title!r}. {event.reason}")
    assert isinstance(event, Narrative)  # nothing is postponed without a budget
    others = replace(
        comparison,
        narratives=tuple(one for one in comparison.narratives if one.method != narrator),
        narrative_checks=tuple(one for one in comparison.narrative_checks if one.method != narrator),
    )
    new = others.with_event(event).with_event(check(event, answers, settings.seed))

    def place(one: Narrative | NarrativeCheck) -> int:
        return NARRATORS.ids.index(one.method)

    in_order = replace(
        new,
        narratives=tuple(sorted(new.narratives, key=place)),
        narrative_checks=tuple(sorted(new.narrative_checks, key=place)),
    )
    return storable(curated, in_order)


def changes(curated: "CuratedExample", new: "StoredResult") -> Iterator[str]:
    """Sentences about what differs between the stored result and a new one."""
    old = read_stored(curated)
    if old is None:
        yield "nothing is stored"
    else:
        yield from differences(old, new)


NUMBERS = 5e-4  # of the larger of 1 and the number
SEARCHED = 0.1
FREE = {"seconds", "sha256", "device", "crosslight", "python", "libraries"}  # differs between machines
FREE |= {"new_calls"}  # differs with what was asked before
FREE_IF_SEARCHED = FREE | {"curves", "model_calls"}


def differences(old: StoredResult, new: StoredResult) -> Iterator[str]:
    """Sentences, each with the path to the value."""
    searched = {spec.id for spec in METHODS if spec.optimised}
    yield from _differences(old.as_dict(), new.as_dict(), searched, NUMBERS, "")


def _differences(old: Any, new: Any, searched: set[str], within: float, at: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        within = SEARCHED if _method(old) in searched else within
        free = FREE_IF_SEARCHED if within == SEARCHED else FREE
        if set(old) - free != set(new) - free:
            yield f"{at}: the names {', '.join(old)} became {', '.join(new)}"
            return
        for name in (name for name in old if name not in free):
            bound = SEARCHED if name in searched else within
            yield from _differences(old[name], new[name], searched, bound, f"{at}/{name}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{at}: {len(old)} values became {len(new)}"
            return
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, searched, within, f"{at}/{number}")
    elif not same(old, new, within):
        yield f"{at}: {old!r} became {new!r}"


def _method(values: dict[str, Any]) -> object:
    """The method whose result these are."""
    return values.get("attribution", values).get("method")


def same(old: Any, new: Any, within: float) -> bool:
    """Equal, or for numbers within that part of the larger of 1 and the old one.

    Whole numbers are equal or not, but may stand for floats: `as_dict` drops the point of 1.0.
    """
    numbers = (int, float)
    if isinstance(old, bool) or isinstance(new, bool) or not isinstance(old, numbers) or not isinstance(new, numbers):
        return type(old) is type(new) and bool(old == new)
    if isinstance(old, int) and isinstance(new, int):
        return old == new
    return abs(old - new) <= within * max(1, abs(old))
