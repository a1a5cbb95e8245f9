"""Our own tables: CSV, Parquet and JSON lines, with a row per annotation and per item without any.

id, text, text_pair, label, class, rationale, explanations, image   the item; the last three are JSON or base64
reason, stated, writer                                              of the item: a sentence, for which class, by whom
project, annotator, task, version, seconds, confirmed, skipped, flagged, comment, own_class, answer   the annotation
offsets                                                             "Unicode code points"

Only `text` is needed, or `premise` and `hypothesis`; `rationale` may also be one person's spans: [[0, 4], [9, 12]].
Files of reasons (assets/readings/NAME.items.csv) have both texts in `input`, "PREMISE: … HYPOTHESIS: …", or what is
said about an image, "IMAGE: … STATEMENT: …", and in `class` the class for which the reason is given, by name or number.
In CSV a cell that a spreadsheet would take for a formula begins with an apostrophe, which is removed again.
"""

import base64
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from explainers.annotations.formats import own_records
from explainers.annotations.record_json import Content, json_object, read_annotation, read_item
from explainers.annotations.records import Annotation, Item
from explainers.datasets.cells import class_number, unsure_labels
from explainers.datasets.column_names import PAIRS
from explainers.datasets.example import InputImage
from explainers.datasets.tables import formula_like, parsed_json, read_user_table
from explainers.errors import DataUnavailable

JSON_COLUMNS = ("rationale", "explanations", "answer")
NUMBERS = {"class": int, "version": int, "seconds": float, "confirmed": float}
FLAGS = {"true": True, "false": False}
ITEM_COLUMNS = (
    "id",
    "text",
    "text_pair",
    "label",
    "class",
    "rationale",
    "explanations",
    "image",
    "reason",
    "stated",
    "writer",
)
ANNOTATION_COLUMNS = (
    "project",
    "annotator",
    "task",
    "version",
    "seconds",
    "confirmed",
    "skipped",
    "flagged",
    "comment",
    "own_class",
    "answer",
)
COLUMNS = (*ITEM_COLUMNS, *ANNOTATION_COLUMNS, "offsets")
OWN_FORMS = (("annotator",), ("reason", "class"), ("reason", "stated"))  # columns of records, and of reasons
BESIDES = ("rationale", "explanations")  # that are read as well where a person has chosen columns
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?")
Columns = Mapping[str, str]  # a person's by ours, "" for none; besides them those of `BESIDES` are read
NAMED_AS_OURS: Columns = MappingProxyType({})
INPUT, PREMISE, HYPOTHESIS, STATEMENT = "input", "PREMISE: ", " HYPOTHESIS: ", " STATEMENT: "


def csv_export(items: Iterable[Item], annotations: Sequence[Annotation]) -> bytes:
    """Raises `DataUnavailable` for a cell that is too long for readers of CSV, such as an image."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for row in own_records.rows_of(items, annotations):
        cells = [safe_cell(cell) for cell in cells_of(row).values()]
        if max(map(len, cells)) > csv.field_size_limit():
            raise DataUnavailable(f"The item {row[0].id} is too long for a CSV cell. Export JSON lines or Parquet.")
        writer.writerow(cells)
    return file.getvalue().encode()


def guarded_csv(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV, in which no cell begins as a formula."""
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerows(map(safe_cell, row) for row in rows)
    return file.getvalue()


def parquet_export(items: Iterable[Item], annotations: Sequence[Annotation]) -> bytes:
    """Every column holds text."""
    import pandas as pd  # half a second, which only this format needs

    rows = [cells_of(row) for row in own_records.rows_of(items, annotations)]
    file = io.BytesIO()
    pd.DataFrame(rows, columns=list(COLUMNS), dtype=str).to_parquet(file, index=False)
    return file.getvalue()


def jsonl_export(items: Iterable[Item], annotations: Sequence[Annotation]) -> str:
    """A line {"item": …, "annotation": …, "offsets": …} per row."""
    lines = (
        {**own_records.own_json(row), "offsets": own_records.CODE_POINTS}
        for row in own_records.rows_of(items, annotations)
    )
    return "".join(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n" for line in lines)


def read_table(
    content: bytes,
    name: str,
    classes: Sequence[str] = (),
    images: Mapping[str, bytes] | None = None,
    columns: Columns = NAMED_AS_OURS,
) -> own_records.Imported:
    """Read a CSV, TSV or Parquet file. With `images`, files by name, every row names one of them in its column image.

    Raises `DataUnavailable` if it is no table, or has no texts or no images.
    """
    choose = partial(_chosen if images is None else _chosen_with_images, columns)
    table = read_user_table(content, name, choose, numbers=bool(columns))
    clean = original_cell if not name.lower().endswith(".parquet") else str
    read_rows = [
        row
        if isinstance(row, DataUnavailable)
        else _by_our_names(dict(zip(table.columns, map(clean, row), strict=True)), columns)
        for row in table.rows
    ]
    rows = _with_classes(read_rows, classes, columns)

    def read(row: object) -> own_records.RowContent:
        cells = _with_reason(json_object(row, "a row"), classes)
        return _content(cells if images is None else {**cells, "image": _encoded(cells["image"], images)}, classes)

    return own_records.read_rows(_numbered(rows, all_rows=images is not None), read)


def read_jsonl(content: str, classes: Sequence[str] = (), columns: Columns = NAMED_AS_OURS) -> own_records.Imported:
    """Read our own lines, or lines {"text": …, "text_pair": …, "label": …, "rationale": …}."""

    def read(row: object) -> own_records.RowContent:
        line = json_object(row, "an object")
        if isinstance(line.get("item"), dict):
            annotation = line.get("annotation")
            return own_records.content_of(
                (read_item(line["item"]), None if annotation is None else read_annotation(annotation))
            )
        return own_records.content_of((_item(_with_reason(line, classes), classes), None))

    lines = [
        _by_our_names(line, columns) if isinstance(line, dict) and not isinstance(line.get("item"), dict) else line
        for line in own_records.json_lines(content)
    ]
    return own_records.read_rows(_numbered(_with_classes(lines, classes, columns)), read)


def input_texts(shown: str) -> tuple[str, str | None]:
    """Both texts of an input in words, "PREMISE: … HYPOTHESIS: …", or another one as a single text."""
    premise, between, hypothesis = shown.strip().partition(HYPOTHESIS)
    if between and premise.startswith(PREMISE):
        return premise.removeprefix(PREMISE), hypothesis
    return shown.strip(), None


def _numbered(rows: Iterable[object], *, all_rows: bool = False) -> Iterator[object]:
    """The rows; a reason without an id gets the row's number, because one input may have several reasons, and so do
    `all_rows` where they are more than their texts.

    Where another row has that number as its id, it is "row 2".
    """
    listed = list(rows)
    given = {str(row["id"]) for row in listed if isinstance(row, dict) and row.get("id") not in (None, "")}
    for number, row in enumerate(listed, 1):
        if isinstance(row, dict) and (all_rows or row.get("reason")) and row.get("id") in (None, ""):
            id = str(number)
            while id in given:
                id = f"row {id}"
            yield {**row, "id": id}
        else:
            yield row


def _with_reason(row: Content, classes: Sequence[str]) -> Content:
    """A row as our own columns have it: with texts for `input`, and `class` beside a reason as its `stated` class."""
    if isinstance(row.get(INPUT), str) and not row.get("text"):
        text, pair = input_texts(row[INPUT])
        if row.get("image"):
            text = text.rpartition(STATEMENT)[2]  # the image is seen and need not be described
        row = {**row, "text": text, **({} if pair is None else {"text_pair": pair})}
    reason, named = row.get("reason"), row.get("class")
    if isinstance(reason, str) and reason and not row.get("stated"):
        return {**{name: value for name, value in row.items() if name != "class"}, "stated": _stated(row, classes)}
    if reason == "" and isinstance(named, str) and named and not NUMBER.fullmatch(named.strip()):
        raise DataUnavailable("The row has a class and no reason for it.")
    return row


def _stated(row: Content, classes: Sequence[str]) -> str:
    """The name of a row's `class`, "" without one. Raises `DataUnavailable` for a number that is no class's."""
    value = row.get("class")
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataUnavailable(f"The class {json.dumps(value)[:40]} is neither a name nor a number.")
    given = str(value).strip()
    if given in classes or not NUMBER.fullmatch(given):
        return given
    if not classes:
        raise DataUnavailable(
            f"The class {given[:40]} is a number; the model's classes are not known, so give its name."
        )
    by_number = {str(number): name for number, name in enumerate(classes)}
    if given not in by_number:
        raise DataUnavailable(f"The class {given[:40]} is not one of the model's, 0 to {len(classes) - 1}.")
    return by_number[given]


def safe_cell(text: str) -> str:
    return f"'{text}" if formula_like(text.lstrip("'")) else text


def original_cell(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and formula_like(cell.lstrip("'")) else cell


def cells_of(row: own_records.Row) -> dict[str, str]:
    own = own_records.own_json(row)
    reason = own["item"]["reason"] or {}
    values = {
        **own["item"],
        **(own["annotation"] or {}),
        "text_pair": own["item"]["pair"],
        "offsets": own_records.CODE_POINTS,
    }
    values |= {"reason": reason.get("sentence"), "stated": reason.get("stated"), "writer": reason.get("writer")}
    return {column: _cell(values.get(column), column) for column in COLUMNS}


def _cell(value: Any, column: str) -> str:
    if value is None:
        return ""
    if column in JSON_COLUMNS or isinstance(value, bool):
        return json.dumps(value, ensure_ascii=False)
    return repr(value) if isinstance(value, float) else str(value)


def _chosen(columns: Columns, names: Sequence[str]) -> Sequence[str]:
    if columns:
        wanted = set(_sources(columns, names).values())
        return [name for name in names if name in wanted]
    chosen = [name for name in names if _renamed(name) in (*COLUMNS, INPUT)]
    if not {"text", INPUT} & set(map(_renamed, chosen)):
        if not any(names):
            raise DataUnavailable("The table is empty.")
        raise DataUnavailable(
            f"The table needs a column named text, or premise and hypothesis; it has {', '.join(names)[:200]}."
        )
    return chosen


def _chosen_with_images(columns: Columns, names: Sequence[str]) -> Sequence[str]:
    chosen = _chosen(columns, names)
    if columns and not columns.get("image"):
        raise DataUnavailable("Images are given, and the model reads only text. Remove them.")
    if not columns and "image" not in chosen:
        raise DataUnavailable("A table of images needs the columns text and image.")
    return chosen


def free_columns(names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns among which a person chooses; none where they have the form of our records or of reasons."""
    fixed = any(set(form) <= set(names) for form in OWN_FORMS)
    return () if fixed else tuple(name for name in names if name.strip())


def _sources(columns: Columns, names: Iterable[str]) -> dict[str, str]:
    """Whose values are read, by our names, where a person has chosen."""
    chosen = {ours: theirs for ours, theirs in columns.items() if theirs}
    free = {name: name for name in BESIDES if name in names and name not in columns and name not in chosen.values()}
    return {**free, **chosen}


def _by_our_names(row: Mapping[str, Any], columns: Columns) -> Content:
    if not columns:
        return {_renamed(name): value for name, value in row.items()}
    read = {ours: row[theirs] for ours, theirs in _sources(columns, row).items() if theirs in row}
    numbers = {name: str(read[name]) for name in columns if type(read.get(name)) in (int, float)}
    return {**read, **numbers}


def _with_classes(rows: Sequence[object], classes: Sequence[str], columns: Columns) -> Iterator[object]:
    """The rows; labels of a column that a person has chosen get the name of the class that they give, in any case or as
    a number."""
    labels = [row.get("label") for row in rows if isinstance(row, dict)] if columns.get("label") and classes else []
    counts = Counter(label for label in labels if isinstance(label, str) and label)
    unsure = unsure_labels(counts, classes)
    numbers = {label: class_number(label, classes) for label in counts if label not in unsure}
    for row in rows:
        number = numbers.get(row["label"]) if isinstance(row, dict) and isinstance(row.get("label"), str) else None
        yield row if number is None or not isinstance(row, dict) else {**row, "label": classes[number]}


def _encoded(name: str, images: Mapping[str, bytes]) -> str:
    """The content of an image file in base64. Raises `DataUnavailable` where it was not given or is no image."""
    last = Path(name.strip()).name
    if last not in images:
        raise DataUnavailable(f"The image {last[:60]!r} was not given." if last else "It names no image.")
    _ = InputImage.uploaded(images[last]).size
    return base64.b64encode(images[last]).decode()


def _renamed(column: str) -> str:
    """Our name of a column that has several."""
    return {pair[place]: ("text", "text_pair")[place] for pair in PAIRS for place in (0, 1)}.get(column, column)


def _content(cells: Mapping[str, str], classes: Sequence[str]) -> own_records.RowContent:
    values = {name: _value(name, cell) for name, cell in cells.items() if cell or name in ("text", "comment", "label")}
    item = _item(values, classes)
    if not values.get("annotator"):
        return own_records.content_of((item, None))
    fields = {name: values[name] for name in ANNOTATION_COLUMNS if name in values}
    return own_records.content_of((item, read_annotation({"project": "", **fields, "item": item.id})))


def _value(name: str, cell: str) -> Any:
    if name in JSON_COLUMNS:
        return parsed_json(cell)
    if name in FLAGS or name in ("skipped", "flagged"):
        return FLAGS.get(cell.lower(), cell)
    if name not in NUMBERS:
        return cell
    try:
        return NUMBERS[name](cell)
    except ValueError as error:
        raise DataUnavailable(f"The field {name} is a number, not {cell[:40]!r}.") from error


def _item(values: Content, classes: Sequence[str]) -> Item:
    text, pair, label = values.get("text"), values.get("text_pair"), values.get("label") or ""
    if not isinstance(text, str) or not text.strip():
        raise DataUnavailable("The text is missing.")
    rationale, id = values.get("rationale"), values.get("id")
    if isinstance(rationale, list) and rationale and isinstance(rationale[0], list):
        rationale = [{"spans_of_text": rationale}]
    reason = values.get("reason")
    if isinstance(reason, str):
        given = {name: values.get(name) or "" for name in ("stated", "writer")}
        values = {**values, "reason": {"sentence": reason, **given} if reason else None}
    own = {
        **values,
        "id": own_records.text_id(text, pair) if id in (None, "") else str(id),
        "pair": pair,
        "rationale": rationale,
    }
    return read_item({"class": own_records.class_number(str(label), classes), **own, "label": str(label)})
