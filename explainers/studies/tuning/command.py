"""`python -m explainers study tune`: AML's loss weights."""

from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import (
    AsJson,
    DeviceName,
    FitData,
    ModelName,
    Seed,
    Yes,
    downloads,
    show_progress,
    user_errors,
)


def tune_command(
    model: ModelName = "sst2",
    data: FitData = None,
    trials: Annotated[int, typer.Option(min=1, help="Settings to try besides those of the shipped weights.")] = 20,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder for the table and the log of the trials.")] = Path("runs/tune"),
    device: DeviceName = "auto",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Search AML's loss weights λ on validation texts, for every selection criterion at once."""
    with user_errors(), downloads(yes=yes):
        from explainers.learned.batches import encode_for_learning
        from explainers.learned.fit import read_examples
        from explainers.models.catalog import load
        from explainers.results.manifest import strict_json
        from explainers.studies.tuning.measure import TUNING, search, tuning_markdown

        frozen = load(model, device=device)
        training, validation = (encode_for_learning(frozen, part) for part in read_examples(model, data, seed))
        log = out / "trials.jsonl"
        results = search(frozen, training, validation, trials=trials, seed=seed, log=log, progress=show_progress)
        command = f"python -m explainers study tune --model {model} --trials {trials} --seed {seed}"
        table = {
            "model": {"name": frozen.name, "version": frozen.version},
            "command": command + (" --data DATA" if data else ""),
            **results,
        }
        (out / TUNING).write_text(strict_json(table) + "\n", encoding="utf-8")
        typer.echo(strict_json(table) if json_ else tuning_markdown(table))
