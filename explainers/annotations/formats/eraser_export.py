"""ERASER annotations written from items and annotations: a zip file with docs.jsonl and annotations.jsonl.

ERASER counts tokens between spaces, so a document is written as its words and punctuation marks joined by spaces, and a
mark becomes the tokens that it touches. The exact code points stand in our own records beside each row, from which
`read_eraser` restores everything.
"""

import io
import json
import zipfile
from collections.abc import Iterable, Sequence

from explainers.annotations.fields import Content
from explainers.annotations.formats.own import CODE_POINTS, OWN, Row, marks_in, own_json, rows_of, who
from explainers.annotations.records import Annotation, Item, Span
from explainers.annotations.units import units_of
from explainers.models.inputs.word_boundaries import word_spans

ANNOTATIONS, DOCUMENTS = "annotations.jsonl", "docs.jsonl"


def eraser_export(items: Iterable[Item], annotations: Sequence[Annotation]) -> bytes:
    documents: dict[str, str] = {}
    lines = []
    for row in rows_of(items, annotations):
        documents |= {name: " ".join(tokens_of(text)) for name, text in documents_of(row[0]).items()}
        lines.append(eraser_row(row))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(DOCUMENTS, _json_lines({"docid": id, "document": text} for id, text in documents.items()))
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


def eraser_row(row: Row) -> Content:
    item, annotation = row
    documents, marked = documents_of(item), marks_in(row)
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
        "offsets": "tokens between spaces; in crosslight " + CODE_POINTS,
        **who(row),
        OWN: own_json(row),
    }


def _evidences(id: str, text: str, spans: Sequence[Span]) -> list[Content]:
    words, tokens = word_spans(text), tokens_of(text)
    evidences = []
    for span in spans:
        units = units_of([span], words)
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


def _json_lines(rows: Iterable[Content]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
