"""Tables: those of users (CSV, TSV, Parquet), and gzipped ones as data sets are published.

CSV and TSV are split by the `csv` module: it numbers the lines, limits the length of a field, and accepts quotes inside
a cell, all of which `pandas.read_csv` handles differently. Parquet is read by pandas.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from explainers.errors import DataUnavailable

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"
SUFFIXES = (*DELIMITERS, PARQUET)  # of users' tables
MOST_ROWS = 1_000_000  # of a Parquet file, in which repeated rows take no space
LARGEST = 200_000_000  # bytes of a Parquet file once unpacked: 20,000 texts of 10,000 characters
TEXT = ("string", "large_string", "string_view", "null")  # types of columns
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
        return _read_parquet(content, name, choose)
    return _read_delimited(decode_text(content, name), DELIMITERS[suffix], choose)


def _read_delimited(content: str, delimiter: str, choose: Choice) -> "pd.DataFrame":
    import pandas as pd  # half a second, which only tables need

    try:
        table = csv.DictReader(io.StringIO(content, newline=""), delimiter=delimiter)
        columns = choose(table.fieldnames or ())
        cells = [[row[column] or "" for column in columns] for row in table]
    except csv.Error as error:
        raise DataUnavailable(f"The table cannot be read: {error}.") from error
    return pd.DataFrame(cells, columns=list(columns), dtype=str)


def _read_parquet(content: bytes, name: str, choose: Choice) -> "pd.DataFrame":
    import pandas as pd
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(io.BytesIO(content)) as file:
            schema, metadata = file.schema_arrow, file.metadata
        columns = list(choose(schema.names))
        for column in columns:
            _check_text(column, schema.field(column).type)
        _check_size(metadata.num_rows, _unpacked(metadata, columns))
        # As dictionaries, repeated texts are in memory once.
        frame = pd.read_parquet(io.BytesIO(content), engine="pyarrow", columns=columns, read_dictionary=columns)
        _check_size(len(frame), sum(_characters(frame[column]) for column in columns))
    except DataUnavailable:
        raise
    except Exception as error:  # a damaged file can raise anything
        why = str(error).rstrip(".")
        raise DataUnavailable(f"{name} is not a readable Parquet file: {why}. Save it again.") from error
    return frame.astype(object).where(frame.notna(), "").astype(str)


def _check_text(column: str, kind: Any) -> None:
    """Raises `DataUnavailable` if a Parquet column holds anything but text, or nothing at all."""
    dictionary = str(kind).startswith("dictionary<")
    if str(kind.value_type if dictionary else kind) not in TEXT:
        raise DataUnavailable(f"The column {column} holds {str(kind)[:80]}. It must hold text.")


def _check_size(rows: int, size: int) -> None:
    """`size` in bytes. Raises `DataUnavailable` if a table is too large."""
    if rows > MOST_ROWS or size > LARGEST:
        raise DataUnavailable(
            f"The table is too large: {rows:,} rows and {size / 1e6:,.0f} MB once unpacked. "
            f"At most {MOST_ROWS:,} rows and {LARGEST // 10**6:,} MB are read."
        )


def _unpacked(metadata: Any, columns: Sequence[str]) -> int:
    """The size of these columns once unpacked, in bytes, as the Parquet file declares it."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    chunks = (group.column(number) for group in groups for number in range(group.num_columns))
    return sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema in columns)


def _characters(column: "pd.Series") -> int:
    """The number of characters of all cells of a categorical column; 0 for a column without categories."""
    if column.dtype != "category":
        return 0
    lengths, codes = column.cat.categories.str.len().to_numpy(), column.cat.codes.to_numpy()
    return int(lengths[codes[codes >= 0]].sum())


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
