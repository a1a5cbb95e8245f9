"""doccano's JSON lines for sequence labelling.

{"id": …, "text": …, "label": [[start, end, "evidence"], …]}   or, with relations,
{"id": …, "text": …, "entities": [{"start_offset": …, "end_offset": …, "label": …}, …]}

doccano is a page in a browser and counts UTF-16 code units, unless a project counts grapheme clusters (its issue 2290);
the field `offsets` says which, and our records beside it count code points. The second text of a pair follows the first
after a line break. Rows whose marks were changed in doccano are read from doccano's fields.
"""

import json
from collections.abc import Iterable, Sequence

from explainers.annotations.formats.own import (
    EVIDENCE,
    OWN,
    UTF16,
    Imported,
    Row,
    RowContent,
    checked_span,
    content_of,
    from_utf16,
    json_lines,
    marks_in,
    own_json,
    read_own,
    read_rows,
    rows_of,
    text_id,
    to_utf16,
    utf16_offsets,
    who,
)
from explainers.annotations.record_json import (
    Content,
    field,
    json_object,
    typed,
)
from explainers.annotations.records import Annotation, Item, Marked, Span
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable

BETWEEN = "\n"


def doccano_export(items: Iterable[Item], annotations: Sequence[Annotation]) -> str:
    """A line per annotation, and per item without any."""
    lines = (json.dumps(doccano_row(row), ensure_ascii=False) for row in rows_of(items, annotations))
    return "".join(f"{line}\n" for line in lines)


def doccano_row(row: Row) -> Content:
    text, pair = row[0].example.text, row[0].example.pair
    joined, shift = (text, 0) if pair is None else (text + BETWEEN + pair, len(text) + len(BETWEEN))
    marked, offsets = marks_in(row), utf16_offsets(joined)
    spans = [*marked.spans_of_text, *(Span(span.start + shift, span.end + shift) for span in marked.spans_of_pair)]
    labels = [[*to_utf16(span, offsets), EVIDENCE] for span in spans]
    return {"id": row[0].id, "text": joined, "label": labels, "offsets": UTF16, **who(row), OWN: own_json(row)}


def read_doccano(content: str, offsets: str = UTF16) -> Imported:
    """Items whose rationale are the labels, or our own records. `offsets` holds for rows that do not say theirs."""

    def read(row: object) -> RowContent:
        line = json_object(row, "an object")
        own = read_own(line)
        if own is not None and doccano_row(own)["label"] == line.get("label"):
            return content_of(own)
        return RowContent((_item(line, own, offsets),))

    return read_rows(json_lines(content), read)


def _item(line: Content, own: Row | None, offsets: str) -> Item:
    text = field(line, "text", str) if "text" in line else field(line, "data", str)
    places = utf16_offsets(text)
    in_utf16 = line.get("offsets", offsets) == UTF16
    spans = [
        from_utf16(start, end, places) if in_utf16 else checked_span(start, end, len(text))
        for start, end in _labels(line)
    ]
    pair = own[0].example.pair if own else None
    first = text if pair is None else text[: -len(BETWEEN + pair)]
    if pair is not None and text != first + BETWEEN + pair:
        raise DataUnavailable("The text is not that of the pair from which it was made.")
    shift = len(first) + len(BETWEEN)
    marked = Marked(
        tuple(span for span in spans if span.end <= len(first)),
        tuple(Span(span.start - shift, span.end - shift) for span in spans if span.start >= shift),
    )
    if len(marked.spans_of_text) + len(marked.spans_of_pair) != len(spans):
        raise DataUnavailable("A mark goes from one text of the pair into the other.")
    id = line.get("id")
    return Item(text_id(text) if id is None else str(id), Example(first, pair), (marked,))


def _labels(line: Content) -> list[tuple[int, int]]:
    """Start and end of every label."""
    if "entities" in line:
        entities = [json_object(label, "an entity") for label in field(line, "entities", list)]
        return [(field(entity, "start_offset", int), field(entity, "end_offset", int)) for entity in entities]
    spans = []
    for label in field(line, "label" if "label" in line else "labels", list, []):
        if not isinstance(label, list) or len(label) < 2:
            raise DataUnavailable("A label is a list of start, end and name.")
        spans.append((typed(label[0], int, "start"), typed(label[1], int, "end")))
    return spans
