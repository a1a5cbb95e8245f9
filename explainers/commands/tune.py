"""`python -m explainers tune`: AML's loss weights."""

import json
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import DeviceName, FitData, ModelName, Seed, user_errors


def tune_command(
    model: ModelName = "sst2",
    data: FitData = None,
    trials: Annotated[int, typer.Option(min=1, help="Settings to try.")] = 10,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="File for the trials, a line of JSON each.")] = Path("runs/tune-aml.jsonl"),
    device: DeviceName = "auto",
) -> None:
    """Search AML's loss weights λ on validation texts, for every selection criterion at once."""
    with user_errors():
        from explainers.learned.batches import encode_for_learning
        from explainers.learned.fit import read_examples
        from explainers.learned.tuning import search
        from explainers.models.catalog import load

        frozen = load(model, device=device)
        training, validation = (encode_for_learning(frozen, part) for part in read_examples(model, data, seed))
        results = search(frozen, training, validation, trials=trials, seed=seed, log=out)
        typer.echo(json.dumps(results, indent=2))
