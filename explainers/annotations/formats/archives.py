"""An ERASER data set in one file, .zip or .tar.gz: its documents and the lines of each split, read in memory."""

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from explainers.annotations.formats.eraser import parse_documents
from explainers.errors import DataUnavailable

LARGEST, MOST_FILES = 200_000_000, 50_000  # bytes once unpacked, and files
SUFFIXES = (".zip", ".tar.gz", ".tgz", ".tar")


@dataclass(frozen=True)
class EraserArchive:
    """By name the lines of every split, and by id the documents."""

    splits: dict[str, str]
    documents: dict[str, str]


def is_archive(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def read_archive(content: bytes, name: str) -> EraserArchive:
    """Raises `DataUnavailable` for a damaged archive, one that is too large, and one without documents."""
    splits: dict[str, str] = {}
    documents: dict[str, str] = {}
    try:
        for path, text in _files(content):
            if path.name == "docs.jsonl":
                documents |= parse_documents(_decoded(path, text))
            elif path.parent.name == "docs":
                documents[path.name] = _decoded(path, text)
            elif path.suffix == ".jsonl":
                splits[path.stem] = _decoded(path, text)
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise DataUnavailable(f"{name} is not a readable archive. Pack it again.") from error
    if not splits or not documents:
        raise DataUnavailable(f"{name} has no ERASER data: it needs docs/ or docs.jsonl, and a .jsonl file per split.")
    return EraserArchive(splits, documents)


def _files(content: bytes) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Regular files, until they are too many or too large together."""
    left = LARGEST
    for number, (path, file) in enumerate(_opened(content)):
        text = file.read(left + 1)
        left -= len(text)
        if left < 0 or number >= MOST_FILES:
            raise DataUnavailable(
                f"The archive is too large: at most {LARGEST // 10**6} MB and {MOST_FILES:,} files are read."
            )
        yield path, text


def _opened(content: bytes) -> Iterator[tuple[PurePosixPath, io.BufferedIOBase]]:
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    with archive.open(entry) as file:
                        yield PurePosixPath(entry.filename), file  # type: ignore[misc]
        return
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for member in tar:
            opened = tar.extractfile(member) if member.isfile() else None
            if opened is not None:
                yield PurePosixPath(member.name), opened  # type: ignore[misc]


def _decoded(path: PurePosixPath, text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataUnavailable(f"{path.name} is not UTF-8 text.") from error
