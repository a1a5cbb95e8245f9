"""The items of a project from a person's files: any format of annotations, or a table that names image files.

A row that cannot be used is left out with a sentence, and the others are kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.annotate.past_rows import usable
from explainers.annotations.formats import archives
from explainers.annotations.formats.imported import BadRow, Imported
from explainers.annotations.formats.items_file import parse_items
from explainers.annotations.records import Annotation, Item
from explainers.datasets import tables
from explainers.datasets.example import Example
from explainers.datasets.image import InputImage
from explainers.errors import DataUnavailable

LONGEST = 30_000  # characters of an item; models read the beginning of long texts
IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp")
MOST_MEGABYTES = 50  # of all files of a project together, which wait in the memory of the server
SUFFIXES = (*tables.SUFFIXES, ".jsonl", ".json", *archives.SUFFIXES, *IMAGES)
NO_TABLE = (
    "Give one file of data (.csv, .tsv, .parquet, .jsonl, .json, or an archive: .zip, .tar.gz, .tgz or .tar), and for "
    "images also their files."
)
MANY_TABLES = (
    "A project takes one file of data, and these are {count}: {names}. Remove the others with the crosses beside them."
)
TWICE = "Two files have the name {name}. Remove one of them."
IMAGE_COLUMNS = ("id", "text", "image", "label")
Files = Mapping[str, bytes]  # by name


@dataclass(frozen=True)
class ReadItems:
    """`annotations` came with the items. `left_out` has a sentence for every row that cannot be used."""

    items: tuple[Item, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    left_out: tuple[str, ...] = ()


def check_sizes(sizes: Sequence[int]) -> None:
    """Raises `DataUnavailable` if files of so many bytes are too large together."""
    total = sum(sizes)
    if total > MOST_MEGABYTES * 10**6:
        raise DataUnavailable(
            f"The files have {total / 10**6:,.0f} MB together; a project takes at most {MOST_MEGABYTES} MB. "
            "Remove some, scale images down, or make several projects."
        )


def by_name(files: Sequence[tuple[str, bytes]]) -> dict[str, bytes]:
    """The contents by name. Raises `DataUnavailable` if two files have one name."""
    names = [name for name, _ in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataUnavailable(TWICE.format(name=twice[:100]))
    return dict(files)


def splits(files: Files) -> tuple[str, ...]:
    """The parts of an archive among the files, where it has several. Raises `DataUnavailable` if it is damaged."""
    packed = [name for name in files if archives.is_archive(name)]
    parts = tuple(archives.read_archive(files[packed[0]], packed[0]).splits) if packed else ()
    return parts if len(parts) > 1 else ()


def read_items(
    files: Files,
    input_names: Sequence[str] = (),
    classes: Sequence[str] = (),
    *,
    multimodal: bool = False,
    split: str = "",
) -> ReadItems:
    """The items of the files that a model can read. Raises `DataUnavailable` if no data can be read."""
    sources = [name for name in files if _suffix(name) not in IMAGES]
    if len(sources) > 1:
        raise DataUnavailable(MANY_TABLES.format(count=len(sources), names=", ".join(sources)[:200]))
    if not sources:
        raise DataUnavailable(NO_TABLE)
    name = sources[0]
    images = {Path(each).name: content for each, content in files.items() if _suffix(each) in IMAGES}
    given = _with_images(files[name], name, images) if images else parse_items(files[name], name, split, classes)
    items: list[Item] = []
    left_out = list(given.problems(len(given.bad_rows)))
    for item in given.items:
        fault = _fault(item.example, input_names, len(classes), multimodal=multimodal)
        if fault:
            left_out.append(f"Item {item.id[:60]}: {fault}")
        else:
            items.append(item)
    kept = {item.id for item in items}
    annotations, unusable = usable([each for each in given.annotations if each.item in kept])
    return ReadItems(tuple(items), annotations, (*left_out, *unusable))


def _suffix(name: str) -> str:
    return Path(name).suffix.lower()


def _fault(example: Example, input_names: Sequence[str], classes: int, *, multimodal: bool) -> str:
    """Why the model cannot read it, or ""."""
    texts = (example.text, example.pair or "")
    faults = {
        "it has no text.": not example.text.strip(),
        f"it has no {input_names[-1] if input_names else 'second text'}.": len(input_names) == 2 and not example.pair,
        "it has two texts, and the model reads one.": len(input_names) == 1 and bool(example.pair),
        f"its text has more than {LONGEST:,} characters.": sum(map(len, texts)) > LONGEST,
        f"its class {example.label} is not one of the model's {classes}.": 0 < classes <= (example.label or 0),
        "it has no image, and the model reads one.": multimodal and example.image is None,
        "it has an image, and the model reads only text.": not multimodal and example.image is not None,
    }
    return next((sentence for sentence, holds in faults.items() if holds), "")


def _with_images(content: bytes, name: str, images: Mapping[str, bytes]) -> Imported:
    """Of a table with the columns text and image, whose files were given beside it."""
    if not tables.is_table(name):
        raise DataUnavailable("Give the names of the images in a table (.csv, .tsv or .parquet), in a column image.")
    items: list[Item] = []
    bad: list[BadRow] = []
    for number, row in enumerate(_rows(content, name), 1):
        try:
            if isinstance(row, DataUnavailable):
                raise row
            example = Example(row["text"].strip(), image=_image(row["image"], images))
            items.append(Item(row.get("id") or str(number), example, label=row.get("label", "")))
        except (DataUnavailable, ValueError) as error:
            bad.append(BadRow(number, str(error)))
    return Imported(tuple(items), (), tuple(bad))


def _rows(content: bytes, name: str) -> Iterator[dict[str, str] | DataUnavailable]:
    def choose(columns: Sequence[str]) -> list[str]:
        if not {"text", "image"} <= set(columns):
            raise DataUnavailable("A table of images needs the columns text and image.")
        return [each for each in IMAGE_COLUMNS if each in columns]

    table = tables.read_user_table(content, name, choose)
    for row in table.rows:
        yield row if isinstance(row, DataUnavailable) else dict(zip(table.columns, row, strict=True))


def _image(cell: str, images: Mapping[str, bytes]) -> InputImage:
    name = Path(cell.strip()).name
    if name not in images:
        raise DataUnavailable(f"The image {name[:60]!r} was not given." if name else "It names no image.")
    image = InputImage.uploaded(images[name])
    _ = image.size  # raises where it is no image
    return image
