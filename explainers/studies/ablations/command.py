"""`python -m explainers study ablate`: the ablation of a paper on our model."""

import json
from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import DeviceName, FitData, ModelName, Yes, downloads, parse_settings, user_errors

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
        from explainers.studies.ablations import measure
        from explainers.studies.ablations.measure import ablation_markdown

        changed = dict(parse_settings(set_))
        measure.checked(method, changed)  # before data are fetched
        frozen, plan = load(model, device=device), measure.AblationPlan(steps, seeds, sensitive)
        training, validation = (encode_for_learning(frozen, part) for part in read_examples(model, data, 0))
        some, watched = training[: texts or None], validation[:VALIDATION_TEXTS]
        results: list[measure.Ablated] = []
        for row in measure.ablate(method, frozen, some, watched, out, changed, plan):
            results.append(row)
            typer.echo(f"{row.part}: measured", err=True)
            records = json.dumps(measure.ablation_records(results), indent=2)
            (out / f"{method}.json").write_text(records + "\n", encoding="utf-8")
        typer.echo(ablation_markdown(method, results))
