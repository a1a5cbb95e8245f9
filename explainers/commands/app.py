"""The command line `python -m explainers …`: which commands there are. torch is imported when a command runs."""

from collections.abc import Callable
from typing import Annotated

import typer

from explainers.commands.ablate import ablate_command
from explainers.commands.bench import bench_command
from explainers.commands.cards import cards_command
from explainers.commands.consistency import consistency_command
from explainers.commands.evaluate import evaluate_command
from explainers.commands.explain import explain_command
from explainers.commands.fit import fit_command
from explainers.commands.get import get_command
from explainers.commands.identifiability import identifiability_command
from explainers.commands.methods import methods_command
from explainers.commands.narratives import narratives_command
from explainers.commands.plausibility import plausibility_command
from explainers.commands.published_metrics import published_metrics_command
from explainers.commands.simulatability import simulatability_command
from explainers.commands.stored_results import stored_results_command
from explainers.commands.study import study
from explainers.commands.train_head import train_head_command
from explainers.commands.train_model import train_model_command
from explainers.commands.tune import tune_command
from explainers.commands.verdicts import verdicts_command

ABOUT = "Explanations of frozen Transformer classifiers side by side, and how far each can be trusted."
COMMANDS: dict[str, Callable[..., None]] = {
    "explain": explain_command,
    "methods": methods_command,
    "train-model": train_model_command,
    "train-head": train_head_command,
    "fit": fit_command,
    "get": get_command,
    "tune": tune_command,
    "ablate": ablate_command,
    "identifiability": identifiability_command,
    "evaluate": evaluate_command,
    "published-metrics": published_metrics_command,
    "consistency": consistency_command,
    "simulatability": simulatability_command,
    "verdicts": verdicts_command,
    "plausibility": plausibility_command,
    "narratives": narratives_command,
    "bench": bench_command,
    "cards": cards_command,
    "stored-results": stored_results_command,
}

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help=ABOUT)
for name, command in COMMANDS.items():
    app.command(name)(command)
app.add_typer(study, name="study")


def print_version(requested: bool) -> None:
    if requested:
        from explainers.results.manifest import VERSION

        typer.echo(f"crosslight {VERSION}")
        raise typer.Exit


@app.callback(help=ABOUT)
def global_options(
    _version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...
