"""`python -m explainers study planted-measure` and `planted-table`: explanations of planted shortcuts."""

import json
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import show_progress, split_ids, user_errors
from explainers.errors import ExplanationError

MODELS = ("sst2", "nli")


def planted_measure_command(
    data: Annotated[Path, typer.Option(help="The folder with the folders of the data sets.")],
    folder: Annotated[Path, typer.Option(help="Folder for models and rows; an interrupted run goes on.")] = Path(
        "runs/planted"
    ),
    inputs: Annotated[int, typer.Option(min=1, help="Inputs of each planted model.")] = 130,
    models: Annotated[str, typer.Option(help="Embedded models, separated by commas.")] = ",".join(MODELS),
    seeds: Annotated[
        str, typer.Option(help="Seeds of the planted models of each, separated by commas; rows of others stay.")
    ] = "0,1",
    fitted: Annotated[int, typer.Option(min=0, help="Of how many of them the learned methods are fitted to each.")] = 2,
    scenes: Annotated[int, typer.Option(min=0, help="Scenes to explain.")] = 100,
) -> None:
    """Train planted models, fit the learned methods to them, and explain inputs whose truth is known."""
    with user_errors():
        from explainers.studies.planted.run import measure_planted, measure_scenes
        from explainers.studies.planted.shortcuts import WORDS

        chosen, numbers = split_ids(models), split_ids(seeds)
        if unknown := [name for name in chosen if name not in MODELS]:
            raise ExplanationError(f"Nothing is planted into {unknown[0]!r}. Choose from: {', '.join(MODELS)}.")
        possible = [str(seed) for seed in range(len(WORDS))]
        if unknown := [number for number in numbers if number not in possible]:
            choice = ", ".join(possible)
            raise ExplanationError(f"There are no words for the seed {unknown[0]!r}. Choose from: {choice}.")
        measure_planted(chosen, [int(number) for number in numbers], inputs, data, folder, show_progress, fitted=fitted)
        measure_scenes(scenes, folder, show_progress)


def planted_table_command(
    out: Annotated[Path, typer.Option(help="The document to write.")] = Path("assets/docs/planted.md"),
    games: Annotated[int, typer.Option(min=1, help="Models whose answers are random numbers.")] = 150,
) -> None:
    """Write the document and assets/confidence.json from the stored rows."""
    with user_errors():
        from explainers.comparison.answer import CONFIDENCE
        from explainers.studies.planted.run import planted_results
        from explainers.studies.planted.table import DIAGRAM, reliability_figure

        document, content, checked = planted_results(games)
        out.write_text(document, encoding="utf-8")
        reliability_figure(checked.bins).savefig(out.with_name(DIAGRAM), dpi=110, metadata={"Software": None})
        CONFIDENCE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        typer.echo(document)
