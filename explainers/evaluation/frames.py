"""Evaluations as pandas frames: the summary per method and operator, or a row per input. Imports no torch."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from explainers.evaluation.names import AVGSEN


def summary_frame(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """A row per method and operator; the interval of a metric is in the columns `<metric>_low` and `<metric>_high`."""
    lines = [flat_row(row) for row in rows]
    table = pd.DataFrame(lines)
    counts = [name for name in table if all(isinstance(line.get(name, 0), int) for line in lines)]
    return table.astype(dict.fromkeys(counts, "Int64"))


def flat_row(row: dict[str, Any]) -> dict[str, Any]:
    """Intervals as three columns."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= {name: value["mean"], f"{name}_low": value["low"], f"{name}_high": value["high"]}
        else:
            flat[name] = value
    return flat


def input_frame(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """A row per input, method and operator, with the value of every metric; failed methods have no row."""
    rows = [
        {
            "text": record["text"],
            "method": record["method"],
            "erasure": erasure,
            **values,
            **record.get("evidence", {}),
            **{name: record.get(name) for name in ("seconds", "calls", AVGSEN)},
        }
        for record in records
        for erasure, values in record.get("figures", {}).items()
    ]
    return pd.DataFrame(rows)
