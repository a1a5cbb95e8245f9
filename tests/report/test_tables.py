"""One specification of columns gives every form of a table."""

import csv
import io
import math
from dataclasses import dataclass

import pytest

from explainers.metrics.bootstrap import Interval
from explainers.report.tables import Bounds, Table, TableColumn, bounds, key_column, markdown_table, plus_minus


@dataclass(frozen=True)
class Line:
    name: str
    gain: Bounds | None = None
    calls: int | None = None


TABLE: Table[Line] = Table(
    (
        TableColumn("method", lambda line: line.name, meaning="who explains"),
        TableColumn("gain ↑", lambda line: line.gain, bounds(2), mark=lambda line: "best" if line.gain else ""),
        TableColumn("calls", lambda line: line.calls, ",", optional=True, align="right"),
    )
)
FIRST, SECOND = Line("a|b", Interval(0.5, 0.25, 1.0, 9), 1200), Line("<b>")


def test_markdown_has_a_line_per_row_with_pipes_escaped() -> None:
    assert TABLE.markdown([FIRST, SECOND]) == (
        "| method | gain ↑ | calls |\n|---|---|--:|\n| a\\|b | 0.50 [0.25, 1.00] | 1,200 |\n| <b> | – | – |"
    )


def test_an_optional_column_is_left_out_where_no_row_has_a_value() -> None:
    assert TABLE.markdown([SECOND]) == "| method | gain ↑ |\n|---|---|\n| <b> | – |"
    assert TABLE.cells([SECOND]) == [{"method": "<b>", "gain ↑": "–"}]


def test_without_rows_there_is_no_markdown() -> None:
    assert TABLE.markdown([]) == ""
    assert TABLE.cells([]) == []


def test_html_is_escaped_and_has_meanings_and_marks() -> None:
    assert TABLE.html([FIRST, SECOND]) == (
        '<table><thead><tr><th title="who explains">method</th><th>gain ↑</th><th>calls</th></tr></thead><tbody>'
        '<tr><td>a|b</td><td class="best">0.50 [0.25, 1.00]</td><td>1,200</td></tr>'
        "<tr><td>&lt;b&gt;</td><td>–</td><td>–</td></tr></tbody></table>"
    )


def test_a_frame_and_csv_hold_the_values_with_the_bounds_in_columns_of_their_own() -> None:
    frame = TABLE.frame([FIRST, SECOND])
    assert list(frame) == ["method", "gain ↑", "gain ↑, low", "gain ↑, high", "calls"]
    assert frame["gain ↑, high"][0] == 1.0
    first, second = csv.DictReader(io.StringIO(TABLE.csv([FIRST, SECOND])))
    assert (first["gain ↑, low"], second["gain ↑, low"], second["method"]) == ("0.25", "", "<b>")
    assert list(TABLE.frame([])) == ["method", "gain ↑"]


def test_csv_guards_against_formulas() -> None:
    (row,) = csv.DictReader(io.StringIO(TABLE.csv([Line("=1+1")])))
    assert row["method"] == "'=1+1"


@pytest.mark.parametrize(
    "value", [None, math.nan, Interval(math.nan, 0.0, 0.0, 1), {"mean": math.nan, "low": 0, "high": 0}]
)
def test_what_is_not_defined_is_a_dash_without_its_note(value: object) -> None:
    column: TableColumn[object] = TableColumn("x", lambda row: row, plus_minus(), note=lambda _row: "°")
    assert column.cell(value) == "–"
    assert TableColumn[object]("x", lambda _row: None, undefined="never").cell(0) == "never"


def test_intervals_are_written_as_bounds_as_half_the_width_and_as_differences() -> None:
    stored = {"mean": 0.25, "low": 0.125, "high": 0.5}
    assert plus_minus()(stored) == "0.250 ± 0.188"
    assert bounds()(stored) == bounds()(Interval(0.25, 0.125, 0.5, 3)) == "0.250 [0.125, 0.500]"
    assert bounds(1, sign="+")({"mean": -0.25, "low": -1, "high": 0.5}) == "-0.2 [-1.0, +0.5]"


def test_rows_of_dictionaries_have_their_keys_as_headers_or_others() -> None:
    assert markdown_table([{"a": "1"}, {"b": 2}]) == "| a | b |\n|---|---|\n| 1 | – |\n| – | 2 |"
    assert Table((key_column("a", "A", ".1f"),)).cells([{"a": 0.25}]) == [{"A": "0.2"}]


def test_latex_is_escaped_and_has_a_caption() -> None:
    text = TABLE.latex([Line("a_b & 5 %", Interval(0.5, 0.25, 1.0, 9), 1200), SECOND], r"50 % of a_{1} \ x^2 − ~")
    assert r"\begin{tabular}{llr}" in text
    assert r"\toprule" in text
    assert r"method & gain $\uparrow$ & calls \\" in text
    assert r"a\_b \& 5 \% & 0.50 [0.25, 1.00] & 1,200 \\" in text
    caption = next(line for line in text.splitlines() if line.startswith(r"\caption"))
    assert caption == r"\caption{50 \% of a\_\{1\} \textbackslash{} x\textasciicircum{}2 $-$ \textasciitilde{}}"
    assert TABLE.latex([], "none") == ""
