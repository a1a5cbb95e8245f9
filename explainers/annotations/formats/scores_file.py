"""A file of attributions, whatever its format: lines of JSON, or an archive with ERASER's results and documents."""

from explainers.annotations.formats.archives import is_archive, read_archive
from explainers.annotations.formats.attributions_file import ForeignFile, read_attributions, read_eraser_results
from explainers.annotations.formats.imported import json_lines
from explainers.datasets.tables import decode_text


def read_scores(content: bytes, name: str, part: str = "") -> ForeignFile | None:
    """The attributions of a file, or None if it has none. In an archive every .jsonl file of results is a method of its
    name; `part` selects one. Raises `DataUnavailable` if the file cannot be read."""
    if not is_archive(name):
        text = decode_text(content, name) if name.lower().endswith(".jsonl") else ""
        return read_attributions(text) if _has(text, "scores", "method") else None
    archive = read_archive(content, name)
    files = [
        read_eraser_results(lines, archive.documents, split)
        for split, lines in archive.splits.items()
        if part in ("", split) and _has(lines, "rationales")
    ]
    if not files:
        return None
    return ForeignFile(
        tuple(each for file in files for each in file.attributions),
        tuple(each for file in files for each in file.bad_rows),
    )


def _has(text: str, *fields: str) -> bool:
    """Whether the first line has these fields."""
    first = next(iter(json_lines(text)), None)
    return isinstance(first, dict) and first.keys() >= set(fields)
