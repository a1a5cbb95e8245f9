"""`python -m explainers study simulatability`: whether explanations help a student to learn what the model answers."""

from pathlib import Path
from typing import Annotated

import typer

from explainers.commands.options import (
    AsJson,
    DeviceName,
    ExplainedUnder,
    InputCount,
    ModelName,
    QuickMethods,
    Samples,
    SamplingName,
    Seed,
    SplitName,
    Steps,
    UnitName,
    UnseenData,
    Yes,
    downloads,
    show_progress,
    split_ids,
    user_errors,
)
from explainers.results.settings import EVALUATED_SAMPLING


def simulatability_command(
    model: ModelName = "sst2",
    data: UnseenData = None,
    split: SplitName = "test",
    n: InputCount = 0,
    methods: QuickMethods = "",
    erasure: ExplainedUnder = "mask",
    unit: UnitName = "word",
    samples: Samples = 500,
    sampling: SamplingName = EVALUATED_SAMPLING,
    steps: Steps = 50,
    seed: Seed = 0,
    shown: Annotated[int, typer.Option(min=1, help="Inputs from which a student learns.")] = 30,
    students: Annotated[int, typer.Option(min=1, help="Students, each with inputs of its own.")] = 10,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("runs/simulatability"),
    device: DeviceName = "auto",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Measure SIM of every method: does a student who is told its explanations answer as the model more often?"""
    with user_errors(), downloads(yes=yes):
        from explainers.evaluation.data_set import explained_set
        from explainers.learned.student import unit_states
        from explainers.report.quantities import SIMULATABILITY
        from explainers.results.manifest import strict_json
        from explainers.results.settings import checked_settings
        from explainers.studies.simulatability.measure import simulatability_rows
        from explainers.studies.simulatability.table import simulatability_markdown

        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        ids = tuple(filter(None, split_ids(methods)))
        command = f"simulatability --shown {shown} --students {students}"
        explained = explained_set(command, model, data, split, n, ids, settings, device)
        rows = simulatability_rows(
            explained.model,
            explained.inputs,
            explained.specs,
            settings,
            unit_states(),
            shown=shown,
            students=students,
            progress=show_progress,
        )
        table = {**explained.record, "shown": shown, "students": students, "rows": rows}
        out.mkdir(parents=True, exist_ok=True)
        (out / SIMULATABILITY).write_text(strict_json(table) + "\n", encoding="utf-8")
        typer.echo(strict_json(table) if json_ else simulatability_markdown(table))
