"""`python -m explainers train-model`: the training of an embedded model."""

import json
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import Seed, user_errors


def train_model_command(
    name: Annotated[str, typer.Argument(help="The embedded model to train, such as sst2.")],
    data: Annotated[Path | None, typer.Option(help="Folder with the data; by default the hub.")] = None,
    epochs: Annotated[int | None, typer.Option(help="For text models; by default 3.")] = None,
    steps: Annotated[int | None, typer.Option(help="For models trained on generated data; by default 10,500.")] = None,
    rank: Annotated[int, typer.Option(help="LoRA rank; 0 trains the encoder layers themselves.")] = 0,
    learning_rate: Annotated[float | None, typer.Option(help="By default that of the model's recipe.")] = None,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="Folder of the bundle; by default assets/bundles/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue after the last finished epoch.")] = False,
) -> None:
    """Train an embedded model and write its bundle."""
    with user_errors():
        from explainers.models.task_spec import TrainingOptions
        from explainers.models.tasks import make_bundle

        options = TrainingOptions(data, out, resume, epochs, steps, rank, learning_rate or None, seed)
        typer.echo(json.dumps(make_bundle(name, options), indent=2))
