"""SIM as a table in Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

from explainers.evaluation.names import NO_EXPLANATION, RANDOM, UNIFORM
from explainers.report.evaluation_tables import row_name
from explainers.report.quantities import with_student_gains
from explainers.report.tables import Table, TableColumn, as_percent

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
    "with the inputs as they are. ° not clearly above 0."
)


def simulatability_markdown(table: Mapping[str, Any]) -> str:
    """The table, the highest accuracy first, and how to read it."""
    rows = sorted(with_student_gains(table["rows"]), key=lambda row: -row.get("accuracy", -1.0))
    return "\n\n".join([TABLE.markdown(rows), NOTE])


def _accuracy(row: Mapping[str, Any]) -> str:
    return as_percent(row["accuracy"]) if "accuracy" in row else f"undefined: {row['reason']}"


def _points(gain: Mapping[str, float]) -> str:
    clear = "" if gain["low"] > 0 else "°"
    return f"{100 * gain['mean']:+.1f}{clear} [{100 * gain['low']:+.1f}, {100 * gain['high']:+.1f}]"


def _students(accuracies: Sequence[float]) -> str:
    return ", ".join(map(as_percent, accuracies))


TABLE: Table[Mapping[str, Any]] = Table(
    (
        TableColumn("method", lambda row: NAMES.get(row["method"]) or row_name(row["method"])),
        TableColumn("accuracy ↑", _accuracy),
        TableColumn("SIM ↑", lambda row: row.get("sim") or None, _points, undefined=""),
        TableColumn("over students", lambda row: row.get("student_gain") or None, _points, undefined=""),
        TableColumn("students", lambda row: row.get("students"), _students, undefined=""),
    )
)
