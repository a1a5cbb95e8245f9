"""The items of a project from a person's files: a table, lines of JSON, or images with a table that names them.

A row that cannot be used is left out with a sentence, and the others are kept.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explainers.annotations.records import Item
from explainers.datasets import tables
from explainers.datasets.example import Example
from explainers.datasets.image import InputImage
from explainers.datasets.user_texts import LONGEST, text_columns
from explainers.errors import DataUnavailable

LINES = (".jsonl", ".ndjson")
IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
SUFFIXES = (*tables.SUFFIXES, *LINES, *IMAGES)
OTHERS = ("id", "label", "image")  # columns that a table may have besides its texts
NO_TABLE = "Give a table or lines of JSON (.csv, .tsv, .parquet or .jsonl), and for images also the image files."
Files = Mapping[str, bytes]  # by name


@dataclass(frozen=True)
class ReadItems:
    """`left_out` has a sentence for every row that cannot be used."""

    items: tuple[Item, ...]
    left_out: tuple[str, ...] = ()


def read_items(files: Files, input_names: Sequence[str] = (), *, multimodal: bool = False) -> ReadItems:
    """The items of the table among the files. Raises `DataUnavailable` if no table can be read."""
    sources = [name for name in files if _suffix(name) in (*tables.SUFFIXES, *LINES)]
    if len(sources) != 1:
        raise DataUnavailable(NO_TABLE if not sources else "Give one table at a time.")
    name = sources[0]
    images = {Path(each).name: content for each, content in files.items() if _suffix(each) in IMAGES}
    rows = _json_rows(files[name], name) if _suffix(name) in LINES else _table_rows(files[name], name)
    items: list[Item] = []
    left_out: list[str] = []
    for number, row in rows:
        try:
            items.append(_item(number, row, images, input_names, multimodal))
        except (DataUnavailable, ValueError) as error:
            left_out.append(f"Row {number:,}: {error}")
    return ReadItems(tuple(items), tuple(left_out))


def _suffix(name: str) -> str:
    return Path(name).suffix.lower()


def _table_rows(content: bytes, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Row numbers count from 1, without the head."""

    def choose(columns: Sequence[str]) -> tuple[str, ...]:
        return (*text_columns(columns), *(each for each in OTHERS if each in columns))

    frame = tables.read_frame(content, name, choose)
    columns = [str(column) for column in frame.columns]
    for number, cells in enumerate(frame.itertuples(index=False), start=1):
        yield number, dict(zip(columns, cells, strict=True))


def _json_rows(content: bytes, name: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(tables.decode_text(content, name).split("\n"), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                yield number, None


def _item(number: int, row: Any, images: Mapping[str, bytes], input_names: Sequence[str], multimodal: bool) -> Item:
    if not isinstance(row, dict):
        raise DataUnavailable("it is no object of JSON.")
    first, second = _texts(row)
    if not first or (len(input_names) == 2 and not second):
        raise DataUnavailable("it has no text." if not first else f"it has no {input_names[1]}.")
    if second and len(input_names) == 1:
        raise DataUnavailable("it has two texts, and the model reads one.")
    if len(first) + len(second) > LONGEST:
        raise DataUnavailable(f"its text has more than {LONGEST:,} characters.")
    image = _image(row, images) if multimodal else None
    return Item(
        str(row.get("id") or number), Example(first, second or None, image=image), label=str(row.get("label") or "")
    )


def _texts(row: dict[str, Any]) -> tuple[str, str]:
    """Empty where they are missing."""
    columns = text_columns(list(row))
    texts = [row.get(column) for column in columns]
    if any(not isinstance(text, str | None) for text in texts):
        raise DataUnavailable("a text is no string.")
    first, second = (*((text or "").strip() for text in texts), "")[:2]
    return first, second


def _image(row: dict[str, Any], images: Mapping[str, bytes]) -> InputImage:
    name = Path(str(row.get("image") or "")).name
    if not name:
        raise DataUnavailable("it names no image. Give the file's name in a column image.")
    if name not in images:
        raise DataUnavailable(f"the image {name} was not given.")
    image = InputImage.uploaded(images[name])
    _ = image.size  # raises where it is no image
    return image
