"""A user's own unlabelled texts: one per line, or a table with a column `text` and perhaps `text_pair`, or with columns
that the caller names.

A model's `input_names` decide which of them it can read: one name, the two names of a pair, or () if unknown.

A set of pairs is a user's own table, or everyday ones that are shipped with a model, without classes: the model's own
predictions count.

assets/pairs/<model>.json   [{"premise": …, "hypothesis": …}, …]
"""

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from explainers.datasets import tables
from explainers.datasets.column_names import usual_pair
from explainers.datasets.example import Example
from explainers.datasets.line_files import TEXTS
from explainers.errors import DataUnavailable
from explainers.installation import ASSETS

log = logging.getLogger(__name__)

FEWEST, MOST, LONGEST = 20, 20_000, 10_000
SUFFIXES = (TEXTS, *tables.SUFFIXES)  # of the files that can be given
BadRow = Callable[[DataUnavailable], object]
Columns = tuple[str, ...]  # of the first texts, and perhaps of the second
PAIR_SETS = ASSETS / "pairs"
FEWEST_PAIRS, MOST_PAIRS = 2, 500
NAMED = 5  # rows in a sentence


class NoTextColumn(DataUnavailable):
    """No column of a table has one of the usual names."""


def refused(row: DataUnavailable) -> None:
    """For who reads all rows or none."""
    raise row


def logged(row: DataUnavailable) -> None:
    """For the command line."""
    log.warning("%s The row is left out.", row)


def read_texts(
    path: Path, input_names: Sequence[str] = (), bad_row: BadRow = refused, columns: Columns = ()
) -> tuple[Example, ...]:
    """The texts of a file that are not empty, each once. Raises `DataUnavailable` if the file cannot be used.

    `columns` are those of the first and perhaps the second texts of a table. `bad_row` gets what is wrong with each row
    that cannot be read, which is left out; without it, the first raises.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataUnavailable(f"{path} cannot be read: {error.strerror}.") from error
    return check_texts(parse_texts(content, path.name, bad_row, columns), input_names)


def parse_texts(content: bytes, name: str, bad_row: BadRow = refused, columns: Columns = ()) -> list[Example]:
    """The rows of a table, or the lines of any other file; some may be empty."""
    if tables.is_table(name):
        return parse_table(content, name, bad_row, columns)
    if columns:
        raise DataUnavailable(f"{name} has a text per line and no column {columns[0][:40]!r}. Omit the column.")
    return parse_lines(tables.decode_text(content, name))


def parse_lines(content: str) -> list[Example]:
    return [Example(line.strip()) for line in content.splitlines()]


def parse_table(content: bytes, name: str, bad_row: BadRow = refused, columns: Columns = ()) -> list[Example]:
    """The texts of every row, with "" where the first one is missing."""
    texts = []
    for row in tables.read_user_table(content, name, lambda names: text_columns(names, columns)).rows:
        if isinstance(row, DataUnavailable):
            bad_row(row)
        else:
            first, *second = (cell.strip() for cell in row)
            texts.append(Example(first, (second or [""])[0] or None))
    return texts


def text_columns(names: Sequence[str], columns: Columns = ()) -> Columns:
    """The columns of both texts, or the first one alone: those that are given, else those with the usual names. Raises
    `DataUnavailable` if there is none."""
    missing = next((column for column in columns if column not in names), None)
    if missing is not None:
        raise DataUnavailable(f"The table has no column {missing[:40]!r}; it has {', '.join(names) or 'none'}.")
    if len(set(columns)) < len(columns):
        raise DataUnavailable(f"The column {columns[0][:40]!r} cannot hold both texts of a pair. Choose another one.")
    if columns:
        return columns
    if has_usual_columns(names):
        return usual_pair(names) or ("text",)
    raise NoTextColumn(
        f"The table needs a column named text; it has {', '.join(names) or 'none'}. "
        "For pairs it needs text and text_pair, or premise and hypothesis."
    )


def has_usual_columns(names: Sequence[str]) -> bool:
    """Return whether the columns can be told by their names alone."""
    return "text" in names or usual_pair(names) is not None


def fitting(texts: Sequence[Example], input_names: Sequence[str]) -> list[Example]:
    """The texts that a model can read. Raises `DataUnavailable` if it reads pairs and these are none, or vice versa."""
    pairs = [text for text in texts if text.text and text.pair]
    if len(input_names) == 2 and not pairs:
        raise DataUnavailable(
            f"The model reads pairs, {input_names[0]} and {input_names[1]}, and these are single texts. Give a table "
            f"({listed(tables.SUFFIXES)}) with a column of each: premise and hypothesis, text and text_pair, or two "
            "that you choose."
        )
    if len(input_names) == 1 and pairs:
        raise DataUnavailable("The model reads single texts, and these are pairs. Omit the second column.")
    return pairs if len(input_names) == 2 else [text for text in texts if text.text]


def check_texts(texts: Sequence[Example], input_names: Sequence[str] = ()) -> tuple[Example, ...]:
    """The texts that are not empty, each once. Raises `DataUnavailable` if the model cannot read them, there are too
    few or too many, or one is too long."""
    unique = tuple(dict.fromkeys(fitting(texts, input_names) if any(text.text for text in texts) else ()))
    if not FEWEST <= len(unique) <= MOST:
        raise DataUnavailable(f"A method learns from {FEWEST} to {MOST:,} different texts; {len(unique):,} given.")
    return check_length(unique)


def check_length(texts: tuple[Example, ...]) -> tuple[Example, ...]:
    """The texts, of which there is at least one. Raises `DataUnavailable` if one is too long."""
    longest = max(len(text.text) + len(text.pair or "") for text in texts)
    if longest > LONGEST:
        raise DataUnavailable(f"One text has {longest:,} characters; each may have at most {LONGEST:,}.")
    return texts


def is_visible(text: str) -> bool:
    """Return whether a text has a character that a reader sees: not only spaces, control and zero-width characters."""
    return any(character.isprintable() and not character.isspace() for character in text)


def listed(names: Sequence[str]) -> str:
    """ ".csv, .tsv or .parquet"."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def shipped_pairs(model: str, folder: Path = PAIR_SETS) -> tuple[Example, ...]:
    """The set that is shipped with a model; empty if there is none."""
    path = folder / f"{model}.json"
    if path.parent != folder or not path.is_file():  # a model's name may be a path
        return ()
    pairs = json.loads(path.read_text(encoding="utf-8"))
    return tuple(Example(pair["premise"], pair["hypothesis"]) for pair in pairs)


def read_pairs(content: bytes, name: str, columns: Columns = ()) -> tuple[Example, ...]:
    """The pairs of a user's table, each once, from the columns of both texts or those with the usual names. Raises
    `DataUnavailable` if it cannot be used."""
    if not tables.is_table(name):
        raise DataUnavailable(f"Give a table: a file that ends in {listed(tables.SUFFIXES)}.")
    if not content.strip():
        raise DataUnavailable(f"{name} is empty. Choose another file.")
    try:
        rows = parse_table(content, name, columns=columns)
    except NoTextColumn as error:
        raise DataUnavailable(
            f"A pair needs two columns, such as premise and hypothesis, and {name} does not have them."
        ) from error
    whole = [row for row in rows if row.text and row.pair]
    incomplete = [number for number, row in enumerate(rows, 1) if bool(row.text) != bool(row.pair)]
    if incomplete:
        listed_rows = ", ".join(map(str, incomplete[:NAMED])) + (" …" if len(incomplete) > NAMED else "")
        raise DataUnavailable(
            f"{len(incomplete):,} of {len(rows):,} rows have only one text: {listed_rows} (counted below the header). "
            "Give two columns, such as premise and hypothesis, and fill both."
        )
    pairs = tuple(dict.fromkeys(whole))
    if not pairs:
        raise DataUnavailable(f"{name} has no pairs below the names of its columns.")
    if not FEWEST_PAIRS <= len(pairs) <= MOST_PAIRS:
        raise DataUnavailable(f"A set has {FEWEST_PAIRS} to {MOST_PAIRS} different pairs; these are {len(pairs):,}.")
    return check_length(pairs)
