import gzip
from pathlib import Path

import pytest

from explainers.datasets.tables import rows
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
