"""The studies of learned methods: the papers' ablations, AML's loss weights, fAML at equal passes, CIEM's claim."""

import json
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
    parse_settings,
    show_progress,
    user_errors,
)

VALIDATION_TEXTS = 100


def ablate_command(
    method: Annotated[str, typer.Argument(help="aml, cimi, ciem or ivra.")],
    model: ModelName = "sst2",
    data: FitData = None,
    texts: Annotated[int, typer.Option(help="Texts to learn from; 0 takes all.", min=0)] = 0,
    steps: Annotated[int, typer.Option(help="Steps of each training, rounded up to whole epochs.", min=1)] = 300,
    seeds: Annotated[int, typer.Option(help="Trainings of each part.", min=1)] = 3,
    sensitive: Annotated[int, typer.Option(help="Texts on which AvgSen is measured.", min=0)] = 20,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A hyperparameter of all parts: name=value.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for logs and the table.")] = Path("runs/ablations"),
    device: DeviceName = "auto",
    yes: Yes = False,
) -> None:
    """Repeat the paper's ablation of a method, and print its tables."""
    with user_errors(), downloads(yes=yes):
        from explainers.learned.batches import encode_for_learning
        from explainers.learned.fit import read_examples
        from explainers.models.catalog import load
        from explainers.studies import ablations
        from explainers.studies.ablations import ablation_markdown

        changed = dict(parse_settings(set_))
        ablations.checked(method, changed)  # before data are fetched
        frozen, plan = load(model, device=device), ablations.AblationPlan(steps, seeds, sensitive)
        training, validation = (encode_for_learning(frozen, part) for part in read_examples(model, data, 0))
        some, watched = training[: texts or None], validation[:VALIDATION_TEXTS]
        results: list[ablations.Ablated] = []
        for row in ablations.ablate(method, frozen, some, watched, out, changed, plan):
            results.append(row)
            typer.echo(f"{row.part}: measured", err=True)
            records = json.dumps(ablations.ablation_records(results), indent=2)
            (out / f"{method}.json").write_text(records + "\n", encoding="utf-8")
        typer.echo(ablation_markdown(method, results))


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
        from explainers.studies.tuning import TUNING, search, tuning_markdown

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


def equal_calls_command(
    out: Annotated[Path, typer.Option(help="The document to write.")],
    model: ModelName = "sst2",
    texts: Annotated[int, typer.Option(min=1, help="Number of texts of 9 and more units.")] = 8,
    data: Annotated[Path | None, typer.Option(help="A data set, as for evaluate; by default a few sentences.")] = None,
    yes: Yes = False,
) -> None:
    """Compare fAML with LIME and KernelSHAP at equal passes."""
    with user_errors(), downloads(yes=yes):
        from explainers.studies.equal_calls import write_equal_calls

        typer.echo(write_equal_calls(out, model, texts, data))


def identifiability_command(
    seeds: Annotated[int, typer.Option(help="Seeds, each with its own data and networks.")] = 5,
    out: Annotated[Path, typer.Option(help="Folder for result.json and the plot.")] = Path("runs/identifiability"),
) -> None:
    """Test whether CIEM recovers true latent variables, on synthetic data (App. E.5) and against a plain VAE."""
    with user_errors():
        from explainers.studies.identifiability import report

        typer.echo(json.dumps(report(seeds, out)["means"], indent=2))
