"""A person's own images with texts: a table, and the folder of the images.

.csv, .tsv, .parquet   text, image: the name of a file in the folder, and label, which only a head needs: the class
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from explainers.datasets import tables
from explainers.datasets.example import Example
from explainers.datasets.images.annotation import Annotated, ImageExamples, checked_name, with_images
from explainers.errors import DataUnavailable

TITLE = "Own table"
COLUMNS = ("text", "image", "label")
Row = dict[str, str]


def own_classes(table: Path) -> tuple[str, ...]:
    """The classes in the column label, in alphabetical order; none if there is no such column."""
    return tuple(sorted({row["label"] for row in _checked(table) if row.get("label")}))


def read_own_table(table: Path, images: Path, labels: tuple[str, ...]) -> ImageExamples:
    """Raises `DataUnavailable` for a row that cannot be read, and for a class that is not among `labels`."""
    return with_images(_annotated(table, labels), table, images, labels)


def image_rows(content: bytes, name: str) -> Iterator[Row | DataUnavailable]:
    """The cells by column, or what is wrong with the row. Raises `DataUnavailable` for what is no such table."""
    if not tables.is_table(name):
        raise DataUnavailable(f"Give a table ({', '.join(tables.SUFFIXES)}) with the columns text and image.")
    table = tables.read_user_table(content, name, _chosen)
    for row in table.rows:
        cells = row if isinstance(row, DataUnavailable) else [cell.strip() for cell in row]
        yield cells if isinstance(cells, DataUnavailable) else dict(zip(table.columns, cells, strict=True))


def _chosen(columns: Sequence[str]) -> list[str]:
    if not {"text", "image"} <= set(columns):
        raise DataUnavailable(f"A table of images needs the columns text and image; it has {', '.join(columns)[:200]}.")
    return [column for column in COLUMNS if column in columns]


def _checked(table: Path) -> Iterator[Row]:
    try:
        content = table.read_bytes()
    except OSError as error:
        raise DataUnavailable(f"{table} cannot be read: {error.strerror}.") from error
    for row in image_rows(content, table.name):
        if isinstance(row, DataUnavailable):
            raise row
        if row["text"]:
            yield row


def _annotated(table: Path, labels: tuple[str, ...]) -> Iterator[Annotated]:
    for row in _checked(table):
        name = row.get("label", "")
        if name and name not in labels:
            raise DataUnavailable(f"The class {name[:60]!r} is not one of the model's: {', '.join(labels)}.")
        label = labels.index(name) if name else None
        yield (checked_name(row["image"], table.name),), Example(row["text"], label=label)
