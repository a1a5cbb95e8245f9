"""A part of an ERASER data set as rows: an archive, or the unpacked folder, whose people's rationales come along.

Also what Annotate exports in this format: then the marks are those of its annotators.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from explainers.annotations.formats import archives, own_records
from explainers.annotations.formats.eraser import DOCUMENTS, folder_documents, folder_split, read_eraser
from explainers.annotations.records import Annotation, Item, Marked, latest
from explainers.datasets import labelled_rows, tables
from explainers.errors import DataUnavailable

PREFERRED_PART = "test"
OTHER_NAMES = {"validation": "val", "val": "validation"}  # of one part, in different data sets
TOO_LARGE = "{} is too large: of an ERASER data set at most {:,} MB are read."


@dataclass
class _Found:
    """An item, the line in which it first stood, and what people marked in it."""

    line: int
    item: Item
    annotations: list[Annotation] = field(default_factory=list)


@dataclass(frozen=True)
class EraserPart:
    """The lines of one part of a data set, and all documents by id. `parts` are the names of all parts."""

    name: str
    split: str
    parts: tuple[str, ...]
    lines: str
    documents: Mapping[str, str]
    sha256: str

    def rows(
        self,
        labels: Sequence[str],
        input_names: Sequence[str],
        classes: tuple[tuple[str, str], ...] = (),
        most: int = 0,
        seed: int = 0,
    ) -> labelled_rows.ReadRows:
        """Return the items for a model with these `labels` and inputs, as `labelled_rows.read_rows` those of a table.

        A label may be shortened, as POS for positive; others need a class in `classes`. For a model of pairs the query
        is the second text of an item with one document.
        """
        pairs = len(input_names) == 2
        columns = labelled_rows.Columns(
            "text", "pair" if pairs else "", "label" if labels else "", "id", classes, "rationale"
        )
        records = partial(self._records, labels, pairs=pairs)
        read = labelled_rows.rows_of(records, self.name, self.sha256, columns, labels, input_names, most, seed)
        return replace(read, split=self.split)

    def unknown_labels(self, labels: Sequence[str], input_names: Sequence[str]) -> tuple[str, ...]:
        """Return the labels that name no class, of the items that a model with these inputs reads."""
        return labelled_rows.unknown_labels_of(self._records(labels, pairs=len(input_names) == 2), "label", labels)

    def _records(self, labels: Sequence[str], *, pairs: bool) -> Iterator[tables.Record]:
        items: dict[str, _Found] = {}
        others: list[tables.Record] = []
        for line, text in enumerate(self.lines.split("\n"), 1):
            if not text.strip():
                continue
            imported = read_eraser(text, self.documents, labels, query_as_pair=pairs)
            others += [(line, DataUnavailable(f"Line {line:,}: {bad.reason}")) for bad in imported.bad_rows]
            for item in imported.items:
                if item.id in items and not imported.annotations:
                    first = items[item.id].line
                    others.append((line, DataUnavailable(f"Line {line:,} has the id {item.id!r} of line {first:,}.")))
                    continue
                items.setdefault(item.id, _Found(line, item)).annotations += imported.annotations
        records = [(one.line, _cells(one, labels, pairs=pairs)) for one in items.values()]
        yield from sorted([*records, *others], key=lambda record: record[0])


def eraser_part(source: tables.Source, name: str, split: str = "") -> EraserPart:
    """Read a part of an archive, or of an unpacked folder; without a `split` that named test, or the first one.

    Raises `DataUnavailable` if it cannot be used, and for a part that is not there.
    """
    if isinstance(source, Path) and source.is_dir():
        return _folder_part(source, name, split)
    if not archives.is_archive(name):
        raise DataUnavailable(
            f"{name} is no ERASER data set. Give its unpacked folder, or both documents and annotations in one .zip or "
            ".tar.gz."
        )
    if isinstance(source, Path) and source.is_file() and source.stat().st_size > archives.LARGEST:
        raise DataUnavailable(TOO_LARGE.format(name, archives.LARGEST // 10**6))
    with tables.opened(source, name) as file:
        archive = archives.read_archive(file.read(), name)
    parts = tuple(sorted(archive.splits))
    chosen = _chosen(split, parts, name)
    return EraserPart(name, chosen, parts, archive.splits[chosen], archive.documents, tables.checksum_of(source, name))


def _folder_part(folder: Path, name: str, split: str) -> EraserPart:
    parts = tuple(sorted(path.stem for path in folder.glob("*.jsonl") if path.name not in DOCUMENTS))
    if not parts:
        raise DataUnavailable(f"{name} has no .jsonl file of annotations. Give the folder of an ERASER data set.")
    chosen = _chosen(split, parts, name)
    files = [folder / f"{chosen}.jsonl", *(folder / one for one in DOCUMENTS), *(folder / DOCUMENTS[1]).glob("*")]
    if sum(path.stat().st_size for path in files if path.is_file()) > archives.LARGEST:
        raise DataUnavailable(TOO_LARGE.format(name, archives.LARGEST // 10**6))
    lines, documents = folder_split(folder, chosen), folder_documents(folder)
    digest = hashlib.sha256(json.dumps([lines, documents], sort_keys=True).encode()).hexdigest()
    return EraserPart(name, chosen, parts, lines, documents, digest)


def _chosen(split: str, parts: tuple[str, ...], name: str) -> str:
    chosen = split or (PREFERRED_PART if PREFERRED_PART in parts else parts[0])
    if chosen not in parts and OTHER_NAMES.get(chosen) in parts:
        chosen = OTHER_NAMES[chosen]
    if chosen not in parts:
        raise DataUnavailable(f"{name} has no part {chosen[:60]!r}. Choose one of: {', '.join(parts)[:200]}.")
    return chosen


def _cells(found: _Found, labels: Sequence[str], *, pairs: bool) -> dict[str, str] | DataUnavailable:
    item = found.item
    if item.example.pair is not None and not pairs:
        return DataUnavailable(f"Line {found.line:,} has two documents, and the model reads single texts.")
    number = own_records.class_number(item.label, labels) if item.label else item.example.label
    return {
        "id": item.id,
        "text": item.example.text,
        "pair": item.example.pair or "",
        "label": labels[number] if number is not None and number < len(labels) else item.label,
        "rationale": json.dumps([_person(marked) for marked in _marks(found)]),
    }


def _marks(found: _Found) -> Sequence[Marked]:
    """Return what people marked: those of the data, or the annotators who gave the input the class of the data."""
    if found.item.rationale is not None:
        return found.item.rationale
    answers = [one for one in latest(tuple(found.annotations)) if one.task == "mark"]
    same = [one for one in answers if not found.item.label or one.own_class in ("", found.item.label)]
    return [one.answer for one in same if isinstance(one.answer, Marked)]


def _person(marked: Marked) -> dict[str, list[list[int]]]:
    return {
        "spans_of_text": [[span.start, span.end] for span in marked.spans_of_text],
        "spans_of_pair": [[span.start, span.end] for span in marked.spans_of_pair],
    }
