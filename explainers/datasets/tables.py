"""Tables as data sets are published: gzip, UTF-8, a header line."""

import csv
import gzip
import zlib
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from explainers.errors import DataUnavailable


def rows(path: Path, delimiter: str = "\t") -> Iterator[tuple[int, dict[str, str]]]:
    """Number and cells of every line that is not empty; tabs mean no quotes. Raises `DataUnavailable` if damaged."""
    quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            lines = csv.reader(file, delimiter=delimiter, quoting=quoting)
            header = next(lines, [])
            for cells in filter(None, lines):
                yield lines.line_num, dict(zip_longest(header, cells[: len(header)], fillvalue=""))
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise DataUnavailable(f"{path.name} is not a gzip file of UTF-8 text: {error}. Fetch it again.") from error
