"""Records to and from strict JSON, on one line or as objects of a larger file.

{"project": …, "item": …, "annotator": …, "task": "mark", "version": 1, "seconds": 4.2, "confirmed": 1790000000.0,
 "skipped": false, "flagged": false, "comment": "", "own_class": "positive",
 "answer": {"spans_of_text": [[0, 4]], "spans_of_pair": [], "patches": []}}

Types and names are those of the records' fields. The files of other tools have no record of ours: `field` and its
neighbours check theirs one by one.
"""

import base64
import binascii
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast

from pydantic import Field, StrictInt, StrictStr, TypeAdapter, ValidationError

from explainers.annotations import records
from explainers.datasets.example import Example, InputImage
from explainers.datasets.tables import parsed_json
from explainers.errors import DataUnavailable, refused_fields

LARGEST = 1e300  # whole numbers beyond it may not become floats
Content = dict[str, Any]
Record = TypeVar("Record")
NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}


@dataclass(frozen=True)
class ItemObject:
    """An item as JSON: the example's fields beside those of the item, and its image as a file in base64."""

    id: StrictStr
    text: StrictStr
    pair: StrictStr | None = None
    image: StrictStr | None = None
    number: Annotated[StrictInt | None, Field(alias="class")] = None
    label: StrictStr = ""
    explanations: tuple[StrictStr, ...] = ()
    rationale: tuple[records.Marked, ...] | None = None
    reason: records.GivenReason | None = None


ANNOTATION, ITEM = TypeAdapter(records.Annotation), TypeAdapter(ItemObject)
ADAPTERS: dict[type, TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (*records.ANSWERS.values(), records.Several)
}


def item_line(item: records.Item) -> str:
    return json.dumps(item_json(item), ensure_ascii=False, allow_nan=False)


def parse_item(line: str) -> records.Item:
    """Raises `DataUnavailable` with a sentence if the line is no item."""
    return read_item(parsed_json(line))


def annotation_json(annotation: records.Annotation) -> Content:
    return cast(Content, ANNOTATION.dump_python(annotation, mode="json"))


def answer_json(answer: records.Answer) -> Content:
    return cast(Content, ADAPTERS[type(answer)].dump_python(answer, mode="json"))


def item_json(item: records.Item) -> Content:
    """An image becomes its file in base64."""
    example, image = item.example, None
    if example.image is not None:
        image = base64.b64encode(example.image.content or example.image.png()).decode()
    row = ItemObject(
        item.id,
        example.text,
        example.pair,
        image,
        example.label,
        item.label,
        example.explanations,
        item.rationale,
        item.reason,
    )
    return cast(Content, ITEM.dump_python(row, mode="json", by_alias=True))


def read_annotation(content: Any) -> records.Annotation:
    """Raises `DataUnavailable` with a sentence for a missing field, a wrong type and an impossible value."""
    row = json_object(content, "an annotation")
    if row.get("answer") is not None:
        row["answer"] = read_answer(row.get("task", ""), row["answer"])
    return _read(ANNOTATION, {"answer": None, **row})


def read_answer(task: records.Task, content: Any) -> records.Answer:
    """Raises `DataUnavailable` as `read_annotation`."""
    row = json_object(content, "an answer")
    if task not in records.TASKS:
        raise DataUnavailable(f"A task is one of {', '.join(records.TASKS)}, not {task!r}.")
    if "answers" not in row:
        return cast(records.Answer, _read(ADAPTERS[records.ANSWERS[task]], row))
    several = field(row, "answers", list)
    return cast(
        records.Answer, _read(ADAPTERS[records.Several], {"answers": [read_answer(task, single) for single in several]})
    )


def read_item(content: Any) -> records.Item:
    """Raises `DataUnavailable` as `read_annotation`."""
    row = _read(ITEM, json_object(content, "an item"))
    try:
        image = None
        if row.image is not None:
            image = InputImage.uploaded(base64.b64decode(row.image.encode("ascii"), validate=True))
        example = Example(row.text, row.pair, row.number, row.explanations, image)
        return records.Item(row.id, example, row.rationale, row.label, row.reason)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise DataUnavailable("The field image is not base64.") from error
    except ValueError as error:
        raise DataUnavailable(str(error)) from error


def _read(adapter: TypeAdapter[Record], row: Content) -> Record:
    try:
        return adapter.validate_python(row)
    except ValidationError as error:
        raise DataUnavailable(refused_fields(error)) from error


def json_object(content: Any, name: str) -> Content:
    """Raises `DataUnavailable` unless it is an object; `name` says what was expected."""
    if not isinstance(content, Mapping):
        raise DataUnavailable(f"It is not {name}, but {kind_name(content)}.")
    return dict(content)


def field(row: Content, name: str, kind: type, default: Any = ...) -> Any:
    """The value of a field, which must be of this type, or the default where it is missing."""
    if name not in row and default is ...:
        raise DataUnavailable(f"The field {name} is missing.")
    return typed(row.get(name, default), kind, name)


def optional(row: Content, name: str, kind: type) -> Any:
    return None if row.get(name) is None else typed(row[name], kind, name)


def typed(value: Any, kind: type, name: str) -> Any:
    """The value; whole numbers count as floats, booleans as neither. Raises `DataUnavailable` for another type."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is float and (whole or isinstance(value, float)):
        return float(value) if abs(value) < LARGEST else math.inf
    if (kind is int and whole) or (kind is not int and isinstance(value, kind)):
        return value
    raise DataUnavailable(f"The field {name} is {NAMES[kind]}, not {kind_name(value)}.")


def kind_name(value: Any) -> str:
    names = {**NAMES, dict: "an object", type(None): "nothing"}
    return next(name for kind, name in names.items() if type(value) is kind)
