"""A person's own unlabelled texts: one per line, or a table with a column `text` and perhaps `pair`."""

import csv
import io
from pathlib import Path

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable

FEWEST, MOST, LONGEST = 20, 20_000, 10_000
DELIMITERS = {".csv": ",", ".tsv": "\t"}


def read(path: Path) -> tuple[Example, ...]:
    """The texts of a file that are not empty, each once. Raises `DataUnavailable` with what is wrong."""
    try:
        content = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataUnavailable(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise DataUnavailable(f"{path.name} is not UTF-8 text. Save it as UTF-8.") from error
    return checked(parsed(content, path.suffix.lower()))


def parsed(content: str, suffix: str) -> list[Example]:
    """Lines of a text file, or the rows of a table (`.csv` or `.tsv`)."""
    if suffix not in DELIMITERS:
        return [Example(line.strip()) for line in content.splitlines()]
    try:
        table = csv.DictReader(io.StringIO(content, newline=""), delimiter=DELIMITERS[suffix])
        if "text" not in (table.fieldnames or ()):
            raise DataUnavailable(
                f"The table needs a column `text`; it has {', '.join(table.fieldnames or ()) or 'none'}."
            )
        return [Example((row["text"] or "").strip(), (row.get("pair") or "").strip() or None) for row in table]
    except csv.Error as error:
        raise DataUnavailable(f"The table cannot be read: {error}.") from error


def checked(texts: list[Example]) -> tuple[Example, ...]:
    """The texts that are not empty, each once, if they are enough and none is too long."""
    found = tuple(dict.fromkeys(each for each in texts if each.text))
    if not FEWEST <= len(found) <= MOST:
        raise DataUnavailable(f"A method learns from {FEWEST} to {MOST:,} different texts; these are {len(found):,}.")
    long = max(len(each.text) + len(each.pair or "") for each in found)
    if long > LONGEST:
        raise DataUnavailable(f"One text has {long:,} characters; each may have at most {LONGEST:,}.")
    return found
