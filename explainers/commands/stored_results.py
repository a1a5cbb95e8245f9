"""`python -m explainers stored-results`: the comparisons of the curated examples that come with the project."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from explainers.commands.options import show_progress, user_errors
from explainers.errors import ExplanationError

if TYPE_CHECKING:
    from explainers.comparison.stored_results import StoredResult
    from explainers.datasets.curated_examples import CuratedExample

MOST_SHOWN = 10  # differences of one example


def stored_results_command(
    model: Annotated[str, typer.Option(help="Only the examples of this bundle.")] = "",
    example: Annotated[str, typer.Option(help="Only the example with this title.")] = "",
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a stored result is missing or differs.")
    ] = False,
) -> None:
    """Compute the curated examples with the default methods and settings, and store them in assets/results."""
    with user_errors():
        differing = False
        for curated in chosen(model, example):
            started = time.perf_counter()
            stored = computed(curated)
            seconds = f"{time.perf_counter() - started:.1f} s"
            if check:
                lines = list(changes(curated, stored))
                differing = differing or bool(lines)
                show_progress(f"{'differs' if lines else 'equal'}: {curated.model}, {curated.title} ({seconds})")
                for line in lines[:MOST_SHOWN]:
                    typer.echo(f"  {line}")
            else:
                from explainers.comparison.stored_results import write_stored

                show_progress(f"written: {write_stored(curated, stored)} ({seconds})")
        if differing:
            typer.echo("Run `python -m explainers stored-results`.", err=True)
            raise typer.Exit(1)


def chosen(model: str, title: str) -> "list[CuratedExample]":
    """Raises `ExplanationError` where there is no such example."""
    from explainers.datasets.curated_examples import curated_examples

    examples = [each for each in curated_examples() if model in ("", each.model) and title in ("", each.title)]
    if not examples:
        titles = ", ".join(repr(each.title) for each in curated_examples() if model in ("", each.model))
        raise ExplanationError(f"There is no such example. Choose one of: {titles or 'those of another model'}.")
    return examples


def computed(curated: "CuratedExample", methods: "Sequence[str] | None" = None) -> "StoredResult":
    """The comparison by the default methods and all narrators, or only by these, on the CPU; with the duel of the best
    method and the one that disagrees most with it."""
    from explainers.api import compare
    from explainers.comparison.duel import duel
    from explainers.comparison.stored_results import storable
    from explainers.datasets.curated_examples import example_of
    from explainers.datasets.example import Example
    from explainers.models.catalog import load
    from explainers.results.settings import Settings

    known = example_of(curated)
    given = Example(known.text, known.pair, image=known.image)
    comparison = compare(load(curated.model, device="cpu"), given, methods, label=None, settings=Settings())
    verdict = comparison.verdict
    if verdict is not None and verdict.best and verdict.dissenter is not None:
        fought = duel(comparison, (verdict.best[0], verdict.dissenter))
        comparison = replace(comparison, duels=() if fought is None else (fought,))
    return storable(curated, comparison)


def changes(curated: "CuratedExample", new: "StoredResult") -> Iterator[str]:
    """Sentences about what differs between the stored result and a new one."""
    from explainers.comparison.stored_differences import differences
    from explainers.comparison.stored_results import read_stored

    old = read_stored(curated)
    if old is None:
        yield "nothing is stored"
    else:
        yield from differences(old, new)
