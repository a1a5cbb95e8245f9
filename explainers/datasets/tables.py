"""Tables: those of users (CSV, TSV, Parquet), and gzipped ones as data sets are published.

CSV and TSV are split by the `csv` module: it numbers the lines, limits the length of a field, and accepts quotes inside
a cell, all of which `pandas.read_csv` handles differently. Parquet is read by pyarrow in a process of its own.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from explainers.datasets.parquet_file import read_parquet
from explainers.errors import DataUnavailable

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"
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


def read_frame(content: bytes, name: str, choose: Choice) -> "pd.DataFrame":
    """The chosen columns of a user's table as strings, "" for missing cells. `DataUnavailable` if it cannot be read."""
    suffix = Path(name).suffix.lower()
    if suffix == PARQUET:
        return read_parquet(content, name, choose, most_rows=MOST_ROWS, largest=LARGEST)
    return _read_delimited(decode_text(content, name), DELIMITERS[suffix], choose)


def _read_delimited(content: str, delimiter: str, choose: Choice) -> "pd.DataFrame":
    import pandas as pd  # half a second, which only tables need

    try:
        table = csv.DictReader(io.StringIO(content, newline=""), delimiter=delimiter)
        columns = choose(table.fieldnames or ())
        cells = [[row[column] or "" for column in columns] for row in table]
    except csv.Error as error:
        raise DataUnavailable(
            f"The table cannot be read. A quote may not be closed, or a cell may have more than "
            f"{csv.field_size_limit():,} characters. Check them, and save it again."
        ) from error
    return pd.DataFrame(cells, columns=list(columns), dtype=str)


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
