"""Tables: those of users (CSV, TSV, Parquet), and gzipped ones as data sets are published.

CSV and TSV are split by the `csv` module: it numbers the lines, limits the length of a field, and accepts quotes inside
a cell, all of which `pandas.read_csv` handles differently. Parquet is read by pyarrow in a process of its own
(`parquet_process`): what ends that reader ends no app.

`read_user_table` returns a whole table, `table_records` its rows one by one, of a file that memory need not hold.
"""

import csv
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, zip_longest
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from explainers.errors import DataUnavailable
from explainers.installation import IMPORTED_FROM

if TYPE_CHECKING:
    import pandas as pd


COMMAND = (sys.executable, "-P", "-m", "explainers.datasets.parquet_process")
PATIENCE = 60.0  # seconds for a file
KEPT = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR")  # of the environment; no secrets
UNREADABLE = "{} is not a readable Parquet file. Save it again."


def read_parquet(
    content: bytes,
    name: str,
    choose: Callable[[Sequence[str]], Sequence[str]],
    *,
    most_rows: int,
    largest: int,
    numbers: bool = False,
) -> "pd.DataFrame":
    """The chosen columns as strings, "" for missing cells; with `numbers` also columns of whole numbers. Raises
    `DataUnavailable` if the file cannot be used."""
    import pandas as pd

    with reader() as process:
        try:
            _send(process, len(content).to_bytes(8, "big") + content)
            columns = list(choose(_answer(process)["names"]))
            request = {"columns": columns, "most_rows": most_rows, "largest": largest, "numbers": numbers}
            _send(process, json.dumps(request).encode() + b"\n")
            read = _answer(process)
        except (OSError, ValueError) as error:  # it has ended: the pipe is closed, or its answer is cut off
            raise DataUnavailable(UNREADABLE.format(name)) from error
    if "problem" in read:
        raise DataUnavailable(read["problem"])
    cells = [[texts[number] if number >= 0 else "" for number in numbers] for texts, numbers in read["cells"]]
    return pd.DataFrame(dict(enumerate(cells)), dtype=object).set_axis(columns, axis="columns").astype(str)


def _parquet_records(source: "Source", name: str, choose: "Choice") -> "Iterator[Record]":
    """Yield the rows, whole numbers as texts and "" for missing cells; they come in batches."""
    path = source if isinstance(source, Path) else None
    with reader(path) as process:
        try:
            if isinstance(source, bytes):
                _send(process, len(source).to_bytes(8, "big") + source)
            columns = list(choose(_answer(process)["names"]))
            _send(process, json.dumps({"columns": columns, "batches": True}).encode() + b"\n")
        except (OSError, ValueError) as error:
            raise DataUnavailable(UNREADABLE.format(name)) from error
        line = 0
        while batch := _batch(process, name):
            for cells in zip(*batch, strict=True):
                line += 1
                yield line, dict(zip(columns, cells, strict=True))


def _batch(process: "subprocess.Popen[bytes]", name: str) -> list[list[str]]:
    """Return the next cells by column; nothing at the end."""
    try:
        read = _answer(process)
    except (OSError, ValueError) as error:
        raise DataUnavailable(UNREADABLE.format(name)) from error
    if "problem" in read:
        raise DataUnavailable(read["problem"])
    batch: list[list[str]] = read["batch"]
    return batch


@contextmanager
def reader(path: Path | None = None) -> "Iterator[subprocess.Popen[bytes]]":
    """The process, which reads the file at `path`, or what it is sent; it is ended after the block, or when it takes
    too long. One that reads a path, batch by batch, ends itself where a batch takes too long."""
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    process = subprocess.Popen(
        (*COMMAND, *([str(path)] if path else [])),
        env={**environment, "PYTHONPATH": str(IMPORTED_FROM), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    timer = Timer(PATIENCE, process.kill)
    timer.daemon = True
    if path is None:
        timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def _send(process: "subprocess.Popen[bytes]", content: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(content)
    process.stdin.flush()


def _answer(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Raises `ValueError` if there is none."""
    assert process.stdout is not None
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"
NOT_UTF8 = "{} is not UTF-8 text. Give text that is saved as UTF-8."
SURROGATE = re.compile("[\ud800-\udfff]")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
END = "\n"  # after a line: a record of its own, unless a quote is open
SUFFIXES = (*DELIMITERS, PARQUET)  # of users' tables
MOST_ROWS = 1_000_000  # of a Parquet file, in which repeated rows take no space
LARGEST = 200_000_000  # bytes of a Parquet file once unpacked: 20,000 texts of 10,000 characters
LONGEST_LINE = 10_000_000  # characters
Records = Iterator[tuple[int, list[str] | DataUnavailable]]  # the line in which each begins, and its cells
Choice = Callable[[Sequence[str]], Sequence[str]]  # from a table's columns to those to read
BinaryFile = io.BytesIO | io.BufferedReader
Source = bytes | Path  # the content of a file, or where it is
Record = tuple[int, dict[str, str] | DataUnavailable]  # a line, and its cells by column or what is wrong with it


def is_table(name: str) -> bool:
    return Path(name).suffix.lower() in SUFFIXES


def decode_text(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataUnavailable(NOT_UTF8.format(name)) from error


def decode_leniently(content: bytes, name: str) -> str:
    """The text, with a lone surrogate for each byte that is not UTF-8. Raises `DataUnavailable` if one is in the first
    line: then the whole file is of another kind."""
    text = content.decode("utf-8-sig", errors="surrogateescape")
    if has_surrogates(text.partition("\n")[0]):
        raise DataUnavailable(NOT_UTF8.format(name))
    return text


def has_surrogates(text: str) -> bool:
    """Return whether some of the text is no character, such as a byte that was not UTF-8."""
    return not text.isascii() and SURROGATE.search(text) is not None


TableRow = tuple[str, ...] | DataUnavailable


def formula_like(cell: str) -> bool:
    """Return whether a spreadsheet may run the cell as a formula (OWASP, CSV injection)."""
    return cell.startswith(FORMULA_STARTS)


class UserTable(NamedTuple):
    """The chosen columns, and per row their cells, "" where one is missing, or what is wrong with the row; and the
    number of the line in which it begins, of a Parquet file that of the row."""

    columns: tuple[str, ...]
    rows: list[TableRow]
    lines: Sequence[int]


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


def read_user_table(
    content: bytes, name: str, choose: Choice, *, lenient: bool = False, numbers: bool = False
) -> UserTable:
    """The chosen columns of a CSV, TSV or Parquet file. Raises `DataUnavailable` if it cannot be read.

    With `numbers` columns of whole numbers are accepted; a `lenient` reader accepts them too, and bytes that are not
    UTF-8 as in `decode_leniently`.
    """
    suffix = Path(name).suffix.lower()
    if suffix == PARQUET:
        frame = read_parquet(content, name, choose, most_rows=MOST_ROWS, largest=LARGEST, numbers=lenient or numbers)
        cells = list(frame.itertuples(index=False, name=None))
        return UserTable(tuple(map(str, frame.columns)), cells, range(1, len(cells) + 1))
    decode = decode_leniently if lenient else decode_text
    text = decode(content, name)
    return _read_delimited(text, delimiter_of(text, DELIMITERS[suffix]), choose)


def delimiter_of(text: str, usual: str) -> str:
    """Return what separates the columns: the usual delimiter, or where the header has none of it a semicolon, as
    spreadsheets write in half of Europe, or a tab."""
    header = text.partition(END)[0]
    return next((delimiter for delimiter in (usual, ";", "\t") if delimiter in header), usual)


def table_records(source: Source, name: str, choose: Choice) -> Iterator[Record]:
    """Yield the chosen columns of every row of a CSV, TSV or Parquet file, as a `lenient` reader; only the row at hand
    is in memory. Raises `DataUnavailable` if the file cannot be read."""
    suffix = Path(name).suffix.lower()
    if suffix == PARQUET:
        yield from _parquet_records(source, name, choose)
        return
    with opened(source, name) as file:
        lines = text_lines(file, name)
        first = next(lines, "")
        records = _records(chain([first], lines), delimiter_of(first, DELIMITERS[suffix]))
        columns, places = _header(records, choose)
        for line, record in records:
            if isinstance(record, DataUnavailable):
                yield line, record
            else:
                cells = (record[place] if place < len(record) else "" for place in places)
                yield line, dict(zip(columns, cells, strict=True))


@contextmanager
def opened(source: Source, name: str) -> Iterator[BinaryFile]:
    """The file, from its beginning. Raises `DataUnavailable` if it cannot be read."""
    try:
        file: BinaryFile = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
        with file:
            yield file
    except OSError as error:
        raise DataUnavailable(f"{name} cannot be read: {error.strerror}.") from error


def checksum_of(source: Source, name: str) -> str:
    """Return the SHA-256 of a file."""
    with opened(source, name) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text_lines(file: BinaryFile, name: str, newline: Literal["", "\n"] = "") -> Iterator[str]:
    """Yield the lines, decoded as by `decode_leniently`; they end as `newline` says, see `io.TextIOWrapper`."""
    with io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline=newline) as text:
        number = 0
        while line := text.readline(LONGEST_LINE + 1):
            number += 1
            if number == 1 and has_surrogates(line):
                raise DataUnavailable(NOT_UTF8.format(name))
            if len(line) > LONGEST_LINE:
                raise DataUnavailable(f"Line {number:,} of {name} has more than {LONGEST_LINE:,} characters. Split it.")
            yield line


def _read_delimited(content: str, delimiter: str, choose: Choice) -> UserTable:
    records = _records(io.StringIO(content, newline=""), delimiter)
    columns, places = _header(records, choose)
    rows: list[TableRow] = []
    lines: list[int] = []
    for line, record in records:
        lines.append(line)
        if isinstance(record, DataUnavailable):
            rows.append(record)
        else:
            rows.append(tuple(record[place] if place < len(record) else "" for place in places))
    return UserTable(columns, rows, lines)


def _header(records: Records, choose: Choice) -> tuple[tuple[str, ...], list[int]]:
    """The columns to read, and their places, from the first of the records."""
    _, header = next(records, (1, []))
    if isinstance(header, DataUnavailable):
        raise header
    columns = tuple(choose(header))
    place_of = {column: place for place, column in enumerate(header)}
    return columns, [place_of[column] for column in columns]


def _records(lines: Iterable[str], delimiter: str) -> Records:
    """The line in which every record that is not empty begins, and its cells, or what is wrong with the line.

    A cell in quotes may hold line breaks, so a quote that is not closed takes the lines after it, up to the next quote.
    Such a cell does not end where its quote closes, or the text ends in it. Only the line in which it begins is wrong
    then; reading goes on with the next one. In a record of one line, text after a closing quote belongs to the cell.
    """
    rest, again, own = iter(lines), deque[str](), list[str]()  # `own` are the lines of the record at hand

    def following() -> Iterator[str]:
        while line := again.popleft() if again else next(rest, ""):
            own.append(line)
            yield line

    before = 0  # lines
    while True:
        try:
            for record in csv.reader(following(), delimiter=delimiter, strict=True):
                first, before = before + 1, before + len(own)
                own.clear()
                if record:
                    yield first, record
            return
        except csv.Error:
            begun, *after = own
        again.extendleft(reversed(after))
        own.clear()
        before += 1
        yield before, _lenient(begun, delimiter, before)


def _lenient(line: str, delimiter: str, number: int) -> list[str] | DataUnavailable:
    """The cells of one line, or why it cannot be read by itself."""
    try:
        record, *rest = csv.reader([line, END], delimiter=delimiter)
    except csv.Error:
        return DataUnavailable(f"Line {number:,} has a cell of more than {csv.field_size_limit():,} characters.")
    if rest:  # the end is a record of its own, so the quotes of the line are closed
        return record
    return DataUnavailable(f"In line {number:,} a quote opens that is not closed. Write a quote in a cell twice.")


def rows(
    path: Path, delimiter: str = "\t", header: Sequence[str] = (), *, quoted: bool = False
) -> Iterator[tuple[int, dict[str, str]]]:
    """Number and cells of every line of a gzipped table that is not empty; in a table with tabs quotes are text, unless
    its cells are `quoted`.

    A table without a line of names needs a `header`. Raises `DataUnavailable` if the file is damaged.
    """
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" and not quoted else csv.QUOTE_MINIMAL
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            lines = csv.reader(file, delimiter=delimiter, quoting=quoting)
            names = list(header) or next(lines, [])
            for cells in filter(None, lines):
                yield lines.line_num, dict(zip_longest(names, cells[: len(names)], fillvalue=""))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise DataUnavailable(f"{path.name} is not a gzip file of UTF-8 text: {error}. Fetch it again.") from error
