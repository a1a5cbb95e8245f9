"""What the readers of pictures share: annotation files, plain or packed, and the folder where the pictures lie."""

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
from explainers.datasets.picture import Picture
from explainers.errors import DataUnavailable

LONGEST_NAME = 255
Annotated = tuple[tuple[str, ...], Example]  # where in the folder the picture may lie, and all but the picture


@dataclass(frozen=True)
class Read:
    """What a reader found: an example's label is its place in `labels`, and `notice` says what was left out."""

    examples: tuple[Example, ...]
    labels: tuple[str, ...]
    notice: str


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """The text of a file, unpacked if its name ends in .gz. Raises `DataUnavailable` if it is missing or damaged."""
    if not path.is_file():
        raise DataUnavailable(f"There is no file {path}. Give the annotation file as its authors publish it.")
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as file:
                yield file
        else:
            with path.open(encoding="utf-8-sig", newline="") as file:
                yield file
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise DataUnavailable(f"{path.name} is not UTF-8 text, plain or as .gz: {error}. Fetch it again.") from error


def table(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a file of comma-separated values that has these columns, with the numbers of their last lines."""
    with opened(path) as file:
        rows = csv.DictReader(file, restval="")
        missing = [name for name in columns if name not in (rows.fieldnames or ())]
        if missing:
            given = ", ".join(rows.fieldnames or ()) or "nothing"
            raise DataUnavailable(f"{path.name}, line 1: expected the columns {', '.join(columns)}, got {given}.")
        for row in rows:
            yield rows.line_num, {name: row[name] for name in columns}


def parsed(text: str, path: Path, line: int) -> Any:
    """JSON that begins in this line."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        after, why = (error.lineno - 1, error.msg) if isinstance(error, json.JSONDecodeError) else (0, str(error))
        raise DataUnavailable(f"{path.name}, line {line + after}: this is not JSON: {why}. Fetch it again.") from error


def inside(name: str, where: str) -> str:
    """The name itself, unless it could lead out of a folder."""
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    out = posix.is_absolute() or bool(windows.anchor) or ".." in windows.parts  # Windows knows both slashes
    if out or not posix.parts or "\0" in name or len(name) > LONGEST_NAME:
        raise DataUnavailable(f"{where}: {name[:LONGEST_NAME]!r} names no picture inside a folder. Fetch it again.")
    return name


def same_classes(labels: tuple[str, ...], wanted: tuple[str, ...], title: str) -> None:
    """Raises `DataUnavailable` unless these are the classes of the data set, in whatever order."""
    if sorted(labels) != sorted(wanted):
        raise DataUnavailable(
            f"The classes of {title} are {', '.join(wanted)}, and the model's are {', '.join(labels) or 'none'}. "
            "Choose a model that was trained on it."
        )


def with_pictures(annotated: Iterable[Annotated], source: Path, folder: Path, labels: tuple[str, ...]) -> Read:
    """The examples of the file `source` whose picture lies in `folder`; the others are counted in the notice."""
    if not folder.is_dir():
        raise DataUnavailable(f"There is no folder {folder}. Give the folder that holds the pictures.")
    known: dict[tuple[str, ...], Picture | None] = {}
    examples, without = [], 0
    for places, example in annotated:
        if places not in known:
            known[places] = next((Picture(path=folder / at) for at in places if os.path.isfile(folder / at)), None)
        picture = known[places]
        if picture is None:
            without += 1
        else:
            examples.append(replace(example, picture=picture))
    if not known:
        raise DataUnavailable(f"{source.name} holds no example. Give the annotation file as its authors publish it.")
    missing = [places[0] for places, picture in known.items() if picture is None]
    if not examples:
        raise DataUnavailable(
            f"{folder} holds no picture that {source.name} names, neither {missing[0]} nor another one. "
            "Give the folder that holds them."
        )
    notice = f"Pictures missing: {len(missing):,} of {len(known):,}. Examples left out for it: {without:,}."
    return Read(tuple(examples), labels, notice if missing else "")
