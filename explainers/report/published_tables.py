"""The metrics of the papers as published, as a table in Markdown."""

from collections.abc import Mapping
from typing import Any

from explainers.metrics.published import PUBLISHED
from explainers.report.evaluation_tables import row_name
from explainers.report.markdown_table import markdown_table

PUBLISHED_METRICS = "published_metrics.json"  # in a bundle's folder and in that of a run


def published_markdown(table: Mapping[str, Any]) -> str:
    """The means by method, what each metric is, and its source."""
    known = {id for row in table["rows"] for id in row.get("metrics", {})}
    notes = [
        {"metric": each.name, "operator": f"`{each.erasure}`", "definition": each.meaning, "source": each.source}
        for each in PUBLISHED
        if each.id in known
    ]
    return "\n\n".join([markdown_table([_cells(row) for row in table["rows"]]), markdown_table(notes)])


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    cells = {"method": row_name(row["method"])}
    if "metrics" not in row:
        return cells | {"inputs": f"failed: {row['reason']}"}
    for metric in PUBLISHED:
        if metric.id in row["metrics"]:
            value = row["metrics"][metric.id]
            half = (value["high"] - value["low"]) / 2
            cells[f"{metric.name} {'↑' if metric.higher_is_better else '↓'}"] = f"{value['mean']:.3f} ± {half:.3f}"
    return cells | {"inputs": f"{row['inputs']:,}"}
