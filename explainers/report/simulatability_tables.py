"""SIM as a table in Markdown."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

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
    "explanations, in percentage points; brackets hold the 95 % bootstrap interval over the held-out inputs, with the "
    "students as they are. Over students: the same difference with its 95 % interval over students (Student's t), "
    "with the "
    "inputs as they are. ° not clearly above 0."
)


def simulatability_markdown(table: Mapping[str, Any]) -> str:
    """The table, the highest accuracy first, and how to read it."""
    rows = sorted(with_student_gains(table["rows"]), key=lambda row: -row.get("accuracy", -1.0))
    return "\n\n".join([markdown_table([_cells(row) for row in rows]), NOTE])


def with_student_gains(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with `student_gain`, the accuracy that students gain by the explanations: mean and 95 % interval over
    students; None for the row without explanations, and with fewer than two students."""
    without = next((row["students"] for row in rows if row["method"] == NO_EXPLANATION and "students" in row), None)
    return [{**row, "student_gain": _over_students(row, without)} for row in rows]


def _over_students(row: Mapping[str, Any], without: Sequence[float] | None) -> dict[str, float] | None:
    students = row.get("students", ())
    if not row.get("sim") or without is None or len(students) != len(without) or len(students) < 2:
        return None
    gains = np.asarray(students) - np.asarray(without)  # (students,)
    half = float(stats.t.ppf(0.975, len(gains) - 1) * gains.std(ddof=1) / math.sqrt(len(gains)))
    mean = float(gains.mean())
    return {"mean": mean, "low": mean - half, "high": mean + half}


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    name = NAMES.get(row["method"]) or row_name(row["method"])
    if "accuracy" not in row:
        return {
            "method": name,
            "accuracy ↑": f"undefined: {row['reason']}",
            "SIM ↑": "",
            "over students": "",
            "students": "",
        }
    return {
        "method": name,
        "accuracy ↑": as_percent(row["accuracy"]),
        "SIM ↑": _gain(row["sim"]) if row["sim"] else "",
        "over students": _gain(row["student_gain"]) if row["student_gain"] else "",
        "students": ", ".join(as_percent(each) for each in row["students"]),
    }


def _gain(sim: Mapping[str, float]) -> str:
    clear = "" if sim["low"] > 0 else "°"
    return f"{100 * sim['mean']:+.1f}{clear} [{100 * sim['low']:+.1f}, {100 * sim['high']:+.1f}]"
