"""`python -m explainers`."""

from explainers.cli import app

app(prog_name="python -m explainers")
