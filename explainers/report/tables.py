"""The one writer of tables: columns are declared once, and give Markdown, HTML, CSV, pandas and cells for a page.

    table = Table((TableColumn("method", name_of), TableColumn("AOPC-C ↑", attrgetter("aopc_c"), bounds())))
    table.markdown(rows)

A column has a header, a function from a row to a value, and how the value is written: a format specification such as
".3f", or a function such as `plus_minus()`. None and NaN are written "–". Below stand the tables of a comparison as
files: CSV with a guard against formulas, and Parquet.
"""

import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import pandas as pd
from pandas.api.types import is_numeric_dtype

from explainers.datasets.tables import formula_like
from explainers.errors import ExplanationError
from explainers.installation import VERSION
from explainers.metrics import bootstrap, faithfulness
from explainers.report.metric_rows import metric_rows
from explainers.report.wording import UNDEFINED, escaped, visible
from explainers.results.frames import COSTS, HEAD

if TYPE_CHECKING:
    from explainers.results.comparison import Comparison

Row = TypeVar("Row")
Written = str | Callable[[Any], str]
Align = Literal["", "left", "right"]
RULES: dict[Align, str] = {"": "---|", "left": ":--|", "right": "--:|"}  # below a header in Markdown
Bounds = bootstrap.Interval | Mapping[str, float]  # as computed, or as read from a file: mean, low and high
ABOUT = ("model", "text", "version")  # columns of every CSV file of a comparison; the version is Crosslight's


def bounds_of(value: Bounds) -> tuple[float, float, float]:
    """The mean, and the lower and the upper bound."""
    if isinstance(value, bootstrap.Interval):
        return value.mean, value.low, value.high
    return value["mean"], value["low"], value["high"]


def is_bounds(value: object) -> bool:
    return isinstance(value, bootstrap.Interval) or (
        isinstance(value, Mapping) and {"mean", "low", "high"} <= set(value)
    )


def interval_cell(value: Bounds, sign: str = "", places: int = 3) -> str:
    """As in "0.250 [0.125, 0.500]"; with the sign "+" as a difference."""
    return "{} [{}, {}]".format(*(f"{bound:{sign}.{places}f}" for bound in bounds_of(value)))


def bounds(places: int = 3, sign: str = "") -> Callable[[Bounds], str]:
    """`interval_cell` for a column."""
    return lambda value: interval_cell(value, sign, places)


def plus_minus(places: int = 3) -> Callable[[Bounds], str]:
    """Writes the mean and half of the interval: "0.250 ± 0.125"."""

    def write(value: Bounds) -> str:
        mean, low, high = bounds_of(value)
        return f"{mean:.{places}f} ± {(high - low) / 2:.{places}f}"

    return write


def as_percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def command_block(command: str) -> str:
    """A command in Markdown."""
    return f"```sh\n{command}\n```"


@dataclass(frozen=True)
class TableColumn(Generic[Row]):
    """`note` is written behind a value. A column that is `optional` is left out where no row has a value. In HTML
    `mark` is the class of a cell, and `meaning` what the header says when it is pointed at."""

    header: str
    value: Callable[[Row], Any]
    written: Written = ""
    note: Callable[[Row], str] | None = None
    undefined: str = UNDEFINED
    optional: bool = False
    align: Align = ""
    mark: Callable[[Row], str] | None = None
    meaning: str = ""

    def cell(self, row: Row) -> str:
        value = self.value(row)
        if is_undefined(value):
            return self.undefined
        text = self.written(value) if callable(self.written) else format(value, self.written)
        return text + (self.note(row) if self.note else "")


LATEX_SIGNS = {"↑": r"$\uparrow$", "↓": r"$\downarrow$", "−": "$-$", "×": r"$\times$", "†": r"$\dagger$"}
LATEX_WORDS = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
LATEX_ESCAPES = str.maketrans(LATEX_WORDS | {sign: f"\\{sign}" for sign in "&%$#_{}"})


def is_undefined(value: object) -> bool:
    """Return whether a value is None or NaN, or an interval around NaN."""
    if is_bounds(value):
        return math.isnan(bounds_of(value)[0])  # type: ignore[arg-type]
    return value is None or (isinstance(value, float) and math.isnan(value))


@dataclass(frozen=True)
class Table(Generic[Row]):
    """In HTML, rows that follow each other with the same `title` stand below it, and `kind` is the class of a row."""

    columns: tuple[TableColumn[Row], ...]
    title: Callable[[Row], str] | None = None
    kind: Callable[[Row], str] | None = None

    def cells(self, rows: Iterable[Row]) -> list[dict[str, str]]:
        """A dictionary per row, by header, as written."""
        rows = list(rows)
        columns = self._shown(rows)
        return [{column.header: column.cell(row) for column in columns} for row in rows]

    def markdown(self, rows: Iterable[Row]) -> str:
        """Empty without rows. Pipes in cells are escaped."""
        rows = list(rows)
        if not rows:
            return ""
        columns = self._shown(rows)
        lines = [[column.cell(row).replace("|", "\\|") for column in columns] for row in rows]
        rule = "|" + "".join(RULES[column.align] for column in columns)
        return "\n".join([_line([column.header for column in columns]), rule, *map(_line, lines)])

    def latex(self, rows: Iterable[Row], caption: str) -> str:
        """A table for LaTeX with the package booktabs; empty without rows."""
        rows = list(rows)
        if not rows:
            return ""
        columns = self._shown(rows)
        frame = pd.DataFrame(self.cells(rows))
        aligned = "".join("r" if column.align == "right" else "l" for column in columns)
        written: str = frame.to_latex(
            index=False, escape=True, column_format=aligned, caption=caption.translate(LATEX_ESCAPES)
        )
        for sign, command in LATEX_SIGNS.items():
            written = written.replace(sign, command)
        return written

    def html(self, rows: Iterable[Row]) -> str:
        """A `<table>`, every text escaped."""
        rows = list(rows)
        columns = self._shown(rows)
        head = "".join(f"<th{_attribute('title', column.meaning)}>{escaped(column.header)}</th>" for column in columns)
        titles = [self.title(row) if self.title else "" for row in rows]
        body = "".join(
            f"{_title(title, before, len(columns))}<tr{_attribute('class', self.kind(row) if self.kind else '')}>"
            f"{''.join(_td(column, row) for column in columns)}</tr>"
            for row, title, before in zip(rows, titles, ["", *titles], strict=False)
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def frame(self, rows: Iterable[Row]) -> pd.DataFrame:
        """The values themselves; the bounds of an interval are in columns of their own, as "AOPC-C, low"."""
        rows = list(rows)
        columns = self._shown(rows)
        empty = None if rows else [column.header for column in columns]
        return pd.DataFrame([_values(columns, row) for row in rows], columns=empty)

    def csv(self, rows: Iterable[Row]) -> str:
        """`frame` as guarded CSV."""
        return csv_text(self.frame(rows))

    def _shown(self, rows: Sequence[Row]) -> list[TableColumn[Row]]:
        """The columns that are not left out."""
        return [
            column
            for column in self.columns
            if not column.optional or any(column.value(row) is not None for row in rows)
        ]


def key_column(
    key: str, header: str = "", written: Written = "", *, optional: bool = False
) -> TableColumn[Mapping[str, Any]]:
    """The value of `key` in rows that are dictionaries, under its own name or a `header`."""
    return TableColumn(header or key, lambda row: row.get(key), written, optional=optional)


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows whose keys are the headers, such as the settings or the log of a training: every key is a column."""
    headers = dict.fromkeys(name for row in rows for name in row)
    return Table(tuple(map(key_column, headers))).markdown(rows)


def _values(columns: Sequence[TableColumn[Row]], row: Row) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for column in columns:
        value = column.value(row)
        if is_bounds(value):
            values[column.header], low, high = bounds_of(value)
            values |= {f"{column.header}, low": low, f"{column.header}, high": high}
        else:
            values[column.header] = value
    return values


def _td(column: TableColumn[Row], row: Row) -> str:
    return f"<td{_attribute('class', column.mark(row) if column.mark else '')}>{escaped(column.cell(row))}</td>"


def _title(title: str, before: str, columns: int) -> str:
    """Return a row with the title where it begins."""
    begins = title and title != before
    return f'<tr class="group"><td colspan="{columns}">{escaped(title)}</td></tr>' if begins else ""


def _attribute(name: str, value: str) -> str:
    return f' {name}="{escaped(value)}"' if value else ""


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def csv_scores(comparison: "Comparison") -> str:
    """Return a row per method and unit, as `to_frame("scores")`, with `status` and `ABOUT`."""
    return csv_text(_with_origin(_with_status(comparison.to_frame("scores"), comparison), comparison))


def csv_metrics(comparison: "Comparison") -> str:
    """Return a row per method and one for the random control, as `metrics_frame`, with `status` and `ABOUT`; last the
    methods without a result, which have a status alone."""
    frame = _with_status(metrics_frame(comparison), comparison)
    missing = [
        {"method": method, "label": comparison.label, "status": _missing(method, comparison)}
        for method in comparison.order
        if method not in set(frame["method"])
    ]
    whole = pd.concat([frame, pd.DataFrame(missing)], ignore_index=True) if missing else frame
    return csv_text(_with_origin(whole, comparison))


def csv_curves(comparison: "Comparison") -> str:
    """Return a row per curve point, as `to_frame("curves")`, with `ABOUT`."""
    return csv_text(_with_origin(comparison.to_frame("curves"), comparison))


def _with_status(frame: pd.DataFrame, comparison: "Comparison") -> pd.DataFrame:
    """Return the frame with `status`: "done", or "ended early" for an estimate that more time would better."""
    early = frame["method"].isin(comparison.ended_early)
    return frame.assign(status=early.map({True: "ended early", False: "done"}).astype("object"))


def _missing(method: str, comparison: "Comparison") -> str:
    """Return why a method has no result: "failed", "postponed", or "not computed" where the run was stopped."""
    if comparison.failure(method):
        return "failed"
    return "postponed" if method in comparison.postponed else "not computed"


def _with_origin(frame: pd.DataFrame, comparison: "Comparison") -> pd.DataFrame:
    """Return the frame with the columns of `ABOUT`, by which a file tells where it is from."""
    texts = " / ".join(comparison.decision.encoding.texts)
    origin = dict(zip(ABOUT, (comparison.decision.card.name, texts, VERSION), strict=True))
    return frame.assign(**{name: pd.Series([value] * len(frame), dtype="object") for name, value in origin.items()})


def metrics_frame(comparison: "Comparison") -> pd.DataFrame:
    """`to_frame("metrics")` with `group`, the method's in the answer, and `tied_at`, the percents with ties.

    Every registered metric has its columns, which are empty where it was not computed.
    """
    rows, ids = {row.method: row for row in metric_rows(comparison)}, faithfulness.METRICS.ids
    measured = [column for metric in ids for column in (metric, f"{metric}_sd")]
    frame = comparison.to_frame("metrics")
    frame = frame.reindex(columns=[*(name for name in HEAD if name in frame), *measured, *COSTS])
    groups = [rows[method].group for method in frame["method"]]
    return frame.assign(group=groups, tied_at=[" ".join(map(str, rows[method].ties)) for method in frame["method"]])


def parquet(frame: pd.DataFrame) -> bytes:
    """A Parquet file of the frame, whose types and missing values it keeps."""
    file = io.BytesIO()
    _map_text(frame, visible).to_parquet(file, index=False)
    return file.getvalue()


def csv_text(frame: pd.DataFrame) -> str:
    """Missing values are empty cells; text that a spreadsheet would run as a formula gets an apostrophe in front."""
    text: str = _map_text(frame, _guarded).to_csv(index=False, lineterminator="\n")
    return text


def write_frame(path: Path, frame: pd.DataFrame) -> None:
    """Write a frame as CSV (`csv_text`) or Parquet, as the name of the file says. Raises `ExplanationError` if that is
    not possible."""
    try:
        if path.suffix.lower() == ".csv":
            path.write_text(csv_text(frame), encoding="utf-8", newline="")
        else:
            path.write_bytes(parquet(frame))
    except OSError as error:
        raise ExplanationError(f"The table cannot be written to {path}: {error.strerror or error}.") from error


def _guarded(text: str) -> str:
    cell = visible(text)
    return f"'{cell}" if formula_like(cell) else cell


def _map_text(frame: pd.DataFrame, change: Callable[[str], str]) -> pd.DataFrame:
    columns = [name for name in frame if not is_numeric_dtype(frame[name])]
    return frame.assign(**{name: frame[name].map(change, na_action="ignore") for name in columns})
