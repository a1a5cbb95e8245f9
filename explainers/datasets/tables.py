"""Tables: those of users (CSV, TSV, Parquet), and gzipped ones as data sets are published.

CSV and TSV are split by the `csv` module: it numbers the lines, limits the length of a field, and accepts quotes inside
a cell, all of which `pandas.read_csv` handles differently. Parquet is read by pyarrow in a process of its own.
"""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple

from explainers.datasets.parquet_file import read_parquet
from explainers.errors import DataUnavailable

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
END = "\n"  # after a line: a record of its own, unless a quote is open
SUFFIXES = (*DELIMITERS, PARQUET)  # of users' tables
MOST_ROWS = 1_000_000  # of a Parquet file, in which repeated rows take no space
LARGEST = 200_000_000  # bytes of a Parquet file once unpacked: 20,000 texts of 10,000 characters
Choice = Callable[[Sequence[str]], Sequence[str]]  # from a table's columns to those to read


def is_table(name: str) -> bool:
    return Path(name).suffix.lower() in SUFFIXES


def decode_text(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataUnavailable(f"{name} is not UTF-8 text. Save it as UTF-8.") from error


TableRow = tuple[str, ...] | DataUnavailable


def formula_like(cell: str) -> bool:
    """Whether a spreadsheet may run the cell as a formula (OWASP, CSV injection)."""
    return cell.startswith(FORMULA_STARTS)


class UserTable(NamedTuple):
    """The chosen columns, and per row their cells, "" where one is missing, or what is wrong with the row."""

    columns: tuple[str, ...]
    rows: list[TableRow]


def parsed_json(text: str) -> Any:
    """The value. Raises `DataUnavailable` if the text is no JSON, or holds halves of characters."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataUnavailable("It is not JSON.") from error
    if r"\ud" in text.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise DataUnavailable(
                f"It holds half of a character, \\u{ord(error.object[error.start]):x} (a lone surrogate). "
                "Write the whole character."
            ) from error
    return value


def read_user_table(content: bytes, name: str, choose: Choice) -> UserTable:
    """The chosen columns of a CSV, TSV or Parquet file. Raises `DataUnavailable` if it cannot be read."""
    suffix = Path(name).suffix.lower()
    if suffix == PARQUET:
        frame = read_parquet(content, name, choose, most_rows=MOST_ROWS, largest=LARGEST)
        return UserTable(tuple(map(str, frame.columns)), list(frame.itertuples(index=False, name=None)))
    return _read_delimited(decode_text(content, name), DELIMITERS[suffix], choose)


def _read_delimited(content: str, delimiter: str, choose: Choice) -> UserTable:
    records = _records(content, delimiter)
    header = next(records, [])
    if isinstance(header, DataUnavailable):
        raise header
    columns = tuple(choose(header))
    place_of = {column: place for place, column in enumerate(header)}
    places = [place_of[column] for column in columns]
    rows: list[TableRow] = [
        record
        if isinstance(record, DataUnavailable)
        else tuple(record[place] if place < len(record) else "" for place in places)
        for record in records
    ]
    return UserTable(columns, rows)


def _records(content: str, delimiter: str) -> Iterator[list[str] | DataUnavailable]:
    """The cells of every record that is not empty, or what is wrong with the line in which it begins.

    A cell in quotes may hold line breaks, so a quote that is not closed takes the lines after it, up to the next quote.
    Such a cell does not end where its quote closes, or the text ends in it. Only the line in which it begins is wrong
    then; reading goes on with the next one. In a record of one line, text after a closing quote belongs to the cell.
    """
    lines = io.StringIO(content, newline="").readlines()
    start = 0
    while start < len(lines):
        reader = csv.reader(islice(lines, start, None), delimiter=delimiter, strict=True)
        before = 0
        try:
            for record in reader:
                before = reader.line_num
                if record:
                    yield record
            return
        except csv.Error:
            start += before
        yield _lenient(lines[start], delimiter, start + 1)
        start += 1


def _lenient(line: str, delimiter: str, number: int) -> list[str] | DataUnavailable:
    """The cells of one line, or why it cannot be read by itself."""
    try:
        record, *rest = csv.reader([line, END], delimiter=delimiter)
    except csv.Error:
        return DataUnavailable(f"Line {number:,} has a cell of more than {csv.field_size_limit():,} characters.")
    if rest:  # the end is a record of its own, so the quotes of the line are closed
        return record
    return DataUnavailable(f"In line {number:,} a quote opens that is not closed. Write a quote in a cell twice.")


def rows(path: Path, delimiter: str = "\t") -> Iterator[tuple[int, dict[str, str]]]:
    """Number and cells of every line of a gzipped table that is not empty; in a table with tabs quotes are text.

    Raises `DataUnavailable` if the file is damaged.
    """
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            lines = csv.reader(file, delimiter=delimiter, quoting=quoting)
            header = next(lines, [])
            for cells in filter(None, lines):
                yield lines.line_num, dict(zip_longest(header, cells[: len(header)], fillvalue=""))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise DataUnavailable(f"{path.name} is not a gzip file of UTF-8 text: {error}. Fetch it again.") from error
