"""Plausibility as a table in Markdown: each metric beside what chance would reach on the same items."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from explainers.evaluation.names import CONTROLS, POSITION
from explainers.methods.registry import method_spec
from explainers.metrics.plausibility import PLAUSIBILITY
from explainers.report.markdown_table import command_block, markdown_table

PLAUSIBILITY_FILE = "plausibility.json"  # in a bundle's folder and in that of a run
TABLE_FILE = "plausibility.md"
PLAUSIBILITY_NOTE = (
    "Means with half of the 95 % bootstrap interval over items; in brackets what a random order is expected to reach "
    "on the same items. ° not clearly better than that, by the paired interval of the difference. Agreement with "
    "people does not mean that a method shows what the model used."
)
ABOUT = (
    "`{name}`: {items:,} items, of which {right:,} are classified correctly, and {counted:,} of these have marks in "
    "what the model reads: {units:.0f} units on average, {share:.0f} % of them marked. {cut:,} of the {counted:,} are "
    "longer than that, and only the units that the model reads count. Methods explain the predicted class; those that "
    "ask the model more than 10 times per item explain fewer items (LIME and KernelSHAP with {samples} samples, "
    "integrated gradients with {steps} steps)."
)


def plausibility_markdown(table: Mapping[str, Any]) -> str:
    """A sentence about the items, the table, and how to read it."""
    data = table["data"]
    about = ABOUT.format(**data, **table["settings"], share=100 * data["marked"])
    rows = sorted(table["rows"], key=lambda row: row["method"] == POSITION)  # the control last
    return "\n\n".join([about, markdown_table([plausibility_cells(row) for row in rows]), PLAUSIBILITY_NOTE])


def plausibility_section(path: Path) -> Iterator[str]:
    """Of a model card: the command and the table; nothing where the file is missing."""
    if path.is_file():
        table = json.loads(path.read_text(encoding="utf-8"))
        yield "## Plausibility"
        yield command_block(table["command"])
        yield plausibility_markdown(table)


def plausibility_cells(row: Mapping[str, Any]) -> dict[str, str]:
    """The cells of one method by column."""
    method = row["method"]
    cells = {"method": CONTROLS[POSITION] if method == POSITION else method_spec(method).display_name}
    for metric in PLAUSIBILITY:
        interval = row[metric.id]
        better = row[f"{metric.id}_gain"]["low"] > 0
        half = (interval["high"] - interval["low"]) / 2
        value = f"{interval['mean']:.3f} ± {half:.3f}{'' if better else '°'}"
        cells[f"{metric.name} ↑"] = f"{value} ({row[f'{metric.id}_chance']:.3f})"
    return {**cells, "items": f"{row['items']:,}", "seconds": f"{row['seconds']:.2f}"}
