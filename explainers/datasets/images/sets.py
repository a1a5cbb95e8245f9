"""The image sets that can be read, each in one format, which is never guessed: published sets, and a person's
own images with texts, a table and the folder of the images.

.csv, .tsv, .parquet   text, image: the name of a file in the folder, and label, which only a head needs: the class
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from explainers.datasets import entailment, tables
from explainers.datasets.example import Example
from explainers.datasets.images import published
from explainers.datasets.images.files import (
    Annotated,
    ImageExamples,
    ZippedTable,
    checked_name,
    with_images,
    zipped_table,
)
from explainers.errors import DataUnavailable

OWN, OWN_TITLE = "table", "Own table"
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


class ImageText(NamedTuple):
    """A text, and the name and the content of the file with its image."""

    text: str
    image: str
    content: bytes


class ImageTexts(NamedTuple):
    """The rows that can be read, each once, and what is wrong with the others."""

    rows: tuple[ImageText, ...]
    left_out: tuple[str, ...]


def zipped_texts(content: bytes, name: str, fewest: int, most: int) -> ImageTexts:
    """Read a table with the columns text and image from a ZIP file that also holds the images, without labels.

    Raises `DataUnavailable` if the file cannot be used, or has fewer or more different rows.
    """
    zipped = zipped_table(content, name, tables.SUFFIXES)
    rows: dict[ImageText, None] = {}
    left_out = []
    for number, row in enumerate(image_rows(zipped.content, zipped.name), start=1):
        try:
            if isinstance(row, DataUnavailable):
                raise row
            if not row["text"] or not row["image"]:
                raise DataUnavailable(f"Row {number} has no {'image' if row['text'] else 'text'}.")
            rows[ImageText(row["text"], row["image"], _content(zipped, row["image"], number))] = None
        except DataUnavailable as error:
            left_out.append(str(error))
    if not fewest <= len(rows) <= most:
        first = f" {left_out[0]}" if left_out else ""
        raise DataUnavailable(
            f"A set has {fewest} to {most:,} different texts with images; these are {len(rows):,}.{first}"
        )
    return ImageTexts(tuple(rows), tuple(left_out))


def _content(zipped: ZippedTable, image: str, number: int) -> bytes:
    try:
        return zipped.image(image).content
    except DataUnavailable as error:
        raise DataUnavailable(f"Row {number}, image {image[:60]!r}: {error}") from error


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


@dataclass(frozen=True)
class ImageSet:
    """`name` is what a user types; `images` describes the folder to give; `input_names` is what its texts are called.

    `classes` takes the annotation file of the training part, `read` takes annotation file, image folder and classes.
    """

    name: str
    title: str
    about: str
    source: str
    licence: str
    images: str
    input_names: tuple[str, ...]
    classes: Callable[[Path], tuple[str, ...]]
    read: Callable[[Path, Path, tuple[str, ...]], ImageExamples]


SETS = (
    ImageSet(
        "esnlive",
        published.ESNLIVE_TITLE,
        "does an image entail a hypothesis, leave it open or contradict it, and why",
        "Do et al., 2021; Kayser et al., 2021: esnlive_train.csv, esnlive_dev.csv, esnlive_test.csv",
        "none is stated for the annotations; images of Flickr30k for non-commercial research and education",
        "the folder that holds Flickr30k's images, such as 4465359505.jpg",
        ("hypothesis",),
        lambda _training: entailment.LABELS,
        published.read_esnlive,
    ),
    ImageSet(
        "hateful_memes",
        published.MEMES_TITLE,
        "is a meme hateful; without explanations",
        "Kiela et al., 2020: train.jsonl, dev_seen.jsonl, test_seen.jsonl and the like",
        "the licence of Meta's challenge: research only, not to be passed on",
        "the folder that holds img",
        ("text",),
        lambda _training: published.MEMES_LABELS,
        published.read_hateful_memes,
    ),
    ImageSet(
        "vqa_x",
        published.VQA_X_TITLE,
        "the answer to a question about an image, and why",
        "Park et al., 2018, merged with VQA v2: vqaX_train.json, vqaX_val.json, vqaX_test.json",
        "none is stated for the explanations; VQA v2: CC BY 4.0; images of COCO under Flickr's terms",
        "the folder that holds COCO's train2014 and val2014",
        ("question",),
        published.vqa_x_classes,
        published.read_vqa_x,
    ),
    ImageSet(
        OWN,
        OWN_TITLE,
        "your own texts about images of yours",
        "a table (.csv, .tsv or .parquet) with the columns text and image, and label to train a head",
        "yours",
        "the folder that holds the images which the table names",
        ("text",),
        own_classes,
        read_own_table,
    ),
)


@dataclass(frozen=True)
class ImageFiles:
    """The image folder of a published set, whose name is `format`; the annotation file is given beside it."""

    format: str
    folder: Path

    def read(self, annotations: Path | None, labels: tuple[str, ...] = ()) -> ImageExamples:
        """Without a model's `labels`, the classes are numbered as in the file itself."""
        if annotations is None:
            raise DataUnavailable(f"Give the annotation file of {self.format} with --data.")
        source = image_set(self.format)
        return source.read(annotations, self.folder, labels or source.classes(annotations))


def image_set(name: str) -> ImageSet:
    """Raises `DataUnavailable` with the available names."""
    for image_set in SETS:
        if image_set.name == name:
            return image_set
    raise DataUnavailable(
        f"The image set {name!r} is not available. Choose one of: {', '.join(image_set.name for image_set in SETS)}."
    )
