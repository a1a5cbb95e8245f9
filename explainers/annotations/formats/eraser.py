"""ERASER annotations (DeYoung et al., 2020): a document per text, and a line of JSON per item.

docs/NAME or docs.jsonl   {"docid": NAME, "document": "space-joined tokens\nwith a sentence per line"}
SPLIT.jsonl               {"annotation_id": …, "classification": "POS", "query": …, "docids": [NAME] or null,
                           "evidences": [[{"docid": NAME, "start_token": 3, "end_token": 9, "text": …}]]}

Offsets count tokens between spaces, the end exclusive; evidence without tokens, which the published Movie Reviews have,
marks nothing. Where an item has two documents they are the two texts of a pair. What `eraser_export` writes beside that
is read back without loss.

ERASER annotations written from items and annotations: a zip file with docs.jsonl and annotations.jsonl.

ERASER counts tokens between spaces, so a document is written as its words and punctuation marks joined by spaces, and a
mark becomes the tokens that it touches. The exact code points stand in our own records beside each row, from which
`read_eraser` restores everything.
"""

import io
import json
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from explainers.annotations import judged, record_json
from explainers.annotations.formats import own_records
from explainers.annotations.records import Annotation, Item, Marked, Span
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.models.inputs.words import word_spans

DOCUMENTS = ("docs.jsonl", "docs")
SPLITS = ("train", "val", "test")


def token_spans(text: str) -> list[Span]:
    """The code points of every token between spaces."""
    return [Span(*match.span()) for match in re.finditer(r"\S+", text)]


def read_eraser(
    annotations: str, documents: Mapping[str, str], classes: Sequence[str] = (), *, query_as_pair: bool = False
) -> own_records.Imported:
    """The items of a file, with their rationales. `classes` are the model's, to which the data's are matched.

    The query becomes the second text only with `query_as_pair`: in Movie Reviews it is the same for all.
    """
    tokens: dict[str, list[Span]] = {}

    def read(row: object) -> own_records.RowContent:
        content = record_json.json_object(row, "an object")
        own = own_records.read_own(content)
        if own is not None:
            return own_records.content_of(own)
        return own_records.RowContent((_item(content, documents, tokens, classes, query_as_pair),))

    return own_records.read_rows(own_records.json_lines(annotations), read)


def read_eraser_folder(folder: Path, split: str, classes: Sequence[str] = ()) -> own_records.Imported:
    """A split of a data set as it is published, unpacked. Raises `DataUnavailable` if a file is missing."""
    return read_eraser(folder_split(folder, split), folder_documents(folder), classes)


def folder_split(folder: Path, split: str) -> str:
    """The lines of a split. Raises `DataUnavailable` if there is none."""
    path = folder / f"{split}.jsonl"
    if not path.is_file():
        raise DataUnavailable(f"There is no {path.name} in {folder}. Give the unpacked folder of an ERASER data set.")
    return _text(path)


def folder_documents(folder: Path) -> dict[str, str]:
    """The documents by id, from docs.jsonl or the files of docs/. Raises `DataUnavailable` if there are none."""
    lines, files = (folder / name for name in DOCUMENTS)
    if lines.is_file():
        return parse_documents(_text(lines))
    if not files.is_dir():
        raise DataUnavailable(f"{folder} has neither docs.jsonl nor a folder docs.")
    return {path.name: _text(path) for path in sorted(files.iterdir()) if path.is_file()}


def parse_documents(content: str) -> dict[str, str]:
    """The documents of docs.jsonl. Raises `DataUnavailable` for a line that is no document."""
    documents = {}
    for row in own_records.json_lines(content):
        if isinstance(row, DataUnavailable):
            raise row
        document = record_json.json_object(row, "a document")
        documents[record_json.field(document, "docid", str)] = record_json.field(document, "document", str)
    return documents


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataUnavailable(f"{path.name} is not readable UTF-8 text.") from error


def _item(
    row: Mapping[str, Any],
    documents: Mapping[str, str],
    tokens: dict[str, list[Span]],
    classes: Sequence[str],
    query_as_pair: bool,
) -> Item:
    content = dict(row)
    id, label = record_json.field(content, "annotation_id", str), record_json.field(content, "classification", str, "")
    groups = [record_json.typed(group, list, "evidences") for group in record_json.field(content, "evidences", list)]
    evidences = [record_json.json_object(evidence, "an evidence") for group in groups for evidence in group]
    names = _document_names(content, evidences, id)
    for name in names:
        if name not in documents:
            raise DataUnavailable(f"There is no document {name[:60]!r}.")
        if name not in tokens:
            tokens[name] = token_spans(documents[name])
    spans: dict[str, list[Span]] = {name: [] for name in names}
    for evidence in evidences:
        name = record_json.field(evidence, "docid", str, names[0])
        spans[name] += _spans(evidence, documents[name], tokens[name])
    query = record_json.optional(content, "query", str) if query_as_pair else None
    pair = documents[names[1]] if len(names) == 2 else query or None
    second = tuple(spans[names[1]]) if len(names) == 2 else ()
    example = Example(documents[names[0]], pair, own_records.class_number(label, classes))
    return Item(id, example, (Marked(tuple(spans[names[0]]), second),), label)


def _document_names(row: dict[str, Any], evidences: Sequence[dict[str, Any]], id: str) -> list[str]:
    """One, or the two of a pair: those of `docids`, or of the evidence, or the item's own id."""
    named = record_json.optional(row, "docids", list) or [
        evidence["docid"] for evidence in evidences if "docid" in evidence
    ]
    names = list(dict.fromkeys(str(name) for name in named)) or [id]
    mentioned = {str(evidence.get("docid", names[0])) for evidence in evidences}
    if len(names) > 2 or not mentioned <= set(names):
        raise DataUnavailable(
            f"An item has one document or the two of a pair; this one has {len(mentioned | set(names))}."
        )
    return names


def _spans(evidence: dict[str, Any], document: str, tokens: Sequence[Span]) -> list[Span]:
    """Raises `DataUnavailable` for offsets beyond the document, and where its tokens are not those of the evidence."""
    first, last = record_json.field(evidence, "start_token", int), record_json.field(evidence, "end_token", int)
    if not 0 <= first <= last <= len(tokens):
        raise DataUnavailable(
            f"The evidence {first} to {last} is not within the {len(tokens):,} tokens of the document."
        )
    if first == last:
        return []
    span = Span(tokens[first].start, tokens[last - 1].end)
    stated = record_json.optional(evidence, "text", str)
    if stated and stated.split() != document[span.start : span.end].split():
        raise DataUnavailable(f"The tokens {first} to {last} of the document are not the text of the evidence.")
    return [span]


ANNOTATIONS, EXPORTED_DOCUMENTS = "annotations.jsonl", "docs.jsonl"


def eraser_export(items: Iterable[Item], annotations: Sequence[Annotation]) -> bytes:
    documents: dict[str, str] = {}
    lines = []
    for row in own_records.rows_of(items, annotations):
        documents |= {name: " ".join(tokens_of(text)) for name, text in documents_of(row[0]).items()}
        lines.append(eraser_row(row))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            EXPORTED_DOCUMENTS, _json_lines({"docid": id, "document": text} for id, text in documents.items())
        )
        archive.writestr(ANNOTATIONS, _json_lines(lines))
    return file.getvalue()


def documents_of(item: Item) -> dict[str, str]:
    """The texts of an item by the ids of their documents."""
    if item.example.pair is None:
        return {item.id: item.example.text}
    return {f"{item.id}_premise": item.example.text, f"{item.id}_hypothesis": item.example.pair}


def tokens_of(text: str) -> list[str]:
    """Words and punctuation marks. None holds a space, at which ERASER would split it."""
    return ["".join(text[start:end].split()) for start, end in word_spans(text)]


def eraser_row(row: own_records.Row) -> record_json.Content:
    item, annotation = row
    documents, marked = documents_of(item), own_records.marks_in(row)
    spans = (marked.spans_of_text, marked.spans_of_pair)
    evidences = [
        evidence
        for (id, text), own in zip(documents.items(), spans, strict=False)
        for evidence in _evidences(id, text, own)
    ]
    version = f"/{annotation.annotator}/{annotation.task}/{annotation.version}" if annotation else ""
    return {
        "annotation_id": item.id + version,
        "classification": (annotation and annotation.own_class) or item.label,  # the class that the evidence is for
        "docids": list(documents),
        "evidences": [[evidence] for evidence in evidences],
        "query": "",
        "query_type": None,
        "offsets": "tokens between spaces; in crosslight " + own_records.CODE_POINTS,
        **own_records.who(row),
        own_records.OWN: own_records.own_json(row),
    }


def _evidences(id: str, text: str, spans: Sequence[Span]) -> list[record_json.Content]:
    words, tokens = word_spans(text), tokens_of(text)
    evidences = []
    for span in spans:
        units = judged.units_of([span], words)
        if units:
            first, last = min(units), max(units) + 1
            evidences.append(
                {
                    "docid": id,
                    "start_token": first,
                    "end_token": last,
                    "start_sentence": -1,
                    "end_sentence": -1,
                    "text": " ".join(tokens[first:last]),
                }
            )
    return evidences


def _json_lines(rows: Iterable[record_json.Content]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
