"""What the readers of image sets share: annotation files, plain or gzipped, and the folder that holds the images."""

import csv
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TextIO

from explainers.datasets.example import Example
from explainers.datasets.image import InputImage
from explainers.errors import DataUnavailable

LONGEST_NAME = 255
Annotated = tuple[tuple[str, ...], Example]  # possible paths of the image in its folder, and all but the image


@dataclass(frozen=True)
class ImageExamples:
    """`labels` are the classes that the examples' labels number; `warning` says what was left out."""

    examples: tuple[Example, ...]
    labels: tuple[str, ...]
    warning: str


@contextmanager
def open_annotations(path: Path) -> Iterator[TextIO]:
    """The file's text, unpacked if its name ends in .gz. Raises `DataUnavailable` if it is missing or damaged."""
    if not path.is_file():
        raise DataUnavailable(f"{path} does not exist. Give the annotation file as its authors publish it.")
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as file:
                yield file
        else:
            with path.open(encoding="utf-8-sig", newline="") as file:
                yield file
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise DataUnavailable(f"{path.name} is not UTF-8 text, plain or as .gz: {error}. Fetch it again.") from error


def csv_rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """The cells of these columns, row by row, each with the number of the row's last line."""
    with open_annotations(path) as file:
        rows = csv.DictReader(file, restval="")  # numbers lines, which pandas does not
        missing = [name for name in columns if name not in (rows.fieldnames or ())]
        if missing:
            header = ", ".join(rows.fieldnames or ()) or "nothing"
            raise DataUnavailable(f"{path.name}, line 1: expected the columns {', '.join(columns)}, got {header}.")
        for row in rows:
            yield rows.line_num, {name: row[name] for name in columns}


def parse_json(text: str, path: Path, line: int) -> Any:
    """JSON that begins in this line."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        after, why = (error.lineno - 1, error.msg) if isinstance(error, json.JSONDecodeError) else (0, str(error))
        raise DataUnavailable(f"{path.name}, line {line + after}: this is not JSON: {why}. Fetch it again.") from error


def checked_name(name: str, where: str) -> str:
    """The name itself. Raises `DataUnavailable` if it could lead out of a folder."""
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    out = posix.is_absolute() or bool(windows.anchor) or ".." in windows.parts  # Windows knows both slashes
    if out or not posix.parts or "\0" in name or len(name) > LONGEST_NAME:
        raise DataUnavailable(f"{where}: {name[:LONGEST_NAME]!r} names no image inside a folder. Fetch it again.")
    return name


def check_classes(labels: tuple[str, ...], expected: tuple[str, ...], title: str) -> None:
    """Raises `DataUnavailable` unless these are the classes of the data set, in any order."""
    if sorted(labels) != sorted(expected):
        raise DataUnavailable(
            f"The classes of {title} are {', '.join(expected)}, and the model's are {', '.join(labels) or 'none'}. "
            "Choose a model that was trained on it."
        )


def with_images(annotated: Iterable[Annotated], source: Path, folder: Path, labels: tuple[str, ...]) -> ImageExamples:
    """The examples of the file `source` whose image lies in `folder`; the warning counts the others."""
    if not folder.is_dir():
        raise DataUnavailable(f"{folder} is not a folder. Give the folder that holds the images.")
    images: dict[tuple[str, ...], InputImage | None] = {}
    examples, without = [], 0
    for paths, example in annotated:
        if paths not in images:
            images[paths] = next((InputImage(path=folder / at) for at in paths if os.path.isfile(folder / at)), None)
        image = images[paths]
        if image is None:
            without += 1
        else:
            examples.append(replace(example, image=image))
    if not images:
        raise DataUnavailable(f"{source.name} holds no example. Give the annotation file as its authors publish it.")
    missing = [paths[0] for paths, image in images.items() if image is None]
    if not examples:
        raise DataUnavailable(
            f"{folder} holds none of the images that {source.name} names, such as {missing[0]}. "
            "Give the folder that holds them."
        )
    warning = f"Images missing: {len(missing):,} of {len(images):,}. Examples left out: {without:,}."
    return ImageExamples(tuple(examples), labels, warning if missing else "")
