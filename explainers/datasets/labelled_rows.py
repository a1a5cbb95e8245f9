"""Rows of a person's own table: a text, perhaps a second one and a label, each with an id that is its own.

CSV, TSV, JSON lines or Parquet; a person names the columns. A row that cannot be used is left out, and a sentence says
in which line it stands and why; the others are kept. Without a column of ids a row's id is a checksum of its texts, so
that it does not depend on where the row stands.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from explainers.datasets import tables
from explainers.datasets.user_texts import LONGEST, listed
from explainers.errors import DataUnavailable

JSON_LINES = (".jsonl", ".ndjson")
SUFFIXES = (*tables.SUFFIXES, *JSON_LINES)  # of the files that can be given
LEADING = re.compile(r"\d+")  # of a class's name
SLIPS = 0.02  # of the numbers, up to which those that are no class are mistakes
SHOWN = 12  # columns or classes that a sentence lists at most


@dataclass(frozen=True)
class InputRow:
    """One input; `label` is the number of its class where that is known, `line` where it stands in its file."""

    id: str
    text: str
    pair: str | None = None
    label: int | None = None
    line: int = 0


@dataclass(frozen=True)
class Columns:
    """Names of the columns; empty ones are not read. `classes` are labels of the table that are called otherwise by the
    model, each with the name of its class: ("pos", "positive")."""

    text: str = "text"
    pair: str = ""
    label: str = ""
    id: str = ""
    classes: tuple[tuple[str, str], ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """Return the columns that are read, each once."""
        return tuple(dict.fromkeys(filter(None, (self.text, self.pair, self.label, self.id))))


@dataclass(frozen=True)
class ReadRows:
    """The rows that can be used, and a sentence for each that cannot; `sha256` is that of the file."""

    rows: tuple[InputRow, ...]
    problems: tuple[str, ...]
    sha256: str


Record = tuple[int, dict[str, str] | DataUnavailable]  # a line, and its cells by column


def column_names(content: bytes, name: str) -> tuple[str, ...]:
    """Return the columns of a file. Raises `DataUnavailable` if it is no table."""
    _check_suffix(name)
    if Path(name).suffix.lower() in JSON_LINES:
        records = (cells for _, cells in _json_lines(content, name) if isinstance(cells, dict))
        return tuple(dict.fromkeys(column for cells in records for column in cells))
    header: list[str] = []

    def choose(names: Sequence[str]) -> Sequence[str]:
        header.extend(names)
        return ()

    tables.read_user_table(content, name, choose, lenient=True)
    return tuple(header)


def read_file(path: Path, columns: Columns, labels: Sequence[str], input_names: Sequence[str] = ()) -> ReadRows:
    """`read_rows` of a file. Raises `DataUnavailable` if it cannot be read."""
    try:
        return read_rows(path.read_bytes(), path.name, columns, labels, input_names)
    except OSError as error:
        raise DataUnavailable(f"{path} cannot be read: {error.strerror}.") from error


def read_rows(
    content: bytes, name: str, columns: Columns, labels: Sequence[str], input_names: Sequence[str] = ()
) -> ReadRows:
    """Return the rows of a table for a model with these `labels` and inputs.

    A label is the name of a class, whatever its case, or its number, or stands in `columns.classes`; an empty cell is
    none. Raises `DataUnavailable` if no row can be used, and for a class in `columns.classes` that the model does not
    have.
    """
    _check_suffix(name)
    if columns.classes and not columns.label:
        raise DataUnavailable("Classes are given to labels. Name the column of the labels.")
    for label, called in columns.classes:
        if called not in labels:
            raise DataUnavailable(f"{label!r} cannot be the class {called!r}: there are {_listed_classes(labels)}.")
    if len(input_names) == 2 and not columns.pair:
        raise DataUnavailable(
            f"The model reads pairs, {' and '.join(input_names)}. Name the column of the second text."
        )
    if len(input_names) == 1 and columns.pair:
        raise DataUnavailable("The model reads single texts. Omit the column of the second text.")
    records = list(_records(content, name, columns))
    unsure = _unsure([cells for _, cells in records], columns.label, labels) if columns.label else ()
    rows: list[InputRow] = []
    problems: list[str] = []
    lines: dict[str, int] = {}  # by id
    copies: Counter[str] = Counter()
    for line, cells in records:
        try:
            row = _row(line, cells, columns, labels, copies, unsure)
            if row.id in lines:
                raise DataUnavailable(f"Line {line:,} has the id {row.id!r} of line {lines[row.id]:,}.")
        except DataUnavailable as error:
            problems.append(f"{error} The row is left out.")
            continue
        lines[row.id] = line
        rows.append(row)
    if not rows:
        reason = f"No row of {name} can be used. {problems[0]}" if problems else f"{name} has no rows."
        raise DataUnavailable(reason)
    return ReadRows(tuple(rows), tuple(problems), hashlib.sha256(content).hexdigest())


def text_id(text: str, pair: str | None) -> str:
    """Return 12 digits that follow from the texts."""
    return hashlib.sha256(f"{text}\0{pair or ''}".encode()).hexdigest()[:12]


def _row(
    line: int,
    cells: dict[str, str] | DataUnavailable,
    columns: Columns,
    labels: Sequence[str],
    copies: Counter[str],
    unsure: Collection[str],
) -> InputRow:
    """Return the row; `copies` counts texts that were read before, and labels in `unsure` need a class in `columns`.
    Raises `DataUnavailable` with its line."""
    if isinstance(cells, DataUnavailable):
        raise cells
    if _has_surrogates(cells):
        raise DataUnavailable(f"Line {line:,} is not UTF-8. Save it as UTF-8.")
    text, pair = cells[columns.text].strip(), cells.get(columns.pair, "").strip() if columns.pair else None
    if not text or pair == "":
        raise DataUnavailable(f"Line {line:,} has no {'text' if not text else 'second text'}.")
    length = len(text) + len(pair or "")
    if length > LONGEST:
        raise DataUnavailable(f"Line {line:,} has {length:,} characters; each input may have at most {LONGEST:,}.")
    label = None
    if columns.label:
        cell = cells[columns.label].strip()
        given = {label.casefold(): called for label, called in columns.classes}.get(cell.casefold())
        label = labels.index(given) if given else _label(cell, () if cell in unsure else labels, labels, line)
    return InputRow(_id(cells, columns, text, pair, line, copies), text, pair, label, line)


def _id(cells: dict[str, str], columns: Columns, text: str, pair: str | None, line: int, copies: Counter[str]) -> str:
    if columns.id:
        if not cells[columns.id].strip():
            raise DataUnavailable(f"Line {line:,} has no id.")
        return cells[columns.id].strip()
    id = text_id(text, pair)
    copies[id] += 1
    return id if copies[id] == 1 else f"{id}-{copies[id]}"


def _label(cell: str, known: Sequence[str], labels: Sequence[str], line: int) -> int | None:
    """Return the number of the class among those that are known. Raises `DataUnavailable` for another one."""
    if not cell:
        return None
    number = class_number(cell, known)
    if number is None and class_number(cell, labels) is not None:
        raise DataUnavailable(
            f"Line {line:,} has the label {cell[:40]!r}. Numbers here may be ratings, or counted from 1: give each its "
            f"class, with --label-class {cell[:40]}={labels[0]} or on the page."
        )
    if number is None:
        raise DataUnavailable(f"Line {line:,} has the label {cell[:40]!r}; the classes are {_listed_classes(labels)}.")
    return number


def class_number(cell: str, labels: Sequence[str]) -> int | None:
    """Return the number of the class that a label names, in any case if that is unambiguous, or gives as a number; None
    for no class.

    Where all names of classes begin with a number, as in "1 star", a number is that of a name.
    """
    if cell in labels:
        return labels.index(cell)
    same = [number for number, label in enumerate(labels) if label.casefold() == cell.casefold()]
    if same:
        return same[0] if len(same) == 1 else None
    number, leading = _number(cell), _leading(labels)
    if number is None:
        return None
    if leading:
        return leading.index(number) if leading.count(number) == 1 else None
    return number if number < len(labels) else None


def unknown_labels(content: bytes, name: str, column: str, labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels in the column that name no class for sure, in the order of the table.

    Numbers do so only where 0 is among them and nearly all are numbers of classes: they could be ratings from 1 to 5,
    or classes that are counted from 1. Lines that are not UTF-8 are left out.
    """
    return _unsure([cells for _, cells in _records(content, name, Columns(column))], column, labels)


def _unsure(records: Iterable[dict[str, str] | DataUnavailable], column: str, labels: Sequence[str]) -> tuple[str, ...]:
    cells = Counter(row[column].strip() for row in records if isinstance(row, dict) and not _has_surrogates(row))
    found = [cell for cell in cells if cell]
    unknown = {cell for cell in found if class_number(cell, labels) is None}
    numbers = {cell for cell in found if _number(cell) is not None and cell not in labels}
    strange, all_ = (sum(cells[cell] for cell in some) for some in (numbers & unknown, numbers))
    counted = bool(_leading(labels)) or 0 in map(_number, numbers)
    if numbers and (strange > SLIPS * all_ or not counted):
        unknown |= numbers
    return tuple(cell for cell in found if cell in unknown)


def _has_surrogates(row: dict[str, str]) -> bool:
    return any(map(tables.has_surrogates, row.values()))


def _leading(labels: Sequence[str]) -> list[int]:
    """Return the numbers with which the names of all classes begin; none where one begins otherwise."""
    found = [LEADING.match(label) for label in labels]
    return [int(digits[0]) for digits in found if digits] if all(found) else []


def probable_class(label: str, labels: Sequence[str]) -> str | None:
    """Return the only class whose name begins with the label, or with which the label begins; None without one, and for
    numbers."""
    short = label.casefold()
    like = [name for name in labels if name.casefold().startswith(short) or short.startswith(name.casefold())]
    return like[0] if short and _number(label) is None and len(like) == 1 else None


def _number(cell: str) -> int | None:
    """Return the number that a cell is, also as written by a program that holds numbers as "1.0"."""
    digits = cell.removesuffix(".0")
    return int(digits) if digits.isascii() and digits.isdecimal() else None


def _listed_classes(labels: Sequence[str]) -> str:
    return ", ".join(f"{name} ({number})" for number, name in enumerate(labels[:SHOWN]))


def _records(content: bytes, name: str, columns: Columns) -> Iterator[Record]:
    """Yield the lines that are not empty. Raises `DataUnavailable` if a column is missing."""
    if Path(name).suffix.lower() in JSON_LINES:
        _check_columns(columns, column_names(content, name), name)
        for line, cells in _json_lines(content, name):
            missing = dict.fromkeys(columns.named, "")
            yield line, {**missing, **cells} if isinstance(cells, dict) else cells
        return

    def choose(names: Sequence[str]) -> Sequence[str]:
        _check_columns(columns, names, name)
        return columns.named

    table = tables.read_user_table(content, name, choose, lenient=True)
    for line, row in zip(table.lines, table.rows, strict=True):
        yield line, row if isinstance(row, DataUnavailable) else dict(zip(table.columns, row, strict=True))


def _json_lines(content: bytes, name: str) -> Iterator[Record]:
    """Yield every object, its values as texts; null is empty."""
    for line, text in enumerate(tables.decode_leniently(content, name).split("\n"), start=1):
        if not text.strip():
            continue
        if tables.has_surrogates(text):
            yield line, DataUnavailable(f"Line {line:,} is not UTF-8. Save it as UTF-8.")
            continue
        try:
            value = tables.parsed_json(text)
        except DataUnavailable as error:
            yield line, DataUnavailable(f"Line {line:,}: {error}")
            continue
        if isinstance(value, dict):
            yield line, {str(key): "" if cell is None else str(cell) for key, cell in value.items()}
        else:
            yield line, DataUnavailable(f"Line {line:,} is not a JSON object.")


def _check_columns(columns: Columns, present: Sequence[str], name: str) -> None:
    missing = [column for column in columns.named if column not in present]
    if missing:
        listed_columns = ", ".join(present[:SHOWN]) + (", …" if len(present) > SHOWN else "") or "none"
        raise DataUnavailable(f"{name} has no column {missing[0]!r}. Its columns are: {listed_columns}.")


def _check_suffix(name: str) -> None:
    if Path(name).suffix.lower() not in SUFFIXES:
        raise DataUnavailable(f"{name} is no table that can be read. Give a {listed(SUFFIXES)} file.")
