"""An ERASER data set in one file, .zip or .tar.gz: its documents and the lines of each split, read in memory."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Self

from explainers.annotations.formats.eraser import parse_documents
from explainers.datasets.images.files import DAMAGED, check_compression
from explainers.errors import DataUnavailable

LARGEST, MOST_FILES = 200_000_000, 50_000  # bytes once unpacked, and entries, directories and links included
LARGEST_HEADER = 4_096  # bytes of what a tar archive keeps beside an entry, such as a long name
ALL_HEADERS = 3 * 10**9  # the sum of the squares of their sizes, with which the time to parse them grows: seconds
MOST_SHARED = 100  # fields that hold for all entries; they are copied for each
EXTENDED = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
GZIP = b"\x1f\x8b"
SUFFIXES = (".zip", ".tar.gz", ".tgz", ".tar")


@dataclass(frozen=True)
class EraserArchive:
    """The lines of every split by name, and the documents by id."""

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
    except (tarfile.TarError, *DAMAGED) as error:
        raise DataUnavailable(f"{name} is not a readable archive. Pack it again.") from error
    if not splits or not documents:
        raise DataUnavailable(f"{name} has no ERASER data: it needs docs/ or docs.jsonl, and a .jsonl file per split.")
    return EraserArchive(splits, documents)


def _files(content: bytes) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Regular files, until the entries are too many or too large together."""
    left = LARGEST
    for number, (path, size, file) in enumerate(_opened(content)):
        text = file.read(min(size, left + 1)) if file is not None else b""
        left -= len(text)
        if left < 0 or number >= MOST_FILES:
            raise _too_large()
        if file is not None:
            yield path, text


def _opened(content: bytes) -> Iterator[tuple[PurePosixPath, int, io.BufferedIOBase | None]]:
    """Every entry with the size that it declares, in bytes; those that are no regular files, such as directories and
    links, without a file."""
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for entry in archive.infolist():
                if entry.is_dir():
                    yield PurePosixPath(entry.filename), 0, None
                    continue
                check_compression(entry)
                with archive.open(entry) as file:
                    yield PurePosixPath(entry.filename), entry.file_size, file  # type: ignore[misc]
        return
    with tarfile.open(fileobj=io.BytesIO(_unpacked(content)), mode="r:", tarinfo=_bounded_headers()) as tar:
        while (member := tar.next()) is not None:
            opened = tar.extractfile(member) if member.isfile() else None
            yield PurePosixPath(member.name), member.size, opened  # type: ignore[misc]
            if len(tar.pax_headers) > MOST_SHARED:
                raise _too_large()
            tar.members = []  # type: ignore[attr-defined]  # otherwise all of them stay in memory


def _bounded_headers() -> type[tarfile.TarInfo]:
    """Refuses headers that take long to parse."""
    total = 0

    class BoundedHeader(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
            nonlocal total
            header = super().frombuf(buf, encoding, errors)
            if header.type in EXTENDED:
                total += header.size**2
                if header.size > LARGEST_HEADER or total > ALL_HEADERS:
                    raise _too_large()
            return header

    return BoundedHeader


def _unpacked(content: bytes) -> bytes:
    """The tar archive, which may be packed by gzip."""
    if not content.startswith(GZIP):
        return content
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        unpacked = file.read(LARGEST + 1)
    if len(unpacked) > LARGEST:
        raise _too_large()
    return unpacked


def _too_large() -> DataUnavailable:
    return DataUnavailable(
        f"The archive is too large: at most {LARGEST // 10**6} MB and {MOST_FILES:,} files are read."
    )


def _decoded(path: PurePosixPath, text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataUnavailable(f"{path.name} is not UTF-8 text.") from error
