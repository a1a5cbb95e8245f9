"""What a column of a person's table probably holds, by its name, or by the length of its cells."""

from collections.abc import Sequence
from itertools import islice

from explainers.datasets import tables
from explainers.datasets.line_files import is_line_file, line_records
from explainers.errors import DataUnavailable

SAMPLED = 50  # rows by which the column of texts is told from others

PAIRS = (("text", "text_pair"), ("text", "pair"), ("premise", "hypothesis"))  # usual names of both texts
NAMES = {  # in lower case, the likeliest first
    "text": ("text", "sentence", "review", "premise", "sentence1", "content", "input", "question1", "q1", "text1"),
    "pair": ("pair", "text_pair", "hypothesis", "sentence2", "question2", "q2", "text2"),
    "label": ("label", "class", "target", "sentiment", "gold_label"),
    "id": ("id", "key", "idx", "guid", "no", "nr", "number", "index"),
    "image": ("image", "picture", "file", "path"),
    "rationale": ("rationale", "rationales"),
}


def guessed(kind: str, columns: Sequence[str], longest: str = "") -> str:
    """Return the column that probably holds what `NAMES` knows, else ""; for texts then the `longest` column, or the
    first, if possible one that is not called as one of another kind."""
    columns = [column for column in columns if column.strip()]
    by_name = {column.strip().casefold(): column for column in reversed(columns)}
    named = next((by_name[name] for name in NAMES[kind] if name in by_name), "")
    if named or kind != "text":
        return named
    others = {name for names in NAMES.values() for name in names}
    if longest in columns and longest.strip().casefold() not in others:
        return longest
    unnamed = (column for column in columns if column.strip().casefold() not in others)
    return next(unnamed, columns[0] if columns else "")


def usual_pair(columns: Sequence[str]) -> tuple[str, str] | None:
    """Return the columns of pairs with usual names; None without them."""
    return next((pair for pair in PAIRS if set(pair) <= set(columns)), None)


def guessed_pair(columns: Sequence[str], longest: str = "") -> tuple[str, str]:
    """Return the columns that probably hold the two texts of pairs, "" for one that cannot be told."""
    usual = usual_pair(columns)
    if usual is not None:
        return usual
    second = guessed("pair", columns)
    return guessed("text", [column for column in columns if column != second], longest), second


def longest_column(content: bytes, name: str) -> str:
    """Return the column with the longest cells in the first rows of a file; "" where they cannot be read."""
    lengths = {column: sum(map(len, cells)) for column, cells in _first_cells(content, name).items()}
    return max(lengths, key=lengths.__getitem__, default="")


def labelled_column(content: bytes, name: str, labels: Sequence[str]) -> str:
    """Return the column whose cells are names of classes, in any case, in the first rows of a file; "" without one, and
    where several are so. Cells without anything in them do not count."""
    classes = {label.casefold() for label in labels}
    filled = {column: {cell for cell in cells if cell} for column, cells in _first_cells(content, name).items()}
    found = [column for column, cells in filled.items() if cells and {cell.casefold() for cell in cells} <= classes]
    return found[0] if len(found) == 1 else ""


def number_columns(content: bytes, name: str) -> frozenset[str]:
    """Return the columns that hold numbers alone in the first rows of a file."""
    filled = {column: [cell for cell in cells if cell.strip()] for column, cells in _first_cells(content, name).items()}
    return frozenset(column for column, cells in filled.items() if cells and all(map(_is_number, cells)))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _first_cells(content: bytes, name: str) -> dict[str, list[str]]:
    """Return the cells of the first rows by column; none where they cannot be read."""
    found: dict[str, list[str]] = {}
    try:
        rows = line_records(content, name) if is_line_file(name) else tables.table_records(content, name, list)
        for _, cells in islice(rows, SAMPLED):
            for column, cell in cells.items() if isinstance(cells, dict) else ():
                found.setdefault(column, []).append(cell)
    except DataUnavailable:
        return {}
    return found
