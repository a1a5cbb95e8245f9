"""Our own records beside another tool's: what that tool has no field for comes back from them.

A row of a file holds an item and at most one annotation of it. Whoever reads the file without this project still finds
text, marks, annotator and version in the tool's own fields.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from explainers.annotations.fields import Content, json_object, optional
from explainers.annotations.formats.imported import RowContent
from explainers.annotations.record_json import annotation_json, item_json, read_annotation, read_item
from explainers.annotations.records import Annotation, Item, Marked
from explainers.errors import DataUnavailable

OWN = "crosslight"
CODE_POINTS, UTF16 = "Unicode code points", "UTF-16 code units"
EVIDENCE = "evidence"  # the label of a mark
Row = tuple[Item, Annotation | None]


def rows_of(items: Iterable[Item], annotations: Sequence[Annotation]) -> Iterator[Row]:
    """Every annotation with its item, and the items without any. Raises `DataUnavailable` for an unknown item."""
    own: dict[str, list[Annotation]] = {}
    for each in annotations:
        own.setdefault(each.item, []).append(each)
    for item in items:
        mine: Sequence[Annotation | None] = own.pop(item.id, [])
        yield from ((item, each) for each in mine or (None,))
    if own:
        raise DataUnavailable(f"There are annotations of {len(own):,} items that are not in the project.")


def own_json(row: Row) -> Content:
    item, annotation = row
    return {"item": item_json(item), "annotation": None if annotation is None else annotation_json(annotation)}


def read_own(row: Mapping[str, Any]) -> Row | None:
    """The records beside another tool's fields, or None if there are none."""
    if row.get(OWN) is None:
        return None
    own = json_object(row[OWN], "an object")
    annotation = optional(own, "annotation", dict)
    return read_item(own.get("item")), None if annotation is None else read_annotation(annotation)


def content_of(row: Row) -> RowContent:
    item, annotation = row
    return RowContent((item,), () if annotation is None else (annotation,))


def marks_in(row: Row) -> Marked:
    """What the row's annotation marks, or the first rationale of an item without one; else nothing."""
    item, annotation = row
    if annotation is None:
        return (item.rationale or (Marked(),))[0]
    return annotation.answer if isinstance(annotation.answer, Marked) else Marked()


def who(row: Row) -> Content:
    """Annotator, task, version and the annotator's own class, which every row names."""
    _, annotation = row
    names = ("annotator", "task", "version", "own_class")
    return {name: None if annotation is None else getattr(annotation, name) for name in names}


def text_id(text: str, pair: str | None = None) -> str:
    """An id for an input that came without one: equal inputs have equal ids."""
    return hashlib.blake2b(repr((text, pair)).encode("utf-8", "replace"), digest_size=8).hexdigest()
