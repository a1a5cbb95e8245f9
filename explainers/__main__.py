"""`python -m explainers`."""

from explainers.commands.app import app

app(prog_name="python -m explainers")
