"""The records of an explained set as two pandas frames: a row per input, and a row per input and method.

`row_frame`: id, line, text, pair, image (the name of its file), label and predicted (names of classes), right,
probability, seed, units, length, status, refusal, agreement, p, robust, supported, seconds, passes, failed.
`method_frame`: id, method, group, signed, seconds, passes, scores, the curves removed and kept, failed, a column
`<metric>_<operator>` for every metric and operator, and `evidence_<operator>`, AOPC-C − AOPC-S; where people marked
evidence, also `plausibility_<metric>`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from explainers.evaluation.record_file import Record
from explainers.metrics import chance, plausibility

EVIDENCE = "evidence"
ROW_TYPES = {
    "right": "boolean",
    "robust": "boolean",
    "probability": "float64",
    "agreement": "float64",
    "p": "float64",
    "seconds": "float64",
    "passes": "Int64",
    "seed": "Int64",
    "length": "Int64",
}
ROW_COLUMNS = (
    *("id", "line", "text", "pair", "image", "label", "predicted", "right", "probability", "seed", "units", "length"),
    *("status", "refusal", "agreement", "p", "robust", "supported", "seconds", "passes", "failed"),
)
METHOD_COLUMNS = ("id", "method", "group", "signed", "seconds", "passes", "scores", "removed", "kept", "failed")
LISTS = ("units", "supported", "scores", "removed", "kept")  # columns that hold lists, which a CSV file cannot


def row_frame(records: Iterable[Record], labels: Sequence[str]) -> pd.DataFrame:
    """Return a row per input; `labels` are the names of the classes."""
    rows = [_row(record, labels) for record in records]
    return pd.DataFrame(rows, columns=list(ROW_COLUMNS)).astype(ROW_TYPES)


def method_frame(records: Iterable[Record], metrics: Sequence[str], operators: Sequence[str]) -> pd.DataFrame:
    """Return a row per input and method, the controls among them; of a method that failed only the reason."""
    rows = [row for record in records for row in _method_rows(record)]
    values = [metric_column(metric, operator) for operator in operators for metric in (EVIDENCE, *metrics)]
    values += [column for column in PLAUSIBILITY_COLUMNS if any(column in row for row in rows)]
    frame = pd.DataFrame(rows, columns=[*METHOD_COLUMNS, *values])
    return frame.astype(
        {"signed": "boolean", "seconds": "float64", "passes": "Int64", **dict.fromkeys(values, "float64")}
    )


def metric_column(metric: str, operator: str) -> str:
    """Return the column of a metric under an operator, or of `EVIDENCE`."""
    return f"{metric}_{operator}"


def plausibility_column(metric: str) -> str:
    """Return the column of a metric of the agreement with people."""
    return f"plausibility_{metric}"


PLAUSIBILITY_COLUMNS = tuple(plausibility_column(metric.id) for metric in plausibility.PLAUSIBILITY)


def without_lists(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that a CSV file can hold."""
    return frame.drop(columns=[name for name in LISTS if name in frame])


def _row(record: Record, labels: Sequence[str]) -> dict[str, Any]:
    label, predicted, answer = record["label"], record.get("predicted"), record.get("answer", {})
    return {
        **{name: record.get(name) for name in ROW_COLUMNS},
        "image": record.get("image") or None,
        "label": None if label is None else labels[label],
        "predicted": None if predicted is None else labels[predicted],
        "right": None if label is None or predicted is None else label == predicted,
        "length": len(record["units"]) if "units" in record else None,
        **{name: answer.get(name) for name in ("status", "refusal", "agreement", "p", "robust", "supported")},
        **({"status": "failed"} if "failed" in record else {}),
    }


def _method_rows(record: Record) -> list[dict[str, Any]]:
    rows = []
    for method, content in record.get("methods", {}).items():
        values = {name: content.get(name) for name in METHOD_COLUMNS}
        values |= _values(content["metrics"])
        values |= {plausibility_column(metric): value for metric, value in content.get("plausibility", {}).items()}
        rows.append({**values, "id": record["id"], "method": method})
    failures = record.get("failures", {}).items()
    return rows + [{"id": record["id"], "method": method, "failed": reason} for method, reason in failures]


def _values(metrics: Mapping[str, Mapping[str, float | None]]) -> dict[str, float]:
    values = {}
    for operator, by_metric in metrics.items():
        defined = {metric: math.nan if value is None else value for metric, value in by_metric.items()}
        values[metric_column(EVIDENCE, operator)] = chance.evidence(defined)
        values |= {metric_column(metric, operator): value for metric, value in defined.items()}
    return values
