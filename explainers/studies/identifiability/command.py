"""`python -m explainers study identifiability`: the synthetic experiment of the CIEM paper."""

import json
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import user_errors


def identifiability_command(
    seeds: Annotated[int, typer.Option(help="Seeds, each with its own data and networks.")] = 5,
    out: Annotated[Path, typer.Option(help="Folder for result.json and the plot.")] = Path("runs/identifiability"),
) -> None:
    """Test whether CIEM recovers true latent variables, on synthetic data (App. E.5) and against a plain VAE."""
    with user_errors():
        from explainers.studies.identifiability.measure import report

        typer.echo(json.dumps(report(seeds, out)["means"], indent=2))
