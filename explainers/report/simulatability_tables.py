"""SIM as a table in Markdown."""

from collections.abc import Mapping
from typing import Any

from explainers.evaluation.names import NO_EXPLANATION, RANDOM, UNIFORM
from explainers.report.evaluation_tables import row_name
from explainers.report.markdown_table import as_percent, markdown_table

SIMULATABILITY = "simulatability.json"  # in a bundle's folder and in that of a run
NAMES = {
    RANDOM: "Random, one order per input",
    UNIFORM: "The same score for every unit",
    NO_EXPLANATION: "No explanation",
}
NOTE = (
    "SIM (Xie et al., 2024, Eq. 6-7): a small student learns the model's predictions from a few inputs, with the "
    "explanation as the target of its attention, and is asked about others without explanations. Accuracy: how often "
    "it then answers as the model, mean over the students. SIM: accuracy minus that of the same students without "
    "explanations, in percentage points; brackets hold the 95 % bootstrap interval over the held-out inputs. "
    "° not clearly above 0."
)


def simulatability_markdown(table: Mapping[str, Any]) -> str:
    """The table, the highest accuracy first, and how to read it."""
    rows = sorted(table["rows"], key=lambda row: -row.get("accuracy", -1.0))
    return "\n\n".join([markdown_table([_cells(row) for row in rows]), NOTE])


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    name = NAMES.get(row["method"]) or row_name(row["method"])
    if "accuracy" not in row:
        return {"method": name, "accuracy ↑": f"undefined: {row['reason']}", "SIM ↑": "", "students": ""}
    return {
        "method": name,
        "accuracy ↑": as_percent(row["accuracy"]),
        "SIM ↑": _gain(row["sim"]) if row["sim"] else "",
        "students": ", ".join(as_percent(each) for each in row["students"]),
    }


def _gain(sim: Mapping[str, float]) -> str:
    clear = "" if sim["low"] > 0 else "°"
    return f"{100 * sim['mean']:+.1f}{clear} [{100 * sim['low']:+.1f}, {100 * sim['high']:+.1f}]"
