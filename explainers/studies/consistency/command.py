"""`python -m explainers study consistency`: whether inputs that the model represents alike are explained alike."""

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


def consistency_command(
    model: ModelName = "sst2",
    data: UnseenData = None,
    split: SplitName = "test",
    n: InputCount = 150,
    methods: QuickMethods = "",
    erasure: ExplainedUnder = "mask",
    unit: UnitName = "word",
    samples: Samples = 500,
    sampling: SamplingName = EVALUATED_SAMPLING,
    steps: Steps = 50,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("runs/consistency"),
    device: DeviceName = "auto",
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Measure CONS of every method: are inputs that the model represents alike explained alike?"""
    with user_errors(), downloads(yes=yes):
        from explainers.evaluation.data_set import explained_set
        from explainers.report.quantities import CONSISTENCY
        from explainers.results.manifest import strict_json
        from explainers.results.settings import checked_settings
        from explainers.studies.consistency.measure import consistency_markdown, consistency_rows

        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        ids = tuple(filter(None, split_ids(methods)))
        explained = explained_set("consistency", model, data, split, n, ids, settings, device)
        rows = consistency_rows(explained.model, explained.inputs, explained.specs, settings, show_progress)
        table = {**explained.record, "rows": rows}
        out.mkdir(parents=True, exist_ok=True)
        (out / CONSISTENCY).write_text(strict_json(table) + "\n", encoding="utf-8")
        typer.echo(strict_json(table) if json_ else consistency_markdown(table))
