"""A file or folder of items, whatever its format, and the formats in which they are written."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from explainers.annotations.formats.annotation_tools import (
    doccano_export,
    label_studio_export,
    read_doccano,
    read_label_studio,
)
from explainers.annotations.formats.archives import is_archive, read_archive
from explainers.annotations.formats.eraser import eraser_export, read_eraser, read_eraser_folder
from explainers.annotations.formats.own import Imported, json_lines
from explainers.annotations.formats.tables import csv_export, jsonl_export, parquet_export, read_jsonl, read_table
from explainers.annotations.records import Annotation, Item
from explainers.datasets.tables import decode_text, is_table
from explainers.errors import DataUnavailable

READ = ".csv, .tsv, .parquet, .jsonl, .json (Label Studio), or .zip, .tar.gz, .tgz or .tar (ERASER)"
NO_DOCUMENTS = "These are ERASER annotations without their documents. Give both in one .zip or .tar.gz."
SNIFFED = 20  # rows by which doccano's lines are told from ours


@dataclass(frozen=True)
class ExportFormat:
    """`write` gives the content of a file that ends in `suffix`."""

    id: str
    name: str
    suffix: str
    write: Callable[[Iterable[Item], Sequence[Annotation]], bytes]


EXPORTS = (
    ExportFormat("csv", "CSV", ".csv", csv_export),
    ExportFormat("parquet", "Parquet", ".parquet", parquet_export),
    ExportFormat("jsonl", "JSON lines", ".jsonl", lambda items, given: jsonl_export(items, given).encode()),
    ExportFormat("eraser", "ERASER", ".zip", eraser_export),
    ExportFormat("doccano", "doccano", ".jsonl", lambda items, given: doccano_export(items, given).encode()),
    ExportFormat(
        "label_studio", "Label Studio", ".json", lambda items, given: label_studio_export(items, given).encode()
    ),
)


def read_items(path: Path, split: str, classes: Sequence[str]) -> Imported:
    """Read a file, or the folder of an ERASER data set. Raises `DataUnavailable` if it cannot be used."""
    if path.is_dir():
        return read_eraser_folder(path, split, classes)
    try:
        return parse_items(path.read_bytes(), path.name, split, classes)
    except OSError as error:
        raise DataUnavailable(f"{path.name} cannot be read: {error.strerror}.") from error


def parse_items(content: bytes, name: str, split: str = "", classes: Sequence[str] = ()) -> Imported:
    """Parse a file that was uploaded. `split` selects one of an archive with several. Raises `DataUnavailable`."""
    if is_archive(name):
        archive = read_archive(content, name)
        if not split and len(archive.splits) == 1:
            (split,) = archive.splits
        if split not in archive.splits:
            raise DataUnavailable(f"Choose one of the parts of {name}: {', '.join(sorted(archive.splits))[:200]}.")
        return read_eraser(archive.splits[split], archive.documents, classes)
    if is_table(name):
        return read_table(content, name, classes)
    text = decode_text(content, name)
    if name.lower().endswith(".json"):
        return read_label_studio(text)
    if not name.lower().endswith(".jsonl"):
        raise DataUnavailable(f"{name} cannot be read. Give a file that ends in {READ}.")
    return _read_lines(text, classes)


def _read_lines(text: str, classes: Sequence[str]) -> Imported:
    """Our own lines or doccano's."""
    rows = [row for row in islice(json_lines(text), SNIFFED) if isinstance(row, dict)]
    if any("evidences" in row for row in rows):
        raise DataUnavailable(NO_DOCUMENTS)
    if any("entities" in row or isinstance(row.get("label", row.get("labels")), list) for row in rows):
        return read_doccano(text)
    return read_jsonl(text, classes)
