"""`python -m explainers study published-metrics`: every method by three papers' own faithfulness metrics."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from explainers.report.evaluation_tables import METHOD
from explainers.report.papers.table import DEFINITIONS
from explainers.report.tables import Table, TableColumn, plus_minus
from explainers.results.settings import EVALUATED_SAMPLING

if TYPE_CHECKING:
    from explainers.report.papers.definitions import PublishedMetric


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
    yes: Yes = False,
    json_: AsJson = False,
) -> None:
    """Measure every method by the COMP and SUFF of AML, CIMI and CIEM, each as its authors define them."""
    with user_errors(), downloads(yes=yes):
        from explainers.evaluation.data_set import explained_set
        from explainers.results.manifest import strict_json
        from explainers.results.settings import checked_settings
        from explainers.studies.published_metrics.measure import published_rows

        settings = checked_settings(unit, erasure, samples, steps, seed, sampling)
        ids = tuple(filter(None, split_ids(methods)))
        explained = explained_set("published-metrics", model, data, split, n, ids, settings, device)
        rows = published_rows(explained.model, explained.inputs, explained.specs, settings, show_progress)
        table = {**explained.record, "rows": rows}
        out.mkdir(parents=True, exist_ok=True)
        (out / PUBLISHED_METRICS).write_text(strict_json(table) + "\n", encoding="utf-8")
        typer.echo(strict_json(table) if json_ else published_markdown(table))


PUBLISHED_METRICS = "published_metrics.json"  # in a bundle's folder and in that of a run


def published_markdown(table: Mapping[str, Any]) -> str:
    """The means by method, what each metric is, and its source."""
    from explainers.report.papers.definitions import PUBLISHED

    known = [metric for metric in PUBLISHED if any(metric.id in row.get("metrics", {}) for row in table["rows"])]
    means = Table((METHOD, *map(_mean, known), TableColumn("inputs", _inputs)))
    return "\n\n".join([means.markdown(table["rows"]), DEFINITIONS.markdown(known)])


def _mean(metric: "PublishedMetric") -> TableColumn[Mapping[str, Any]]:
    arrow = "↑" if metric.higher_is_better else "↓"
    return TableColumn(f"{metric.name} {arrow}", lambda row: row.get("metrics", {}).get(metric.id), plus_minus())


def _inputs(row: Mapping[str, Any]) -> str:
    return f"{row['inputs']:,}" if "metrics" in row else f"failed: {row['reason']}"
