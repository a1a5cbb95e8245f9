"""`python -m explainers cards`: the model cards of the bundles."""

from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import user_errors
from explainers.models.bundle_cards import BUNDLES


def cards_command(
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit with 1 if a card differs.")] = False,
    bundles: Annotated[Path, typer.Option(help="The folder of the bundles.", show_default="assets/bundles")] = BUNDLES,
) -> None:
    """Write the model cards assets/bundles/NAME/README.md and assets/docs/measurements.md from the JSON files of the
    other commands."""
    with user_errors():
        from explainers.report.measurements import DOCUMENT, measurements_differ, write_measurements
        from explainers.report.model_card import differing_model_cards, write_model_cards

        paths = differing_model_cards(bundles) if check else write_model_cards(bundles)
        if bundles == BUNDLES and (measurements_differ() if check else write_measurements()):
            paths = (*paths, DOCUMENT)
        for path in paths:
            typer.echo(f"{'differs' if check else 'written'}: {path}")
        if check and paths:
            typer.echo("Run `python -m explainers cards`.", err=True)
            raise typer.Exit(1)
