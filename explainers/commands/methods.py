"""`python -m explainers methods`: which methods there are."""

import typer

from explainers.methods.registry import METHODS


def methods_command() -> None:
    """List the methods with their ids."""
    for spec in METHODS:
        typer.echo(f"{spec.id:22} {spec.name:24} {spec.idea}")
