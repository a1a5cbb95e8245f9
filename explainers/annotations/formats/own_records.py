"""Our own records beside another tool's: what that tool has no field for comes back from them.

A row of a file holds an item and at most one annotation of it. Whoever reads the file without this project still finds
text, marks, annotator and version in the tool's own fields. A file is read as its good rows, with a sentence for each
bad one. Browsers count offsets in UTF-16 code units, of which an emoji is two, and we in code points.
"""

import hashlib
import random
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from explainers.annotations import record_json
from explainers.annotations.records import Annotation, Item, Marked, Span
from explainers.datasets.tables import parsed_json
from explainers.errors import DataUnavailable

LISTED = 20


@dataclass(frozen=True)
class BadRow:
    """`row` counts from 1, for a table without its header; `reason` is a sentence."""

    row: int
    reason: str


@dataclass(frozen=True)
class Imported:
    items: tuple[Item, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    bad_rows: tuple[BadRow, ...] = ()

    def problems(self, most: int = LISTED) -> tuple[str, ...]:
        """The bad rows as sentences, of which at most `most` are listed one by one."""
        sentences = [f"Row {row.row:,}: {row.reason}" for row in self.bad_rows[:most]]
        more = len(self.bad_rows) - most
        rest = "1 more row was not read." if more == 1 else f"{more:,} more rows were not read."
        return (*sentences, rest) if more > 0 else tuple(sentences)

    def sample(self, n: int, seed: int) -> tuple[Item, ...]:
        """`n` items in an order drawn by the seed, or all with 0."""
        items = list(self.items)
        random.Random(seed).shuffle(items)
        return tuple(items[:n] if n else items)


@dataclass(frozen=True)
class RowContent:
    """The items and annotations of one row of a file."""

    items: tuple[Item, ...] = ()
    annotations: tuple[Annotation, ...] = ()


def read_rows(rows: Iterable[object], read: Callable[[object], RowContent]) -> Imported:
    """Every row by itself. A bad row is an error, or one for which `read` raises `DataUnavailable` or `ValueError`.

    An item with the id of an earlier one must be the same; then it is kept once.
    """
    items: dict[str, Item] = {}
    annotations: list[Annotation] = []
    bad: list[BadRow] = []
    for number, row in enumerate(rows, 1):
        try:
            if isinstance(row, DataUnavailable):
                raise row
            content = read(row)
            for item in content.items:
                if items.get(item.id, item) != item:
                    raise DataUnavailable(f"Another row has the id {item.id[:60]!r} and another content.")
        except (DataUnavailable, ValueError) as error:
            bad.append(BadRow(number, str(error)))
            continue
        items |= {item.id: item for item in content.items}
        annotations += content.annotations
    return Imported(tuple(items.values()), tuple(annotations), tuple(bad))


def json_lines(content: str) -> Iterator[object]:
    """The JSON value of every line that is not empty; the error in place of a line that is no JSON."""
    for line in content.split("\n"):  # the only separator: U+2028 and the like may stand within a text
        if line.strip():
            try:
                yield parsed_json(line)
            except DataUnavailable as error:
                yield error


def class_number(name: str, classes: Sequence[str]) -> int | None:
    """The class that the data call `name`: in any case, or shortened, as POS for positive; None if there is none."""
    folded = [class_name.casefold() for class_name in classes]
    wanted = name.strip().casefold()
    if wanted in folded:
        return folded.index(wanted)
    beginning = [number for number, header in enumerate(folded) if wanted and header.startswith(wanted)]
    return beginning[0] if len(beginning) == 1 else None


OWN = "crosslight"
CODE_POINTS, UTF16 = "Unicode code points", "UTF-16 code units"
EVIDENCE = "evidence"  # the label of a mark
Row = tuple[Item, Annotation | None]


def rows_of(items: Iterable[Item], annotations: Sequence[Annotation]) -> Iterator[Row]:
    """Every annotation with its item, and the items without any. Raises `DataUnavailable` for an unknown item."""
    own: dict[str, list[Annotation]] = {}
    for annotation in annotations:
        own.setdefault(annotation.item, []).append(annotation)
    for item in items:
        mine: Sequence[Annotation | None] = own.pop(item.id, [])
        yield from ((item, annotation) for annotation in mine or (None,))
    if own:
        raise DataUnavailable(f"There are annotations of {len(own):,} items that are not in the project.")


def own_json(row: Row) -> record_json.Content:
    item, annotation = row
    return {
        "item": record_json.item_json(item),
        "annotation": None if annotation is None else record_json.annotation_json(annotation),
    }


def read_own(row: Mapping[str, Any]) -> Row | None:
    """The records beside another tool's fields, or None if there are none."""
    if row.get(OWN) is None:
        return None
    own = record_json.json_object(row[OWN], "an object")
    annotation = record_json.optional(own, "annotation", dict)
    return record_json.read_item(own.get("item")), None if annotation is None else record_json.read_annotation(
        annotation
    )


def content_of(row: Row) -> RowContent:
    item, annotation = row
    return RowContent((item,), () if annotation is None else (annotation,))


def marks_in(row: Row) -> Marked:
    """What the row's annotation marks, or the first rationale of an item without one; else nothing."""
    item, annotation = row
    if annotation is None:
        return (item.rationale or (Marked(),))[0]
    return annotation.answer if isinstance(annotation.answer, Marked) else Marked()


def who(row: Row) -> record_json.Content:
    """Annotator, task, version and the annotator's own class, which every row names."""
    _, annotation = row
    names = ("annotator", "task", "version", "own_class")
    return {name: None if annotation is None else getattr(annotation, name) for name in names}


def text_id(text: str, pair: str | None = None) -> str:
    """An id for an input that came without one: equal inputs have equal ids."""
    return hashlib.blake2b(repr((text, pair)).encode("utf-8", "replace"), digest_size=8).hexdigest()


def utf16_offsets(text: str) -> list[int]:
    """The UTF-16 offset of every code point, and of the end."""
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + (2 if ord(character) > 0xFFFF else 1))
    return offsets


def to_utf16(span: Span, offsets: list[int]) -> tuple[int, int]:
    """`offsets` are those of the text."""
    return offsets[span.start], offsets[span.end]


def from_utf16(start: int, end: int, offsets: list[int]) -> Span:
    """Raises `DataUnavailable` for an offset within a character, and for one beyond the text."""
    first, last = bisect_left(offsets, start), bisect_left(offsets, end)
    if last >= len(offsets) or offsets[first] != start or offsets[last] != end:
        raise DataUnavailable(
            f"The offsets {start} to {end} are not those of characters of the text, in UTF-16 code units."
        )
    return checked_span(first, last, len(offsets) - 1)


def checked_span(start: int, end: int, length: int) -> Span:
    """Raises `DataUnavailable` for a span that is empty or ends beyond the text."""
    if not 0 <= start < end <= length:
        raise DataUnavailable(f"The span {start} to {end} is not within the text of {length:,} characters.")
    return Span(start, end)
