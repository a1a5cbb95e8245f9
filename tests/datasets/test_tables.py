import gzip
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from explainers.datasets import parquet_process, tables
from explainers.datasets.tables import (
    LARGEST,
    MOST_ROWS,
    parsed_json,
    read_user_table,
    rows,
)
from explainers.errors import DataUnavailable


def write(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_cells_stand_under_their_column_with_the_number_of_their_line(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv.gz", "a\tb\n1\t2\n3\t4\n")
    assert list(rows(path)) == [(2, {"a": "1", "b": "2"}), (3, {"a": "3", "b": "4"})]


def test_empty_lines_are_counted_but_no_rows(tmp_path: Path) -> None:
    assert list(rows(write(tmp_path / "t.tsv.gz", "a\n\n1\n\n"))) == [(3, {"a": "1"})]


def test_a_short_line_has_empty_cells_and_a_long_one_is_cut(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv.gz", "a\tb\n1\n1\t2\t3\n")
    assert [row for _, row in rows(path)] == [{"a": "1", "b": ""}, {"a": "1", "b": "2"}]


def test_only_between_commas_quotes_hold_a_cell_together(tmp_path: Path) -> None:
    commas = write(tmp_path / "t.csv.gz", 'a,b\n"1, or ""one""\nmore",2\n')
    assert list(rows(commas, ",")) == [(3, {"a": '1, or "one"\nmore', "b": "2"})]
    tabs = write(tmp_path / "t.tsv.gz", 'a\tb\n"1\t2"\n')
    assert list(rows(tabs)) == [(2, {"a": '"1', "b": '2"'})]


@pytest.mark.parametrize("text", ["", "a\tb\n"])
def test_a_table_without_lines_has_no_rows(tmp_path: Path, text: str) -> None:
    assert list(rows(write(tmp_path / "t.tsv.gz", text))) == []


@pytest.mark.parametrize(
    "data",
    [b"a\tb\n1\t2\n", gzip.compress(b"a\tb\n" * 99)[:-9], gzip.compress(b"a\n\xff\xfe\n")],
    ids=["not compressed", "truncated", "not UTF-8"],
)
def test_a_damaged_table_is_a_sentence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t.tsv.gz").write_bytes(data)
    with pytest.raises(DataUnavailable, match=r"^t\.tsv\.gz is not a gzip file of UTF-8 text: .*Fetch it again\.$"):
        list(rows(tmp_path / "t.tsv.gz"))


def test_a_cell_that_is_too_long_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"field larger than field limit"):
        list(rows(write(tmp_path / "t.tsv.gz", "a\n" + "x" * 140_000)))


def test_a_missing_table_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"No such file"):
        list(rows(tmp_path / "t.tsv.gz"))


TEXTS = ["a", None, " b\x00\n", "", '"q"', "naïve 🎬", "NA", "a"]


def packed(columns: dict[str, object], **options: object) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file, **options)
    return file.getvalue()


def cells(content: bytes, *columns: str, name: str = "a.parquet") -> list[list[str]]:
    return [list(row) for row in read_user_table(content, name, lambda _names: columns).rows]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
def test_cells_of_a_parquet_file_come_back_as_they_are_and_empty_where_missing(kind: pa.DataType) -> None:
    content = packed({"text": pa.array(TEXTS).cast(kind), "n": pa.array(range(8))}, row_group_size=3)
    assert cells(content, "text") == [[text or ""] for text in TEXTS]


def test_the_chosen_columns_are_read_in_their_order_and_no_others() -> None:
    content = packed({"n": pa.array([1, 2]), "b": pa.array(["x", "y"]), "a": pa.array([None, None])})
    names: list[str] = []

    def choose(header: Sequence[str]) -> Sequence[str]:
        names.extend(header)
        return "a", "b"

    table = read_user_table(content, "A.Parquet", choose)
    assert names == ["n", "b", "a"]
    assert (table.columns, table.rows) == (("a", "b"), [("", "x"), ("", "y")])


def test_cells_of_a_csv_file_are_never_taken_for_numbers_or_missing() -> None:
    content = b'a,b\n007,NA\n"1,5",\n,null\n'
    assert cells(content, "a", "b", name="a.csv") == [["007", "NA"], ["1,5", ""], ["", "null"]]


@pytest.mark.parametrize(
    ("column", "kind"),
    [(pa.array([1]), "int64"), (pa.array([["a"]]), "list<element: string>"), (pa.array([b"a"]), "binary")],
    ids=["numbers", "lists", "bytes"],
)
def test_a_parquet_column_of_anything_but_text_is_a_sentence(column: pa.Array, kind: str) -> None:
    with pytest.raises(DataUnavailable) as raised:
        cells(packed({"text": column}), "text")
    assert str(raised.value) == f"The column text holds {kind}. It must hold text."


@pytest.mark.parametrize("cut", ["empty", "text", "head alone", "truncated", "overwritten"])
def test_a_damaged_parquet_file_is_a_sentence(cut: str) -> None:
    whole = packed({"text": pa.array([f"text {number}" for number in range(2000)])})
    middle = len(whole) // 3
    content = {
        "empty": b"",
        "text": b"text\ngood film\n",
        "head alone": whole[:4],
        "truncated": whole[:-20],
        "overwritten": whole[:middle] + b"\xff" * 200 + whole[middle + 200 :],
    }[cut]
    with pytest.raises(DataUnavailable, match=r"^a\.parquet is not a readable Parquet file\. Save it again\.$"):
        cells(content, "text")


def repeated(text: str, times: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, np.int32)), [text])


def test_a_small_parquet_file_with_too_many_rows_is_refused() -> None:
    content = packed({"text": repeated("x", MOST_ROWS + 1)})
    assert len(content) < 100_000
    with pytest.raises(DataUnavailable, match=r"^The table is too large: 1,000,001 rows and .* At most 1,000,000 rows"):
        cells(content, "text")


def test_a_small_parquet_file_with_too_much_text_is_refused() -> None:
    content = packed({"text": repeated("x" * 100_000, LARGEST // 100_000 + 1)})
    assert len(content) < 100_000
    with pytest.raises(DataUnavailable, match=r"and 200 MB once unpacked\. At most 1,000,000 rows and 200 MB are read"):
        cells(content, "text")


def test_a_parquet_file_that_declares_too_large_a_column_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "read_table", lambda *_arguments, **_options: pytest.fail("it was decoded"))
    content = packed({"text": pa.array([f"text {number}" for number in range(1000)]), "n": pa.array(range(1000))})
    with pytest.raises(DataUnavailable, match="The table is too large"):
        parquet_process.cells(content, ["text"], most_rows=MOST_ROWS, largest=1000)


def test_columns_that_are_not_read_may_be_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LARGEST", 1000)
    content = packed({"text": pa.array(["a"] * 1000), "n": pa.array(np.arange(1000.0) ** 3)})
    assert len(cells(content, "text")) == 1000
    with pytest.raises(DataUnavailable, match="The column n holds double"):
        cells(content, "n")


def lines_of(content: str, name: str = "a.csv") -> list[object]:
    """The cell of each row, or the sentence about it."""
    table = read_user_table(content.encode(), name, lambda _names: ("text",))
    return [str(row) if isinstance(row, DataUnavailable) else row[0] for row in table.rows]


OPEN = "In line {} a quote opens that is not closed. Write a quote in a cell twice."


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('text\n"open\n' + "row\n" * 1000, [OPEN.format(2), *["row"] * 1000]),
        ('text,n\na,1\n"open,2\nc,3\n"d, e",4\nf,5', ["a", OPEN.format(3), "c", "d, e", "f"]),
        ('text\n"open', [OPEN.format(2)]),
        ('text\n"two\nlines"\nb', ["two\nlines", "b"]),
        ('text\n"good" film\n"a ""quote"""\nsay "x"\n', ["good film", 'a "quote"', 'say "x"']),
        ('text\n"long' + "x" * 140_000 + "\nb\n", ["Line 2 has a cell of more than 131,072 characters.", "b"]),
        ("text\r\na\r\n\r\nb\r\n", ["a", "b"]),
        ("n,text\n1\n2,b\n", ["", "b"]),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_a_quote_that_is_not_closed_takes_no_other_row_with_it(content: str, expected: list[object]) -> None:
    assert lines_of(content) == expected
    assert lines_of(content.replace(",", "\t"), "a.tsv") == [str(row).replace(", e", "\t e") for row in expected]


@pytest.mark.parametrize("text", [r'{"text": "cut \ud83d"}', r'{"id\uDE00": 1}', r'["\ude00\ud83d"]', '"\\ud800"'])
def test_half_a_character_is_no_json(text: str) -> None:
    with pytest.raises(DataUnavailable, match=r"It holds half of a character, \\ud[8ef]\w\w \(a lone surrogate\)\."):
        parsed_json(text)


@pytest.mark.parametrize("text", ["{", "NaN }", "[" * 100_000, "1" * 10_000])
def test_what_is_no_json_is_a_sentence(text: str) -> None:
    with pytest.raises(DataUnavailable, match=r"^It is not JSON\.$"):
        parsed_json(text)


def test_whole_characters_are_read() -> None:
    assert parsed_json(r'{"text": "\ud83d\ude00 \\ud83d"}') == {"text": "😀 \\ud83d"}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_header_tells_what_separates_the_columns_of_a_csv_file(delimiter: str) -> None:
    content = f"text{delimiter}label\nSlow, but good; a bit long.{delimiter}good\n"
    if delimiter != "\t":
        content = content.replace("Slow, but good; a bit long.", '"Slow, but good; a bit long."')
    table = read_user_table(content.encode(), "mine.csv", list)
    assert (table.columns, table.rows) == (("text", "label"), [("Slow, but good; a bit long.", "good")])


def test_a_comma_in_the_header_decides_and_one_column_has_no_delimiter() -> None:
    assert read_user_table(b"text,a;b\nx,y\n", "mine.csv", list).columns == ("text", "a;b")
    assert read_user_table(b"text\nSlow; good\n", "mine.csv", list).rows == [("Slow; good",)]
