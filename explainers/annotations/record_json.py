"""Records to and from strict JSON, on one line or as objects of a larger file.

{"project": …, "item": …, "annotator": …, "task": "mark", "version": 1, "seconds": 4.2, "confirmed": 1790000000.0,
 "skipped": false, "flagged": false, "comment": "", "own_class": "positive",
 "answer": {"spans_of_text": [[0, 4]], "spans_of_pair": [], "patches": []}}
"""

import base64
import binascii
import json
from dataclasses import asdict
from typing import Any, cast

from explainers.annotations.fields import Content, field, json_object, optional, typed, whole_numbers
from explainers.annotations.records import (
    ANSWERS,
    Annotation,
    Answer,
    Corrected,
    Inspected,
    Item,
    Marked,
    OneMethod,
    Ranked,
    Rated,
    Rating,
    Several,
    Simulated,
    Span,
    Task,
    Verdict,
)
from explainers.datasets.example import Example
from explainers.datasets.image import InputImage
from explainers.datasets.tables import parsed_json
from explainers.errors import DataUnavailable


def annotation_line(annotation: Annotation) -> str:
    return json.dumps(annotation_json(annotation), ensure_ascii=False, allow_nan=False)


def parse_annotation(line: str) -> Annotation:
    """Raises `DataUnavailable` with a sentence if the line is no annotation."""
    return read_annotation(parsed_json(line))


def item_line(item: Item) -> str:
    return json.dumps(item_json(item), ensure_ascii=False, allow_nan=False)


def parse_item(line: str) -> Item:
    """Raises `DataUnavailable` with a sentence if the line is no item."""
    return read_item(parsed_json(line))


def annotation_json(annotation: Annotation) -> Content:
    fields = {name: value for name, value in vars(annotation).items() if name != "answer"}
    return {**fields, "answer": None if annotation.answer is None else answer_json(annotation.answer)}


def answer_json(answer: Answer) -> Content:
    if isinstance(answer, Marked):
        return marked_json(answer)
    if isinstance(answer, Inspected):
        marked = None if answer.marked is None else marked_json(answer.marked)
        return {"method": answer.method, "verdict": answer.verdict, "marked": marked}
    if isinstance(answer, Several):
        return {"answers": [answer_json(each) for each in answer.answers]}
    if isinstance(answer, Rated):
        return {"scores": [asdict(score) for score in answer.scores]}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(answer).items()}


def marked_json(marked: Marked) -> Content:
    return {
        "spans_of_text": [[span.start, span.end] for span in marked.spans_of_text],
        "spans_of_pair": [[span.start, span.end] for span in marked.spans_of_pair],
        "patches": [list(box) for box in marked.patches],
    }


def item_json(item: Item) -> Content:
    """An image becomes its file in base64."""
    example = item.example
    return {
        "id": item.id,
        "text": example.text,
        "pair": example.pair,
        "image": None if example.image is None else base64.b64encode(_image_file(example.image)).decode(),
        "class": example.label,
        "label": item.label,
        "explanations": list(example.explanations),
        "rationale": None if item.rationale is None else [marked_json(marked) for marked in item.rationale],
    }


def read_annotation(content: Any) -> Annotation:
    """Raises `DataUnavailable` with a sentence for a missing field, a wrong type and an impossible value."""
    row = json_object(content, "an annotation")
    task = cast(Task, field(row, "task", str))
    try:
        return Annotation(
            project=field(row, "project", str),
            item=field(row, "item", str),
            annotator=field(row, "annotator", str),
            task=task,
            version=field(row, "version", int),
            seconds=field(row, "seconds", float),
            confirmed=field(row, "confirmed", float),
            answer=None if row.get("answer") is None else read_answer(task, row["answer"]),
            skipped=field(row, "skipped", bool, False),
            flagged=field(row, "flagged", bool, False),
            comment=field(row, "comment", str, ""),
            own_class=field(row, "own_class", str, ""),
        )
    except ValueError as error:
        raise DataUnavailable(str(error)) from error


def read_answer(task: Task, content: Any) -> Answer:
    """Raises `DataUnavailable` as `read_annotation`."""
    row = json_object(content, "an answer")
    try:
        if task not in ANSWERS:
            raise ValueError(f"A task is one of {', '.join(ANSWERS)}, not {task!r}.")
        if task == "mark":
            return read_marked(row)
        if task == "rate":
            return Rated(tuple(_rating(json_object(each, "a rating")) for each in field(row, "scores", list)))
        if task == "rank":
            return Ranked(tuple(typed(each, str, "methods") for each in field(row, "methods", list)))
        if "answers" in row:
            return Several(tuple(_one_method(task, each) for each in field(row, "answers", list)))
        return _one_method(task, row)
    except ValueError as error:
        raise DataUnavailable(str(error)) from error


def _one_method(task: Task, content: Any) -> OneMethod:
    """Raises `DataUnavailable` or `ValueError` with a sentence."""
    row = json_object(content, "an answer")
    method = field(row, "method", str)
    if task == "simulate":
        return Simulated(method, field(row, "label", int))
    if task == "correct":
        return Corrected(method, field(row, "sentence", str))
    marked = None if row.get("marked") is None else read_marked(row["marked"])
    return Inspected(method, cast(Verdict, field(row, "verdict", str)), marked)


def read_marked(content: Any) -> Marked:
    """Raises `DataUnavailable` as `read_annotation`."""
    row = json_object(content, "marks")
    text, pair, patches = (field(row, name, list, []) for name in ("spans_of_text", "spans_of_pair", "patches"))
    try:
        return Marked(
            tuple(Span(*whole_numbers(span, 2)) for span in text),
            tuple(Span(*whole_numbers(span, 2)) for span in pair),
            tuple(cast(tuple[int, int, int, int], whole_numbers(box, 4)) for box in patches),
        )
    except ValueError as error:
        raise DataUnavailable(str(error)) from error


def read_item(content: Any) -> Item:
    """Raises `DataUnavailable` as `read_annotation`."""
    row = json_object(content, "an item")
    rationale = optional(row, "rationale", list)
    sentences = tuple(typed(each, str, "explanations") for each in field(row, "explanations", list, []))
    image = optional(row, "image", str)
    try:
        example = Example(
            field(row, "text", str),
            optional(row, "pair", str),
            optional(row, "class", int),
            sentences,
            None if image is None else InputImage.uploaded(base64.b64decode(image.encode("ascii"), validate=True)),
        )
        marked = None if rationale is None else tuple(read_marked(each) for each in rationale)
        return Item(field(row, "id", str), example, marked, field(row, "label", str, ""))
    except (binascii.Error, UnicodeEncodeError) as error:
        raise DataUnavailable("The field image is not base64.") from error
    except ValueError as error:
        raise DataUnavailable(str(error)) from error


def _image_file(image: InputImage) -> bytes:
    return image.content or image.png()


def _rating(row: Content) -> Rating:
    shown, method = field(row, "shown", str), field(row, "method", str)
    return Rating(shown, method, field(row, "relatedness", int), field(row, "fluency", int))
