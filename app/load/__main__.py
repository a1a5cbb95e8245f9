"""`python -m app.load`: the load test."""

import typer

from app.load.command import load_command

typer.run(load_command)
