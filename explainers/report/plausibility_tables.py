"""Plausibility as a table in Markdown: each metric beside what chance would reach on the same items."""

from collections.abc import Mapping
from typing import Any

from explainers.methods.registry import method_spec
from explainers.metrics.plausibility import PLAUSIBILITY
from explainers.report.markdown_table import markdown_table

PLAUSIBILITY_FILE = "plausibility.json"  # in a bundle's folder and in that of a run
TABLE_FILE = "plausibility.md"
POSITION_NAME = "Position only (first words first)"
PLAUSIBILITY_NOTE = (
    "Means with half of the 95 % bootstrap interval over items; in brackets what a random order is expected to reach "
    "on the same items. ° not clearly better than that, by the paired interval of the difference. Agreement with "
    "people does not mean that a method shows what the model used."
)
ABOUT = (
    "`{name}`: {items:,} items, of which {right:,} are classified correctly, and {counted:,} of these have marks in "
    "what the model reads: {units:.0f} units on average, {share:.0f} % of them marked. {cut:,} of the {counted:,} are "
    "longer than that, and only the units that the model reads count. Methods explain the predicted class."
)


def plausibility_markdown(table: Mapping[str, Any]) -> str:
    """A sentence about the items, the table, and how to read it."""
    data = table["data"]
    about = ABOUT.format(**data, share=100 * data["marked"])
    return "\n\n".join([about, markdown_table([plausibility_cells(row) for row in table["rows"]]), PLAUSIBILITY_NOTE])


def plausibility_cells(row: Mapping[str, Any]) -> dict[str, str]:
    """The cells of one method by column."""
    method = row["method"]
    cells = {"method": POSITION_NAME if method == "position" else method_spec(method).display_name}
    for metric in PLAUSIBILITY:
        interval = row[metric.id]
        better = row[f"{metric.id}_gain"]["low"] > 0
        half = (interval["high"] - interval["low"]) / 2
        value = f"{interval['mean']:.3f} ± {half:.3f}{'' if better else '°'}"
        cells[f"{metric.name} ↑"] = f"{value} ({row[f'{metric.id}_chance']:.3f})"
    return {**cells, "items": f"{row['items']:,}", "seconds": f"{row['seconds']:.2f}"}
