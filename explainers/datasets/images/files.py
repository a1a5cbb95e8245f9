"""Files of image sets: annotation files, the folder of their images, and the images that a person's table names.

A name that leads out of the folder is refused, and so is what is no image or a too large one; all by headers alone.
"""

import csv
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Protocol, TextIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from explainers.datasets.example import LARGEST_FILE, Example, InputImage
from explainers.errors import DataUnavailable

LONGEST_NAME = 255
Annotated = tuple[tuple[str, ...], Example]  # possible paths of the image in its folder, and all but the image
MOST_FILES, MOST_UNPACKED = 20_000, 500_000_000  # entries of an archive, and bytes of all together
LARGEST_TABLE = 10_000_000  # bytes
JUNK = ("__MACOSX", ".DS_Store", "Thumbs.db")  # that systems add when they pack
# What zipfile raises for damaged files; for an encryption that it does not know `NotImplementedError`.
DAMAGED = (BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError)


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


class NamedImages(Protocol):
    def image(self, name: str) -> InputImage:
        """Return the image that a table names. Raises `DataUnavailable` if it is missing or cannot be used."""
        ...


@dataclass(frozen=True)
class ImageFolder:
    """The images in the folder of a table, also in folders below it."""

    folder: Path

    def image(self, name: str) -> InputImage:
        path = self.folder / _inside(name)
        try:
            inside, present = path.resolve().is_relative_to(self.folder.resolve()), path.is_file()
        except (OSError, RuntimeError) as error:  # such as a name that is too long, or links in a circle
            raise DataUnavailable("It is missing in the folder of the table.") from error
        if not inside:  # by a link
            raise DataUnavailable("It leads out of the folder of the table.")
        if not present:
            raise DataUnavailable("It is missing in the folder of the table.")
        return _usable(InputImage(path=path))


@dataclass(frozen=True, eq=False)
class ZippedTable:
    """A table, `name` and `content`, and the images beside it in the same archive, which stays in memory."""

    name: str
    content: bytes = field(repr=False)
    archive: ZipFile = field(repr=False)
    entries: Mapping[str, ZipInfo] = field(repr=False)  # by their names from the folder of the table on

    def image(self, name: str) -> InputImage:
        return _usable(InputImage.uploaded(self._read(name)))

    def unpack(self, folder: Path, images: Iterable[str]) -> Path:
        """Write the table and these images to a new folder; return the path of the table."""
        folder.mkdir()
        for name in sorted(set(images)):
            path = folder / _inside(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self._read(name))
        table = folder / f"table{Path(self.name).suffix.lower()}"
        table.write_bytes(self.content)
        return table

    def _read(self, name: str) -> bytes:
        entry = self.entries.get(str(PurePosixPath(_inside(name))))
        if entry is None:
            raise DataUnavailable("It is missing in the ZIP file.")
        return _unpacked(self.archive, entry, LARGEST_FILE)


def zipped_table(content: bytes, name: str, suffixes: Iterable[str]) -> ZippedTable:
    """Return the table of an archive, whose name ends in one of the suffixes, with its images.

    Raises `DataUnavailable` for a damaged archive, for one with too many or too large files, with names that lead out
    of it, and without exactly one table.
    """
    try:
        archive = ZipFile(BytesIO(content))
    except DAMAGED as error:
        raise DataUnavailable(f"{name} is not a readable ZIP file. Pack it again.") from error
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MOST_FILES:
        raise DataUnavailable(f"{name} has {len(entries):,} files; at most {MOST_FILES:,} are read.")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > MOST_UNPACKED:
        raise DataUnavailable(
            f"{name} has {unpacked / 1e6:,.0f} MB once unpacked; at most {MOST_UNPACKED // 10**6:,} MB are read."
        )
    paths = {_path(entry, name): entry for entry in entries}
    named = [path for path in paths if path.suffix.lower() in suffixes and not set(path.parts) & set(JUNK)]
    if len(named) != 1:
        raise DataUnavailable(f"Give one table ({', '.join(suffixes)}) with its images; {name} has {len(named)}.")
    (table,) = named
    beside = {
        str(path.relative_to(table.parent)): entry for path, entry in paths.items() if path.is_relative_to(table.parent)
    }
    return ZippedTable(table.name, _unpacked(archive, paths[table], LARGEST_TABLE), archive, beside)


def _path(entry: ZipInfo, archive: str) -> PurePosixPath:
    try:
        return PurePosixPath(checked_name(entry.filename, archive))
    except DataUnavailable as error:
        raise DataUnavailable(
            f"{archive} has a file that leads out of its folder, {entry.filename[:60]!r}. Pack it again."
        ) from error


def check_compression(entry: ZipInfo) -> None:
    """Raises `DataUnavailable` for an entry of which Python cannot unpack a part alone, as of bzip2 and LZMA."""
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise DataUnavailable(
            f"{PurePosixPath(entry.filename).name} is compressed in a way that is not read. Pack it as an ordinary ZIP "
            "file (deflate)."
        )


def _unpacked(archive: ZipFile, entry: ZipInfo, most: int) -> bytes:
    """Return a file of an archive; no more than it declares is unpacked."""
    check_compression(entry)
    if entry.file_size > most:
        raise DataUnavailable(f"{PurePosixPath(entry.filename).name} has more than {most // 10**6} MB.")
    try:
        with archive.open(entry) as file:
            return file.read(entry.file_size)
    except DAMAGED as error:
        raise DataUnavailable(f"{PurePosixPath(entry.filename).name} cannot be unpacked. Pack it again.") from error


def _inside(name: str) -> str:
    try:
        return checked_name(name, "")
    except DataUnavailable as error:
        raise DataUnavailable("It leads out of the folder of the table.") from error


def _usable(image: InputImage) -> InputImage:
    _ = image.size  # raises where it is no image, or a too large one
    return image
