"""`python -m explainers study plausibility`: how well the methods agree with people's rationales."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from explainers.commands.options import (
    AsJson,
    DeviceName,
    ExplainedUnder,
    ModelName,
    Samples,
    SamplingName,
    Seed,
    Steps,
    UnitName,
    Yes,
    downloads,
    show_progress,
    split_ids,
    user_errors,
)

if TYPE_CHECKING:
    from explainers.models.frozen_model import FrozenModel
    from explainers.results.settings import Settings
    from explainers.studies.plausibility.measure import Measured


DEFAULT_METHODS = "aml,cimi,ciem,ivra,gradient_x_input,integrated_gradients,occlusion,lime,kernel_shap"


def plausibility_command(
    data: Annotated[
        Path, typer.Option(help="The unpacked folder of an ERASER data set, or a .csv, .jsonl or .parquet of items.")
    ],
    model: ModelName = "sst2",
    split: Annotated[str, typer.Option(help="train, val or test of an ERASER data set.")] = "test",
    n: Annotated[int, typer.Option(min=0, help="Number of items, taken at random by the seed; 0 takes all.")] = 0,
    methods: Annotated[str, typer.Option(help="Method ids, separated by commas.")] = DEFAULT_METHODS,
    costly: Annotated[
        int, typer.Option(min=0, help="Number of items for methods that ask the model more than 10 times per item.")
    ] = 20,
    erasure: ExplainedUnder = "mask",
    unit: UnitName = "word",
    samples: Samples = 500,
    sampling: SamplingName = "shared",
    steps: Steps = 50,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder for the results; an interrupted run continues.")] = Path(
        "runs/plausibility"
    ),
    device: DeviceName = "auto",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Measure how well each method agrees with human rationales, beside what chance would reach."""
    with user_errors(), downloads(yes=yes):
        from explainers.annotations.formats.items_file import read_items
        from explainers.methods.registry import select
        from explainers.models.catalog import load
        from explainers.results.manifest import strict_json
        from explainers.results.settings import checked_settings
        from explainers.studies.plausibility.measure import (
            PLAUSIBILITY_FILE,
            TABLE_FILE,
            PlausibilityPlan,
            measure_plausibility,
            plausibility_markdown,
        )
        from explainers.training.artifacts import check_fitted

        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        specs = select(split_ids(methods))
        frozen = load(model, device=device)
        check_fitted(frozen.name, frozen.version, specs)
        imported = read_items(data, split, frozen.labels)
        for problem in imported.problems():
            show_progress(problem)
        items = imported.sample(n, seed)
        measured = measure_plausibility(frozen, items, PlausibilityPlan(specs, settings, costly), out, show_progress)
        command = command_line(model, split, n, methods, costly, settings)
        table = plausibility_table(frozen, measured, settings, command, f"{data.name} {split}", len(items))
        (out / PLAUSIBILITY_FILE).write_text(strict_json(table) + "\n", encoding="utf-8")
        markdown = plausibility_markdown(table)
        (out / TABLE_FILE).write_text(markdown + "\n", encoding="utf-8")
        typer.echo(strict_json(table) if json_ else markdown)


def command_line(model: str, split: str, n: int, methods: str, costly: int, settings: "Settings") -> str:
    """What to type to repeat it, on one line."""
    words = ["python -m explainers study plausibility --data DIR", f"--model {model} --split {split} --n {n}"]
    words += [f"--methods {methods}"] if methods != DEFAULT_METHODS else []
    words += [f"--costly {costly} --samples {settings.samples} --sampling {settings.sampling} --steps {settings.steps}"]
    words += [f"--erasure {settings.erasure}"] if settings.erasure != "mask" else []
    words += [f"--unit {settings.unit}"] if settings.unit != "word" else []
    return " ".join([*words, f"--seed {settings.seed}"])


def plausibility_table(
    model: "FrozenModel", measured: "Measured", settings: "Settings", command: str, data: str, items: int
) -> dict[str, Any]:
    """Everything but the data's texts."""

    from explainers.results.manifest import libraries
    from explainers.studies.plausibility.measure import plausibility_rows

    about = {name: getattr(measured, name) for name in ("right", "counted", "cut", "units", "marked")}
    return {
        "model": {"name": model.name, "version": model.version},
        "data": {"name": data, "items": items, **about},
        "settings": settings.as_dict(),
        "command": command,
        "libraries": libraries(),
        "rows": plausibility_rows(measured.records),
    }
