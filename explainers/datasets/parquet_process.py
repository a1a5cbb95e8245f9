"""Reads a Parquet file in a process of its own: a single damaged byte can end whoever reads it (C++ exceptions that the
library does not catch). Run by `tables.read_parquet`.

    in   the length of the file in 8 bytes, and the file
    out  {"names": [...]}, the columns
    in   {"columns": [...], "most_rows": …, "largest": …, "numbers": …}, which of them to read, the limits in rows and
         bytes, and whether whole numbers may stand in place of texts
    out  {"cells": [[texts, numbers], ...]}, for each column its different texts and the number of each row's, -1 where
         it is missing; or {"problem": …}, a sentence

With the path of a file as its argument it reads that one. Asked for {"columns": [...], "batches": true}, it answers
{"batch": [[text, …], …]}, a list per column, again and again, and {"batch": []} at the end.
"""

import io
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from explainers.errors import DataUnavailable

LONGEST = 120  # seconds of work before an answer, after which the process ends by itself
BATCH, LONGEST_CELL = 1_000, 131_072  # rows, and characters: no reader uses such a cell
BUFFER = 2**20  # bytes of a column that are read at once
MOST_MEMORY = 4 * 2**30  # bytes of addresses
TEXT = ("string", "large_string", "string_view", "null")  # types of columns


def main() -> None:
    limit_memory()
    limit_time(LONGEST)
    path, content = next(iter(sys.argv[1:]), ""), b""
    if not path:
        content = sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(8), "big"))
    with parquet.ParquetFile(path or io.BytesIO(content), buffer_size=BUFFER if path else 0) as file:
        answer({"names": file.schema_arrow.names})
        request = json.loads(sys.stdin.buffer.readline())
        try:
            if request.pop("batches", False):
                for batch in batches(file, request["columns"]):
                    answer({"batch": batch})
                answer({"batch": []})
            else:
                answer({"cells": cells(content, **request)})
        except DataUnavailable as error:
            answer({"problem": str(error)})


def batches(file: parquet.ParquetFile, columns: Sequence[str]) -> Iterator[list[list[str]]]:
    """Yield the cells by column, "" where one is missing. Raises `DataUnavailable` for a column without texts."""
    kinds = [file.schema_arrow.field(column).type for column in columns]
    for column, kind in zip(columns, kinds, strict=True):
        if not pa.types.is_integer(kind):
            check_text(column, kind)
    for batch in file.iter_batches(batch_size=BATCH, columns=list(columns), use_threads=False):
        if len(batch):
            read = (batch.column(column) for column in columns)
            texts = (one.cast(pa.string()) if pa.types.is_integer(one.type) else one for one in read)
            yield [["" if cell is None else cell[:LONGEST_CELL] for cell in one.to_pylist()] for one in texts]


def limit_memory() -> None:
    """Where the system can."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_time(seconds: int) -> None:
    """Where the system can; 0 for no limit."""
    with suppress(AttributeError):
        signal.alarm(seconds)


def answer(content: dict[str, Any]) -> None:
    """Whoever reads the answer may take any time."""
    line = json.dumps(content) + "\n"
    limit_time(0)
    sys.stdout.write(line)
    sys.stdout.flush()
    limit_time(LONGEST)


def cells(
    content: bytes, columns: Sequence[str], most_rows: int, largest: int, *, numbers: bool = False
) -> list[tuple[list[str], list[int]]]:
    """Per column its different texts and the number of each row's. Raises `DataUnavailable` with a sentence."""
    with parquet.ParquetFile(io.BytesIO(content)) as file:
        kinds = {column: file.schema_arrow.field(column).type for column in columns}
        whole = [column for column, kind in kinds.items() if numbers and pa.types.is_integer(kind)]
        for column, kind in kinds.items():
            if column not in whole:
                check_text(column, kind)
        check_size(file.metadata.num_rows, unpacked(file.metadata, columns), most_rows, largest)
    # As dictionaries, repeated texts are in memory once.
    texts = [column for column in columns if column not in whole]
    table = parquet.read_table(io.BytesIO(content), columns=list(columns), read_dictionary=texts)
    for column in whole:
        table = table.set_column(table.column_names.index(column), column, table.column(column).cast(pa.string()))
    read = [encoded(table.column(column)) for column in columns]
    size = sum(len(texts[number]) for texts, numbers in read for number in numbers if number >= 0)
    check_size(len(table), size, most_rows, largest)
    return read


def encoded(column: pa.ChunkedArray) -> tuple[list[str], list[int]]:
    """The different texts of a column, and the number of each row's; -1 where it is missing."""
    if pa.types.is_null(column.type):
        return [], [-1] * len(column)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    texts: list[str] = []
    numbers: list[int] = []
    for chunk in column.unify_dictionaries().chunks:
        texts = chunk.dictionary.to_pylist()
        numbers += [-1 if number is None else number for number in chunk.indices.to_pylist()]
    if None in texts:  # missing, although the row has a number
        numbers = [-1 if number < 0 or texts[number] is None else number for number in numbers]
        texts = [text or "" for text in texts]
    return texts, numbers


def check_text(column: str, kind: Any) -> None:
    """Raises `DataUnavailable` if a column holds anything but text, or nothing at all."""
    dictionary = str(kind).startswith("dictionary<")
    if str(kind.value_type if dictionary else kind) not in TEXT:
        raise DataUnavailable(f"The column {column} holds {str(kind)[:80]}. It must hold text.")


def check_size(rows: int, size: int, most_rows: int, largest: int) -> None:
    """`size` in bytes. Raises `DataUnavailable` if a table is too large."""
    if rows > most_rows or size > largest:
        raise DataUnavailable(
            f"The table is too large: {rows:,} rows and {size / 1e6:,.0f} MB once unpacked. "
            f"At most {most_rows:,} rows and {largest // 10**6:,} MB are read."
        )


def unpacked(metadata: Any, columns: Sequence[str]) -> int:
    """The size of these columns once unpacked, in bytes, as the file declares it."""
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    chunks = (group.column(number) for group in groups for number in range(group.num_columns))
    return sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema in columns)


if __name__ == "__main__":
    main()
