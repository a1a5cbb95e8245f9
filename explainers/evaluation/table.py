"""The records of an evaluation as rows and as pandas frames.

A row per method and erasure operator holds means over inputs with 95 % bootstrap intervals, paired where two methods
are compared; `input_frame` has a row per input.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from explainers.evaluation.names import AVGSEN, RANDOM
from explainers.evaluation.record_file import Record
from explainers.metrics import bootstrap, faithfulness, plausibility
from explainers.metrics.spec import MetricSpec

Row = dict[str, Any]
Values = dict[int, float]  # by number of the input


def summary_rows(records: Sequence[Record]) -> list[Row]:
    """Every metric as an interval, and its gain over random orders, paired by input.

    `…_gain` is positive where the method is better than random, whatever the metric's direction.
    """
    by_method = _by_method(records)
    erasures = dict.fromkeys(
        erasure for mine in by_method.values() for record in mine.values() for erasure in record["metrics"]
    )
    return [
        _row(method, erasure, mine, by_method.get(RANDOM, {}))
        for erasure in erasures
        for method, mine in by_method.items()
    ]


def paired_difference(
    records: Sequence[Record], one: str, other: str, metric: MetricSpec, erasure: str
) -> bootstrap.Interval | None:
    """How much better `one` is than `other`, paired by input; None if they have no input in common."""
    by_method = _by_method(records)
    first, second = (_values(by_method.get(method, {}), erasure, metric.id) for method in (one, other))
    gains = _gains(first, second, metric.sign)
    return _interval(gains) if gains else None


def _by_method(records: Sequence[Record]) -> dict[str, dict[int, Record]]:
    """The records with metrics, by method and number of the input."""
    by_method: dict[str, dict[int, Record]] = {}
    for record in records:
        if "metrics" in record:
            by_method.setdefault(record["method"], {})[record["text"]] = record
    return by_method


def _row(method: str, erasure: str, mine: Mapping[int, Record], random: Mapping[int, Record]) -> Row:
    row: Row = {"method": method, "erasure": erasure, "texts": len(mine)}
    reference = {} if method == RANDOM else random
    for metric in faithfulness.METRICS:
        control = _values(reference, erasure, metric.id)
        row |= _with_gain(metric.id, _values(mine, erasure, metric.id), control, metric.sign)
    for name in ("seconds", "calls", AVGSEN):
        values = {number: record[name] for number, record in mine.items() if name in record}
        if values:
            row[name] = vars(_interval(values)) if name == AVGSEN else float(np.mean(list(values.values())))
    for name in plausibility.EVIDENCE_METRICS:
        row |= _with_gain(name, _evidence_values(mine, name), _evidence_values(reference, name), sign=1)
    return row


def _with_gain(name: str, values: Values, control: Values, sign: int) -> Row:
    """The interval of the metric and that of its gain, each only where there are values."""
    gains = _gains(values, control, sign)
    columns = {name: values, f"{name}_gain": gains}
    return {column: vars(_interval(values)) for column, values in columns.items() if values}


def _values(records: Mapping[int, Record], erasure: str, metric: str) -> Values:
    """A metric by input, where it is defined."""
    values = {number: record["metrics"][erasure].get(metric, math.nan) for number, record in records.items()}
    return {number: value for number, value in values.items() if not math.isnan(value)}


def _evidence_values(records: Mapping[int, Record], name: str) -> Values:
    evidence = {number: record.get("evidence", {}) for number, record in records.items()}
    return {number: values[name] for number, values in evidence.items() if name in values}


def _gains(values: Values, control: Values, sign: int) -> Values:
    """How much better, on the inputs that both have."""
    return {number: sign * (value - control[number]) for number, value in values.items() if number in control}


def _interval(values: Values) -> bootstrap.Interval:
    return bootstrap.mean_interval(np.asarray(list(values.values()), dtype=float))


def summary_frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """A row per method and operator; the interval of a metric is in the columns `<metric>_low` and `<metric>_high`."""
    lines = [flat_row(row) for row in rows]
    table = pd.DataFrame(lines)
    counts = [name for name in table if all(isinstance(line.get(name, 0), int) for line in lines)]
    return table.astype(dict.fromkeys(counts, "Int64"))


def flat_row(row: Mapping[str, Any]) -> dict[str, Any]:
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
        for erasure, values in record.get("metrics", {}).items()
    ]
    return pd.DataFrame(rows)
