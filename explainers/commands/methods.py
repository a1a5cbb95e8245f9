"""`python -m explainers methods`: which methods and narrators there are."""

import typer

from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS


def methods_command() -> None:
    """List the methods and the narrators with their ids."""
    lines = [(spec.id, spec.name, spec.idea) for spec in METHODS]
    lines += [(spec.id, spec.name, spec.idea) for spec in NARRATORS]
    for id, name, idea in lines:
        typer.echo(f"{id:22} {name:24} {idea}")
