"""Label Studio's JSON: a list of tasks with their annotations.

[{"id": …, "data": {"text": …, "pair": …}, "annotations": [{"completed_by": …, "was_cancelled": false, "lead_time": …,
  "result": [{"from_name": "label", "to_name": "text", "type": "labels",
              "value": {"start": …, "end": …, "text": …, "labels": ["evidence"]}}]}]}]

Newer versions count code points, older ones UTF-16 code units (its issues 1347 and 1008): the `text` of a mark decides
which of the two holds, and a mark that fits neither is reported. We write code points and the text of every mark.
"""

import json
from collections.abc import Iterable, Sequence

from explainers.annotations.formats.own import (
    CODE_POINTS,
    EVIDENCE,
    OWN,
    Imported,
    Row,
    RowContent,
    checked_span,
    content_of,
    from_utf16,
    marks_in,
    own_json,
    read_own,
    read_rows,
    rows_of,
    text_id,
    utf16_offsets,
    who,
)
from explainers.annotations.record_json import (
    Content,
    field,
    json_object,
    optional,
)
from explainers.annotations.records import Annotation, Item, Marked, Span
from explainers.datasets.example import Example
from explainers.datasets.tables import parsed_json
from explainers.errors import DataUnavailable

CONFIG = """<View>
  <Labels name="label" toName="text"><Label value="evidence"/></Labels>
  <Text name="text" value="$text"/>
  <Labels name="label_pair" toName="pair"><Label value="evidence"/></Labels>
  <Text name="pair" value="$pair"/>
</View>"""
TEXTS = (("text", "label"), ("pair", "label_pair"))  # names of the texts and of their labels in `CONFIG`


def label_studio_export(items: Iterable[Item], annotations: Sequence[Annotation]) -> str:
    """A task per annotation, and per item without any, to be imported with `CONFIG`."""
    tasks = [label_studio_task(row) for row in rows_of(items, annotations)]
    return json.dumps(tasks, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def label_studio_task(row: Row) -> Content:
    item, annotation = row
    data = {
        "text": item.example.text,
        "pair": item.example.pair or "",
        "id": item.id,
        "offsets": CODE_POINTS,
        **who(row),
    }
    done = {
        "completed_by": annotation.annotator if annotation else None,
        "was_cancelled": annotation.skipped if annotation else False,
        "lead_time": annotation.seconds if annotation else None,
        "result": _result(row),
    }
    return {"data": {**data, OWN: own_json(row)}, "annotations": [done] if annotation or item.rationale else []}


def read_label_studio(content: str) -> Imported:
    """Items with a rationale per annotation that was not cancelled, or our own records. Raises `DataUnavailable`."""
    tasks = parsed_json(content)
    if not isinstance(tasks, list):
        raise DataUnavailable("A file of Label Studio is a list of tasks. Export it as JSON.")

    def read(task: object) -> RowContent:
        content = json_object(task, "a task")
        data = json_object(content.get("data"), "an object")
        own = read_own(data)
        done = [json_object(annotation, "an annotation") for annotation in field(content, "annotations", list, [])]
        results = [
            field(annotation, "result", list)
            for annotation in done
            if not field(annotation, "was_cancelled", bool, False)
        ]
        if own is not None and [_result(own)] * bool(results) == [_without_ids(result) for result in results]:
            return content_of(own)
        return RowContent((_item(content, data, results),))

    return read_rows(tasks, read)


def _result(row: Row) -> list[Content]:
    example, marked = row[0].example, marks_in(row)
    texts = (example.text, marked.spans_of_text), (example.pair or "", marked.spans_of_pair)
    return [
        {
            "from_name": label,
            "to_name": name,
            "type": "labels",
            "value": {"start": s.start, "end": s.end, "text": text[s.start : s.end], "labels": [EVIDENCE]},
        }
        for (name, label), (text, spans) in zip(TEXTS, texts, strict=True)
        for s in spans
    ]


def _without_ids(result: list[object]) -> list[Content]:
    """The regions with the fields that we write; the tool adds others."""
    regions = [json_object(region, "a region") for region in result]
    kept = [{name: region.get(name) for name in ("from_name", "to_name", "type", "value")} for region in regions]
    names = ("start", "end", "text", "labels")
    return [
        {**region, "value": {name: json_object(region["value"], "a value").get(name) for name in names}}
        for region in kept
    ]


def _item(task: Content, data: Content, results: Sequence[list[object]]) -> Item:
    text, pair = field(data, "text", str), optional(data, "pair", str) or None
    rationale = []
    for result in results:
        spans: dict[str, list[Span]] = {name: [] for name, _ in TEXTS}
        for drawn in result:
            region = json_object(drawn, "a region")
            if region.get("type") in ("labels", "hypertextlabels"):
                name = "pair" if region.get("to_name") == "pair" and pair else "text"
                value = json_object(region.get("value"), "a value")
                spans[name].append(_span(value, (pair or "") if name == "pair" else text))
        rationale.append(Marked(tuple(spans["text"]), tuple(spans["pair"])))
    id = data.get("id", task.get("id"))
    return Item(text_id(text, pair) if id is None else str(id), Example(text, pair), tuple(rationale) or None)


def _span(value: Content, text: str) -> Span:
    start, end = field(value, "start", int), field(value, "end", int)
    stated = optional(value, "text", str)
    if stated is None or text[start:end] == stated:
        return checked_span(start, end, len(text))
    span = from_utf16(start, end, utf16_offsets(text))
    if text[span.start : span.end] != stated:
        raise DataUnavailable(f"The offsets {start} to {end} are not those of the marked text {stated[:40]!r}.")
    return span
