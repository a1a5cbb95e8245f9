"""`python -m explainers published-metrics`: every method by the faithfulness metrics of three papers as published."""

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
    show_progress,
    split_ids,
    user_errors,
)
from explainers.results.sampling import EVALUATED_SAMPLING


def published_metrics_command(
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
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("runs/published_metrics"),
    device: DeviceName = "auto",
    json_: AsJson = False,
) -> None:
    """Measure every method by the COMP and SUFF of AML, CIMI and CIEM, each as its authors define them."""
    with user_errors():
        from explainers.evaluation.explained_set import explained_set
        from explainers.evaluation.published import published_rows
        from explainers.report.published_tables import PUBLISHED_METRICS, published_markdown
        from explainers.results.settings import checked_settings
        from explainers.results.strict_json import strict_json

        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        ids = tuple(filter(None, split_ids(methods)))
        explained = explained_set("published-metrics", model, data, split, n, ids, settings, device)
        rows = published_rows(explained.model, explained.inputs, explained.specs, settings, show_progress)
        table = {**explained.record, "rows": rows}
        out.mkdir(parents=True, exist_ok=True)
        (out / PUBLISHED_METRICS).write_text(strict_json(table) + "\n", encoding="utf-8")
        typer.echo(strict_json(table) if json_ else published_markdown(table))
