"""`python -m explainers study papers-measure` and `papers-table`: the papers' tables, ours beside theirs."""

from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import Seed, show_progress, user_errors
from explainers.installation import ASSETS


def papers_measure_command(
    name: Annotated[str, typer.Argument(help="The data set, such as clickbait.")],
    data: Annotated[Path, typer.Option(help="The folder with the folders of the data sets.")],
    n: Annotated[int, typer.Option(min=1, help="Number of test inputs, taken at random by the seed.")] = 150,
    seed: Seed = 0,
    folder: Annotated[Path, typer.Option(help="Folder for models and fits; an interrupted run goes on.")] = Path(
        "runs/papers"
    ),
) -> None:
    """Train a classifier on a data set of the papers, fit the methods to it, and measure them as the papers do."""
    with user_errors():
        from explainers.studies.papers.measure import measure_paper_set

        measure_paper_set(name, data, folder, n, seed, show_progress)


def papers_table_command(
    out: Annotated[Path, typer.Option(help="The document to write.")] = ASSETS / "docs" / "papers.md",
) -> None:
    """Write the document of the papers' tables from the stored results."""
    with user_errors():
        from explainers.report.papers.table import papers_document

        document = papers_document()
        out.write_text(document, encoding="utf-8")
        typer.echo(document)
