"""Rows of a person's own table: a text, perhaps a second one and a label, each with an id that is its own.

CSV, TSV, JSON lines or Parquet, where a person names the columns, or a text per line. A row that cannot be used is left
out, and a sentence says in which line it stands and why; the others are kept. Without a column of ids a row's id is a
checksum of its texts, so that it does not depend on where the row stands.

A file is read twice, row by row, the first time to see which ids repeat and which labels there are. Only the rows that
are kept stay in memory, besides 8 bytes for each of the others, and about 100 for each whose id repeats.
"""

import hashlib
import heapq
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from explainers.datasets import line_files, tables, user_texts
from explainers.datasets.cells import Rationale, label_number, listed_classes, parsed_rationale, unsure_labels
from explainers.datasets.images.files import MOST_FILES, ImageFolder, NamedImages
from explainers.datasets.line_files import is_line_file, is_text_file, line_records
from explainers.datasets.tables import Record, Source
from explainers.errors import DataUnavailable, MissingColumn

TABLES = (*tables.SUFFIXES, *line_files.JSON_LINES)
SUFFIXES = (*TABLES, line_files.TEXTS)  # of the files that can be given
MOST_ROWS = 20_000_000  # of a file
MOST_LABELS = 2_000  # different ones in a file
MOST_KEPT = 200_000_000  # characters of the rows that are kept
SPAN = 100  # characters, as which a span that people marked counts, and each person: either takes as many bytes
NAMED = 1_000  # rows that are left out and named


@dataclass(frozen=True)
class InputRow:
    """One input; `label` is the number of its class where that is known, `line` where it stands in its file,
    `rationale` what people marked as evidence, and `image` the name of an image's file."""

    id: str
    text: str
    pair: str | None = None
    label: int | None = None
    line: int = 0
    rationale: Rationale = ()
    image: str = ""


@dataclass(frozen=True)
class Columns:
    """Names of the columns; empty ones are not read. `classes` are labels of the table that are called otherwise by the
    model, each with the name of its class: ("pos", "positive")."""

    text: str = "text"
    pair: str = ""
    label: str = ""
    id: str = ""
    classes: tuple[tuple[str, str], ...] = ()
    rationale: str = ""
    image: str = ""

    @property
    def named(self) -> tuple[str, ...]:
        """Return the columns that are read, each once."""
        columns = (self.text, self.pair, self.label, self.id, self.rationale, self.image)
        return tuple(dict.fromkeys(filter(None, columns)))

    @property
    def decisive(self) -> tuple[str, ...]:
        """Return the columns from which the id of a row follows."""
        return (self.id,) if self.id else tuple(filter(None, (self.text, self.pair, self.image)))


@dataclass(frozen=True)
class ReadRows:
    """The rows that are kept, of `usable` ones, and a sentence for each of the first `NAMED` of those that cannot be
    used, `left_out` in number; `sha256` is that of the file, `split` the part of a data set that has parts."""

    rows: tuple[InputRow, ...]
    problems: tuple[str, ...]
    sha256: str
    usable: int
    left_out: int
    split: str = ""


@dataclass
class SampledRows:
    """`most` of the rows that are added, by `seed` and ids, wherever they stand; all for 0."""

    name: str  # of the file, in a sentence
    most: int
    seed: int
    added: int = 0
    characters: int = 0
    heap: list[tuple[int, int, InputRow]] = field(default_factory=list)  # the row that goes next comes first

    def add(self, row: InputRow) -> None:
        """Raises `DataUnavailable` when the rows become more than the memory is meant to hold."""
        digest = hashlib.sha256(f"take {self.seed}:{row.id}".encode()).digest() if self.most else b""
        entry = -int.from_bytes(digest), self.added, row
        self.added += 1
        self.characters += _characters(row)
        if self.most and len(self.heap) == self.most:
            _, _, left = heapq.heappushpop(self.heap, entry)
            self.characters -= _characters(left)
        else:
            heapq.heappush(self.heap, entry)
        if self.characters > MOST_KEPT:
            raise DataUnavailable(
                f"More than {MOST_KEPT // 10**6} MB of texts and marks of {self.name} would be explained. Choose fewer "
                "inputs (--n), which are taken at random."
            )

    def in_order(self) -> tuple[InputRow, ...]:
        """Return the rows in the order of the file."""
        return tuple(row for _, _, row in sorted(self.heap, key=lambda entry: entry[1]))


def _characters(row: InputRow) -> int:
    spans = sum(1 + len(of_text) + len(of_pair) for of_text, of_pair in row.rationale)
    return len(row.id) + len(row.text) + len(row.pair or "") + len(row.image) + SPAN * spans


def column_names(source: Source, name: str) -> tuple[str, ...]:
    """Return the columns of a file. Raises `DataUnavailable` if it is no table."""
    _check_suffix(name)
    if is_line_file(name):
        records = (cells for _, cells in line_records(source, name) if isinstance(cells, dict))
        return tuple(dict.fromkeys(column for cells in records for column in cells))
    header: list[str] = []

    def choose(names: Sequence[str]) -> Sequence[str]:
        header.extend(names)
        return ()

    next(tables.table_records(source, name, choose), None)
    return tuple(header)


def read_file(
    path: Path, columns: Columns, labels: Sequence[str], input_names: Sequence[str] = (), most: int = 0, seed: int = 0
) -> ReadRows:
    """`read_rows` of a file, whose images lie beside it. Raises `DataUnavailable` if it cannot be read."""
    return read_rows(path, path.name, columns, labels, input_names, most, seed, ImageFolder(path.parent))


def read_rows(
    source: Source,
    name: str,
    columns: Columns,
    labels: Sequence[str],
    input_names: Sequence[str] = (),
    most: int = 0,
    seed: int = 0,
    images: NamedImages | None = None,
) -> ReadRows:
    """Return the rows of a table for a model with these `labels` and inputs, or `most` of them, chosen by `seed`, each
    with one of the `images` where there is a column of their names.

    A label is the name of a class, whatever its case, or its number, or stands in `columns.classes`; an empty cell is
    none. Raises `DataUnavailable` if no row can be used, and for a class in `columns.classes` that the model does not
    have.
    """
    _check_suffix(name)
    records = partial(_records, source, name, columns)
    return rows_of(records, name, tables.checksum_of(source, name), columns, labels, input_names, most, seed, images)


def rows_of(
    records: Callable[[], Iterable[Record]],
    name: str,
    sha256: str,
    columns: Columns,
    labels: Sequence[str],
    input_names: Sequence[str] = (),
    most: int = 0,
    seed: int = 0,
    images: NamedImages | None = None,
) -> ReadRows:
    """`read_rows` of records that can be read several times."""
    _check_model(name, columns, labels, input_names)
    repeated, unsure = _surveyed(records(), name, columns, labels)
    kept = SampledRows(name, most, seed)
    problems: list[str] = []
    left_out = 0
    reader = _RowReader(columns, labels, unsure, repeated, images)
    for line, cells in records():
        try:
            row = reader.row(line, cells)
        except DataUnavailable as error:
            left_out += 1
            problems += [f"{error} The row is left out."] if left_out <= NAMED else []
            continue
        kept.add(row)
    if not kept.added:
        reason = f"No row of {name} can be used. {problems[0]}" if problems else f"{name} has no rows."
        raise DataUnavailable(reason)
    return ReadRows(kept.in_order(), tuple(problems), sha256, kept.added, left_out)


def _check_model(name: str, columns: Columns, labels: Sequence[str], input_names: Sequence[str]) -> None:
    """Raises `DataUnavailable` for columns that do not suit the model."""
    if columns.classes and not columns.label:
        raise DataUnavailable("Classes are given to labels. Name the column of the labels.")
    for label, called in columns.classes:
        if called not in labels:
            raise DataUnavailable(f"{label!r} cannot be the class {called!r}: there are {listed_classes(labels)}.")
    if len(input_names) == 2 and not columns.pair:
        step = "Give a table." if is_text_file(name) else "Name the column of the second text."
        raise DataUnavailable(f"The model reads pairs, {' and '.join(input_names)}. {step}")
    if len(input_names) == 1 and columns.pair:
        raise DataUnavailable("The model reads single texts. Omit the column of the second text.")


def _surveyed(
    records: Iterable[Record], name: str, columns: Columns, labels: Sequence[str]
) -> tuple[frozenset[int], tuple[str, ...]]:
    """Return the hashes of the ids that repeat, and the labels that name no class for sure."""
    hashes, found = array("q"), Counter[str]()
    for number, (_, cells) in enumerate(records, 1):
        if number > MOST_ROWS:
            raise DataUnavailable(f"{name} has more than {MOST_ROWS:,} rows. Split it.")
        if isinstance(cells, dict) and not _has_surrogates(cells):
            hashes.append(_hash(cells, columns))
            if columns.label:
                _count(found, cells[columns.label], columns.label)
    sorted_hashes = np.frombuffer(hashes, dtype=np.int64) if hashes else np.zeros(0, dtype=np.int64)
    sorted_hashes.sort()
    repeated = sorted_hashes[1:][sorted_hashes[1:] == sorted_hashes[:-1]]
    return frozenset(repeated.tolist()), unsure_labels(found, labels) if columns.label else ()


def _hash(cells: Mapping[str, str], columns: Columns) -> int:
    """Return what is equal for rows with equal ids."""
    return hash(tuple(cells[name].strip() for name in columns.decisive))


def _count(found: Counter[str], label: str, column: str) -> None:
    found[label.strip()] += 1
    if len(found) > MOST_LABELS:
        raise DataUnavailable(f"The column {column} has more than {MOST_LABELS:,} different labels. Choose another.")


def text_id(text: str, pair: str | None, image: str = "") -> str:
    """Return 12 digits that follow from the texts, and the name of the image."""
    named = f"\0{image}" if image else ""
    return hashlib.sha256(f"{text}\0{pair or ''}{named}".encode()).hexdigest()[:12]


@dataclass
class _RowReader:
    """What is known of a file before its rows are read: labels in `unsure` need a class in `columns`, and only of ids
    whose hash is in `repeated` it is remembered that they were there."""

    columns: Columns
    labels: Sequence[str]
    unsure: Collection[str]
    repeated: AbstractSet[int]
    images: NamedImages | None = None
    lines: dict[str, int] = field(default_factory=dict)  # by id
    copies: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._problem_of = lru_cache(MOST_FILES)(partial(_image_problem, self.images))  # rows may share an image

    def row(self, line: int, cells: dict[str, str] | DataUnavailable) -> InputRow:
        """Raises `DataUnavailable` with the line."""
        if isinstance(cells, DataUnavailable):
            raise cells
        if _has_surrogates(cells):
            raise DataUnavailable(f"Line {line:,} is not UTF-8. Save the file as UTF-8.")
        columns = self.columns
        text, pair = cells[columns.text], cells.get(columns.pair, "") if columns.pair else None
        marked = cells[columns.rationale].strip() if columns.rationale else ""
        if not marked:  # its offsets are those of the text as it is
            text, pair = text.strip(), pair and pair.strip()
        if not user_texts.is_visible(text) or (pair is not None and not user_texts.is_visible(pair)):
            raise DataUnavailable(f"Line {line:,} has no {'second text' if user_texts.is_visible(text) else 'text'}.")
        length = len(text) + len(pair or "")
        if length > user_texts.LONGEST:
            raise DataUnavailable(
                f"Line {line:,} has {length:,} characters; each input may have at most {user_texts.LONGEST:,}."
            )
        label = self._label_of(cells, line) if columns.label else None
        try:
            rationale = parsed_rationale(marked, text, pair) if marked else ()
        except DataUnavailable as error:
            raise DataUnavailable(f"Line {line:,}: {error}") from error
        image = self._image_of(cells, line) if columns.image else ""
        return InputRow(self._id(cells, text, pair, image, line), text, pair, label, line, rationale, image)

    def _image_of(self, cells: Mapping[str, str], line: int) -> str:
        name = cells[self.columns.image].strip()
        if not name:
            raise DataUnavailable(f"Line {line:,} has no image.")
        if problem := self._problem_of(name):
            raise DataUnavailable(f"Line {line:,}, image {name[:60]!r}: {problem}")
        return name

    def _label_of(self, cells: Mapping[str, str], line: int) -> int | None:
        cell = cells[self.columns.label].strip()
        given = {label.casefold(): called for label, called in self.columns.classes}.get(cell.casefold())
        if given:
            return self.labels.index(given)
        return label_number(cell, () if cell in self.unsure else self.labels, self.labels, line)

    def _id(self, cells: Mapping[str, str], text: str, pair: str | None, image: str, line: int) -> str:
        id = cells[self.columns.id].strip() if self.columns.id else text_id(text.strip(), pair and pair.strip(), image)
        if not id:
            raise DataUnavailable(f"Line {line:,} has no id.")
        if _hash(cells, self.columns) not in self.repeated:
            return id
        if not self.columns.id:
            self.copies[id] += 1
            return id if self.copies[id] == 1 else f"{id}-{self.copies[id]}"
        if id in self.lines:
            raise DataUnavailable(f"Line {line:,} has the id {id!r} of line {self.lines[id]:,}.")
        self.lines[id] = line
        return id


def _image_problem(images: NamedImages | None, name: str) -> str:
    """Return why an image cannot be used; empty where it can."""
    if images is None:
        return "There are no images."
    try:
        images.image(name)
    except DataUnavailable as error:
        return str(error)
    return ""


def unknown_labels(content: bytes, name: str, column: str, labels: Sequence[str]) -> tuple[str, ...]:
    """Return the labels in the column that name no class for sure, in the order of the table.

    Lines that are not UTF-8 are left out.
    """
    return unknown_labels_of(_records(content, name, Columns(column)), column, labels)


def unknown_labels_of(records: Iterable[Record], column: str, labels: Sequence[str]) -> tuple[str, ...]:
    """`unknown_labels` of records."""
    found = Counter[str]()
    for _, cells in records:
        if isinstance(cells, dict) and not _has_surrogates(cells):
            _count(found, cells[column], column)
    return unsure_labels(found, labels)


def _has_surrogates(row: dict[str, str]) -> bool:
    return any(map(tables.has_surrogates, row.values()))


def _records(source: Source, name: str, columns: Columns) -> Iterator[Record]:
    """Yield the lines that are not empty. Raises `DataUnavailable` if a column is missing."""
    if not is_line_file(name):

        def choose(names: Sequence[str]) -> Sequence[str]:
            _check_columns(columns, names, name)
            return columns.named

        yield from tables.table_records(source, name, choose)
        return
    _check_columns(columns, _columns_until(columns.named, line_records(source, name)), name)
    missing = dict.fromkeys(columns.named, "")
    for line, cells in line_records(source, name):
        yield line, {**missing, **cells} if isinstance(cells, dict) else cells


def _columns_until(wanted: Sequence[str], records: Iterable[Record]) -> tuple[str, ...]:
    """Return the columns of the first objects, as far as it needs to see the wanted ones."""
    columns: dict[str, None] = {}
    for _, cells in records:
        columns |= dict.fromkeys(cells) if isinstance(cells, dict) else {}
        if set(wanted) <= columns.keys():
            break
    return tuple(columns)


def _check_columns(columns: Columns, present: Sequence[str], name: str) -> None:
    for column in columns.named:
        if column not in present:
            raise MissingColumn(name, column, present)


def check_file(path: Path, columns: Columns) -> None:
    """Raise `DataUnavailable` if it is no table with these columns; no more is read than that takes."""
    _check_suffix(path.name)
    next(_records(path, path.name, columns), None)


def _check_suffix(name: str) -> None:
    if Path(name).suffix.lower() not in SUFFIXES:
        raise DataUnavailable(f"{name} is no table that can be read. Give a {user_texts.listed(SUFFIXES)} file.")
