"""The frames of a comparison as files: CSV with a guard against formulas, and Parquet."""

import io
from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd
from pandas.api.types import is_numeric_dtype

from explainers.datasets.tables import formula_like
from explainers.metrics.faithfulness import METRICS
from explainers.report.metric_rows import metric_rows
from explainers.report.text import visible
from explainers.results.frames import COSTS, HEAD

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison


def csv_scores(comparison: "Comparison") -> str:
    """A row per method and unit, as `to_frame("scores")`."""
    return csv_text(comparison.to_frame("scores"))


def csv_metrics(comparison: "Comparison") -> str:
    """A row per method and one for the random control, as `metrics_frame`."""
    return csv_text(metrics_frame(comparison))


def csv_curves(comparison: "Comparison") -> str:
    """A row per curve point, as `to_frame("curves")`."""
    return csv_text(comparison.to_frame("curves"))


def metrics_frame(comparison: "Comparison") -> pd.DataFrame:
    """`to_frame("metrics")` with `best`, the metrics that the method leads, and `tied_at`, the percents with ties.

    Every registered metric has its columns, which are empty where it was not computed.
    """
    rows, ids = metric_rows(comparison), METRICS.ids
    measured = [column for metric in ids for column in (metric, f"{metric}_sd")]
    frame = comparison.to_frame("metrics").reindex(columns=[*HEAD, *measured, *COSTS])
    best = [" ".join(metric for metric in ids if metric in row.best) for row in rows]
    return frame.assign(best=best, tied_at=[" ".join(map(str, row.ties)) for row in rows])


def parquet(frame: pd.DataFrame) -> bytes:
    """A Parquet file of the frame, whose types and missing values it keeps."""
    file = io.BytesIO()
    _map_text(frame, visible).to_parquet(file, index=False)
    return file.getvalue()


def csv_text(frame: pd.DataFrame) -> str:
    """Missing values are empty cells; text that a spreadsheet would run as a formula gets an apostrophe in front."""
    text: str = _map_text(frame, _guarded).to_csv(index=False, lineterminator="\n")
    return text


def _guarded(text: str) -> str:
    cell = visible(text)
    return f"'{cell}" if formula_like(cell) else cell


def _map_text(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    columns = [name for name in frame if not is_numeric_dtype(frame[name])]
    return frame.assign(**{name: frame[name].map(change, na_action="ignore") for name in columns})
