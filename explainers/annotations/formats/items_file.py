"""A file or folder of items in any of the formats that are read, those of doccano and Label Studio among them.

{"id": …, "text": …, "label": [[start, end, "evidence"], …]}   or, with relations,
{"id": …, "text": …, "entities": [{"start_offset": …, "end_offset": …, "label": …}, …]}

doccano is a page in a browser and counts UTF-16 code units, unless a project counts grapheme clusters (its issue 2290);
the field `offsets` says which, and our records beside it count code points. The second text of a pair follows the first
after a line break. Rows whose marks were changed in doccano are read from doccano's fields.

[{"id": …, "data": {"text": …, "pair": …}, "annotations": [{"completed_by": …, "was_cancelled": false, "lead_time": …,
  "result": [{"from_name": "label", "to_name": "text", "type": "labels",
              "value": {"start": …, "end": …, "text": …, "labels": ["evidence"]}}]}]}]

Newer versions of Label Studio count code points, older ones UTF-16 code units (its issues 1347 and 1008): the `text` of
a mark decides which of the two holds, and a mark that fits neither is reported. We write code points and the text of
every mark.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from explainers.annotations import record_json
from explainers.annotations.formats import archives, own_records, tables
from explainers.annotations.formats.eraser import eraser_export, read_eraser, read_eraser_folder
from explainers.annotations.records import Annotation, Item, Marked, Span
from explainers.datasets.example import Example
from explainers.datasets.labelled_rows import column_names
from explainers.datasets.tables import decode_text, is_table, parsed_json
from explainers.errors import DataUnavailable

READ = ".csv, .tsv, .parquet, .jsonl, .json (Label Studio), or .zip, .tar.gz, .tgz or .tar (ERASER)"
NO_DOCUMENTS = "These are ERASER annotations without their documents. Give both in one .zip or .tar.gz."
SNIFFED = 20  # rows by which doccano's lines are told from ours

BETWEEN = "\n"
CONFIG = """<View>
  <Labels name="label" toName="text"><Label value="evidence"/></Labels>
  <Text name="text" value="$text"/>
  <Labels name="label_pair" toName="pair"><Label value="evidence"/></Labels>
  <Text name="pair" value="$pair"/>
</View>"""
TEXTS = (("text", "label"), ("pair", "label_pair"))  # names of the texts and of their labels in `CONFIG`


@dataclass(frozen=True)
class ExportFormat:
    """`write` gives the content of a file that ends in `suffix`."""

    id: str
    name: str
    suffix: str
    write: Callable[[Iterable[Item], Sequence[Annotation]], bytes]


EXPORTS = (
    ExportFormat("csv", "CSV", ".csv", tables.csv_export),
    ExportFormat("parquet", "Parquet", ".parquet", tables.parquet_export),
    ExportFormat("jsonl", "JSON lines", ".jsonl", lambda items, given: tables.jsonl_export(items, given).encode()),
    ExportFormat("eraser", "ERASER", ".zip", eraser_export),
    ExportFormat("doccano", "doccano", ".jsonl", lambda items, given: doccano_export(items, given).encode()),
    ExportFormat(
        "label_studio", "Label Studio", ".json", lambda items, given: label_studio_export(items, given).encode()
    ),
)


def read_items(path: Path, split: str, classes: Sequence[str]) -> own_records.Imported:
    """Read a file, or the folder of an ERASER data set. Raises `DataUnavailable` if it cannot be used."""
    if path.is_dir():
        return read_eraser_folder(path, split, classes)
    try:
        return parse_items(path.read_bytes(), path.name, split, classes)
    except OSError as error:
        raise DataUnavailable(f"{path.name} cannot be read: {error.strerror}.") from error


def parse_items(
    content: bytes,
    name: str,
    split: str = "",
    classes: Sequence[str] = (),
    columns: tables.Columns = tables.NAMED_AS_OURS,
) -> own_records.Imported:
    """Parse a file that was uploaded. `split` selects one of an archive with several, `columns` are those of a table or
    of lines. Raises `DataUnavailable`."""
    if archives.is_archive(name):
        archive = archives.read_archive(content, name)
        if not split and len(archive.splits) == 1:
            (split,) = archive.splits
        if split not in archive.splits:
            raise DataUnavailable(f"Choose one of the parts of {name}: {', '.join(sorted(archive.splits))[:200]}.")
        return read_eraser(archive.splits[split], archive.documents, classes)
    if is_table(name):
        return tables.read_table(content, name, classes, columns=columns)
    text = decode_text(content, name)
    if name.lower().endswith(".json"):
        return read_label_studio(text)
    if not name.lower().endswith(".jsonl"):
        raise DataUnavailable(f"{name} cannot be read. Give a file that ends in {READ}.")
    return _read_lines(text, classes, columns)


def free_columns(content: bytes, name: str) -> tuple[str, ...]:
    """Return the columns of a table or of lines among which a person chooses; none where the form is fixed, as that of
    records, of reasons and of other tools. Raises `DataUnavailable` if it is no table."""
    if not (is_table(name) or name.lower().endswith(".jsonl")):
        return ()
    if not is_table(name) and _is_foreign(_first_rows(decode_text(content, name))):
        return ()
    return tables.free_columns(column_names(content, name))


def _first_rows(text: str) -> list[record_json.Content]:
    return [row for row in islice(own_records.json_lines(text), SNIFFED) if isinstance(row, dict)]


def _is_foreign(rows: Sequence[record_json.Content]) -> bool:
    """Return whether lines are our records, ERASER's or doccano's."""
    return any(isinstance(row.get("item"), dict) or "evidences" in row or _is_doccano(row) for row in rows)


def _is_doccano(row: record_json.Content) -> bool:
    return "entities" in row or isinstance(row.get("label", row.get("labels")), list)


def _read_lines(text: str, classes: Sequence[str], columns: tables.Columns) -> own_records.Imported:
    """Our own lines or doccano's."""
    rows = _first_rows(text)
    if any("evidences" in row for row in rows):
        raise DataUnavailable(NO_DOCUMENTS)
    if any(map(_is_doccano, rows)):
        return read_doccano(text)
    return tables.read_jsonl(text, classes, columns)


def doccano_export(items: Iterable[Item], annotations: Sequence[Annotation]) -> str:
    """A line per annotation, and per item without any."""
    lines = (json.dumps(doccano_row(row), ensure_ascii=False) for row in own_records.rows_of(items, annotations))
    return "".join(f"{line}\n" for line in lines)


def doccano_row(row: own_records.Row) -> record_json.Content:
    text, pair = row[0].example.text, row[0].example.pair
    joined, shift = (text, 0) if pair is None else (text + BETWEEN + pair, len(text) + len(BETWEEN))
    marked, offsets = own_records.marks_in(row), own_records.utf16_offsets(joined)
    spans = [*marked.spans_of_text, *(Span(span.start + shift, span.end + shift) for span in marked.spans_of_pair)]
    labels = [[*own_records.to_utf16(span, offsets), own_records.EVIDENCE] for span in spans]
    return {
        "id": row[0].id,
        "text": joined,
        "label": labels,
        "offsets": own_records.UTF16,
        **own_records.who(row),
        own_records.OWN: own_records.own_json(row),
    }


def read_doccano(content: str, offsets: str = own_records.UTF16) -> own_records.Imported:
    """Items whose rationale are the labels, or our own records. `offsets` holds for rows that do not say theirs."""

    def read(row: object) -> own_records.RowContent:
        line = record_json.json_object(row, "an object")
        own = own_records.read_own(line)
        if own is not None and doccano_row(own)["label"] == line.get("label"):
            return own_records.content_of(own)
        return own_records.RowContent((_doccano_item(line, own, offsets),))

    return own_records.read_rows(own_records.json_lines(content), read)


def _doccano_item(line: record_json.Content, own: own_records.Row | None, offsets: str) -> Item:
    text = record_json.field(line, "text", str) if "text" in line else record_json.field(line, "data", str)
    places = own_records.utf16_offsets(text)
    in_utf16 = line.get("offsets", offsets) == own_records.UTF16
    spans = [
        own_records.from_utf16(start, end, places) if in_utf16 else own_records.checked_span(start, end, len(text))
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
    return Item(own_records.text_id(text) if id is None else str(id), Example(first, pair), (marked,))


def _labels(line: record_json.Content) -> list[tuple[int, int]]:
    """Start and end of every label."""
    if "entities" in line:
        entities = [record_json.json_object(label, "an entity") for label in record_json.field(line, "entities", list)]
        return [
            (record_json.field(entity, "start_offset", int), record_json.field(entity, "end_offset", int))
            for entity in entities
        ]
    spans = []
    for label in record_json.field(line, "label" if "label" in line else "labels", list, []):
        if not isinstance(label, list) or len(label) < 2:
            raise DataUnavailable("A label is a list of start, end and name.")
        spans.append((record_json.typed(label[0], int, "start"), record_json.typed(label[1], int, "end")))
    return spans


def label_studio_export(items: Iterable[Item], annotations: Sequence[Annotation]) -> str:
    """A task per annotation, and per item without any, to be imported with `CONFIG`."""
    tasks = [label_studio_task(row) for row in own_records.rows_of(items, annotations)]
    return json.dumps(tasks, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def label_studio_task(row: own_records.Row) -> record_json.Content:
    item, annotation = row
    data = {
        "text": item.example.text,
        "pair": item.example.pair or "",
        "id": item.id,
        "offsets": own_records.CODE_POINTS,
        **own_records.who(row),
    }
    done = {
        "completed_by": annotation.annotator if annotation else None,
        "was_cancelled": annotation.skipped if annotation else False,
        "lead_time": annotation.seconds if annotation else None,
        "result": _result(row),
    }
    return {
        "data": {**data, own_records.OWN: own_records.own_json(row)},
        "annotations": [done] if annotation or item.rationale else [],
    }


def read_label_studio(content: str) -> own_records.Imported:
    """Items with a rationale per annotation that was not cancelled, or our own records. Raises `DataUnavailable`."""
    tasks = parsed_json(content)
    if not isinstance(tasks, list):
        raise DataUnavailable("A file of Label Studio is a list of tasks. Export it as JSON.")

    def read(task: object) -> own_records.RowContent:
        content = record_json.json_object(task, "a task")
        data = record_json.json_object(content.get("data"), "an object")
        own = own_records.read_own(data)
        done = [
            record_json.json_object(annotation, "an annotation")
            for annotation in record_json.field(content, "annotations", list, [])
        ]
        results = [
            record_json.field(annotation, "result", list)
            for annotation in done
            if not record_json.field(annotation, "was_cancelled", bool, False)
        ]
        if own is not None and [_result(own)] * bool(results) == [_without_ids(result) for result in results]:
            return own_records.content_of(own)
        return own_records.RowContent((_label_studio_item(content, data, results),))

    return own_records.read_rows(tasks, read)


def _result(row: own_records.Row) -> list[record_json.Content]:
    example, marked = row[0].example, own_records.marks_in(row)
    texts = (example.text, marked.spans_of_text), (example.pair or "", marked.spans_of_pair)
    return [
        {
            "from_name": label,
            "to_name": name,
            "type": "labels",
            "value": {"start": s.start, "end": s.end, "text": text[s.start : s.end], "labels": [own_records.EVIDENCE]},
        }
        for (name, label), (text, spans) in zip(TEXTS, texts, strict=True)
        for s in spans
    ]


def _without_ids(result: list[object]) -> list[record_json.Content]:
    """The regions with the fields that we write; the tool adds others."""
    regions = [record_json.json_object(region, "a region") for region in result]
    kept = [{name: region.get(name) for name in ("from_name", "to_name", "type", "value")} for region in regions]
    names = ("start", "end", "text", "labels")
    return [
        {**region, "value": {name: record_json.json_object(region["value"], "a value").get(name) for name in names}}
        for region in kept
    ]


def _label_studio_item(task: record_json.Content, data: record_json.Content, results: Sequence[list[object]]) -> Item:
    text, pair = record_json.field(data, "text", str), record_json.optional(data, "pair", str) or None
    rationale = []
    for result in results:
        spans: dict[str, list[Span]] = {name: [] for name, _ in TEXTS}
        for drawn in result:
            region = record_json.json_object(drawn, "a region")
            if region.get("type") in ("labels", "hypertextlabels"):
                name = "pair" if region.get("to_name") == "pair" and pair else "text"
                value = record_json.json_object(region.get("value"), "a value")
                spans[name].append(_span(value, (pair or "") if name == "pair" else text))
        rationale.append(Marked(tuple(spans["text"]), tuple(spans["pair"])))
    id = data.get("id", task.get("id"))
    return Item(
        own_records.text_id(text, pair) if id is None else str(id), Example(text, pair), tuple(rationale) or None
    )


def _span(value: record_json.Content, text: str) -> Span:
    start, end = record_json.field(value, "start", int), record_json.field(value, "end", int)
    stated = record_json.optional(value, "text", str)
    if stated is None or text[start:end] == stated:
        return own_records.checked_span(start, end, len(text))
    span = own_records.from_utf16(start, end, own_records.utf16_offsets(text))
    if text[span.start : span.end] != stated:
        raise DataUnavailable(f"The offsets {start} to {end} are not those of the marked text {stated[:40]!r}.")
    return span
