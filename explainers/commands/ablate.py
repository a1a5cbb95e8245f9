"""`python -m explainers ablate`: the ablation of a paper on our model."""

import json
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import DeviceName, FitData, ModelName, parse_settings, user_errors

VALIDATION_TEXTS = 100


def ablate_command(
    method: Annotated[str, typer.Argument(help="aml, cimi, ciem or ivra.")],
    model: ModelName = "sst2",
    data: FitData = None,
    texts: Annotated[int, typer.Option(help="Texts to learn from.")] = 300,
    epochs: Annotated[int, typer.Option(help="Epochs of each short training.")] = 2,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A hyperparameter of all parts: name=value.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for logs and the table.")] = Path("runs/ablations"),
    device: DeviceName = "auto",
) -> None:
    """Repeat the paper's ablation of a method in short trainings, and print the table."""
    with user_errors():
        from explainers.learned import ablation
        from explainers.learned.batches import encode_for_learning
        from explainers.learned.fit import read_examples
        from explainers.models.catalog import load

        frozen, settings = load(model, device=device), {"epochs": epochs, **dict(parse_settings(set_))}
        training, validation = (encode_for_learning(frozen, part) for part in read_examples(model, data, 0))
        parts = ablation.ablate(method, frozen, training[:texts], validation[:VALIDATION_TEXTS], out, settings)
        results = list(parts)
        (out / f"{method}.json").write_text(
            json.dumps(ablation.ablation_records(results), indent=2) + "\n", encoding="utf-8"
        )
        typer.echo(ablation.ablation_markdown(method, results))
