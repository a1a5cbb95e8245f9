"""ERASER annotations (DeYoung et al., 2020): a document per text, and a line of JSON per item.

docs/NAME or docs.jsonl   {"docid": NAME, "document": "space-joined tokens\\nwith a sentence per line"}
SPLIT.jsonl               {"annotation_id": …, "classification": "POS", "query": …, "docids": [NAME] or null,
                           "evidences": [[{"docid": NAME, "start_token": 3, "end_token": 9, "text": …}]]}

Offsets count tokens between spaces, the end exclusive; evidence without tokens, which the published Movie Reviews have,
marks nothing. Where an item has two documents they are the two texts of a pair. What `eraser_export` writes beside that
is read back without loss.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from explainers.annotations.fields import field, json_object, optional, typed
from explainers.annotations.formats.imported import Imported, RowContent, class_number, json_lines, read_rows
from explainers.annotations.formats.own import content_of, read_own
from explainers.annotations.records import Item, Marked, Span
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable

DOCUMENTS = ("docs.jsonl", "docs")
SPLITS = ("train", "val", "test")


def token_spans(text: str) -> list[Span]:
    """The code points of every token between spaces."""
    return [Span(*match.span()) for match in re.finditer(r"\S+", text)]


def read_eraser(
    annotations: str, documents: Mapping[str, str], classes: Sequence[str] = (), *, query_as_pair: bool = False
) -> Imported:
    """The items of a file, with their rationales. `classes` are the model's, to which the data's are matched.

    The query becomes the second text only with `query_as_pair`: in Movie Reviews it is the same for all.
    """
    tokens: dict[str, list[Span]] = {}

    def read(row: object) -> RowContent:
        content = json_object(row, "an object")
        own = read_own(content)
        if own is not None:
            return content_of(own)
        return RowContent((_item(content, documents, tokens, classes, query_as_pair),))

    return read_rows(json_lines(annotations), read)


def read_eraser_folder(folder: Path, split: str, classes: Sequence[str] = ()) -> Imported:
    """A split of a data set as it is published, unpacked. Raises `DataUnavailable` if a file is missing."""
    path = folder / f"{split}.jsonl"
    if not path.is_file():
        raise DataUnavailable(f"There is no {path.name} in {folder}. Give the unpacked folder of an ERASER data set.")
    return read_eraser(_text(path), folder_documents(folder), classes)


def folder_documents(folder: Path) -> dict[str, str]:
    """By id, from docs.jsonl or the files of docs/. Raises `DataUnavailable` if there are none."""
    lines, files = (folder / name for name in DOCUMENTS)
    if lines.is_file():
        return parse_documents(_text(lines))
    if not files.is_dir():
        raise DataUnavailable(f"{folder} has neither docs.jsonl nor a folder docs.")
    return {path.name: _text(path) for path in sorted(files.iterdir()) if path.is_file()}


def parse_documents(content: str) -> dict[str, str]:
    """Of docs.jsonl. Raises `DataUnavailable` for a line that is no document."""
    documents = {}
    for row in json_lines(content):
        if isinstance(row, DataUnavailable):
            raise row
        document = json_object(row, "a document")
        documents[field(document, "docid", str)] = field(document, "document", str)
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
    id, label = field(content, "annotation_id", str), field(content, "classification", str, "")
    groups = [typed(group, list, "evidences") for group in field(content, "evidences", list)]
    evidences = [json_object(evidence, "an evidence") for group in groups for evidence in group]
    names = _document_names(content, evidences, id)
    for name in names:
        if name not in documents:
            raise DataUnavailable(f"There is no document {name[:60]!r}.")
        if name not in tokens:
            tokens[name] = token_spans(documents[name])
    spans: dict[str, list[Span]] = {name: [] for name in names}
    for evidence in evidences:
        name = field(evidence, "docid", str, names[0])
        spans[name] += _spans(evidence, documents[name], tokens[name])
    query = optional(content, "query", str) if query_as_pair else None
    pair = documents[names[1]] if len(names) == 2 else query or None
    second = tuple(spans[names[1]]) if len(names) == 2 else ()
    example = Example(documents[names[0]], pair, class_number(label, classes))
    return Item(id, example, (Marked(tuple(spans[names[0]]), second),), label)


def _document_names(row: dict[str, Any], evidences: Sequence[dict[str, Any]], id: str) -> list[str]:
    """One, or the two of a pair: those of `docids`, or of the evidence, or the item's own id."""
    named = optional(row, "docids", list) or [each["docid"] for each in evidences if "docid" in each]
    names = list(dict.fromkeys(str(name) for name in named)) or [id]
    mentioned = {str(each.get("docid", names[0])) for each in evidences}
    if len(names) > 2 or not mentioned <= set(names):
        raise DataUnavailable(
            f"An item has one document or the two of a pair; this one has {len(mentioned | set(names))}."
        )
    return names


def _spans(evidence: dict[str, Any], document: str, tokens: Sequence[Span]) -> list[Span]:
    """Raises `DataUnavailable` for offsets beyond the document, and where its tokens are not those of the evidence."""
    first, last = field(evidence, "start_token", int), field(evidence, "end_token", int)
    if not 0 <= first <= last <= len(tokens):
        raise DataUnavailable(
            f"The evidence {first} to {last} is not within the {len(tokens):,} tokens of the document."
        )
    if first == last:
        return []
    span = Span(tokens[first].start, tokens[last - 1].end)
    stated = optional(evidence, "text", str)
    if stated and stated.split() != document[span.start : span.end].split():
        raise DataUnavailable(f"The tokens {first} to {last} of the document are not the text of the evidence.")
    return [span]
