"""The cells of a person's table: which class of a model a label names, and what people marked in a text or a pair.

A rationale has per person the spans of both texts:

[[0, 4], [9, 12]]                                           the spans of one person, in Unicode code points
[{"spans_of_text": [[0, 4]], "spans_of_pair": []}, …]       an object per person, as Annotate writes them
"""

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

from explainers.datasets.tables import parsed_json
from explainers.errors import DataUnavailable

LEADING = re.compile(r"\d+")  # of a class's name
SLIPS = 0.02  # of the numbers, up to which those that are no class are mistakes
SHOWN = 12  # classes that a sentence lists at most
Spans = tuple[tuple[int, int], ...]  # start and end (exclusive)
Rationale = tuple[tuple[Spans, Spans], ...]  # per person those of the text and of the second text
FORM = "A rationale is a list of spans, [[0, 4], [9, 12]], or a list of objects with spans_of_text and spans_of_pair."


def class_number(cell: str, labels: Sequence[str]) -> int | None:
    """Return the number of the class that a label names, in any case if that is unambiguous, or gives as a number; None
    for no class.

    Where all names of classes begin with a number, as in "1 star", a number is that of a name.
    """
    if cell in labels:
        return labels.index(cell)
    same = [number for number, label in enumerate(labels) if label.casefold() == cell.casefold()]
    if same:
        return same[0] if len(same) == 1 else None
    number, leading = _number(cell), _leading(labels)
    if number is None:
        return None
    if leading:
        return leading.index(number) if leading.count(number) == 1 else None
    return number if number < len(labels) else None


def unsure_labels(cells: Counter[str], labels: Sequence[str]) -> tuple[str, ...]:
    """Return those of the labels, with their numbers of rows, that name no class for sure, in their order.

    Numbers do so only where 0 is among them and nearly all are numbers of classes: they could be ratings from 1 to 5,
    or classes that are counted from 1.
    """
    found = [cell for cell in cells if cell]
    unknown = {cell for cell in found if class_number(cell, labels) is None}
    numbers = {cell for cell in found if _number(cell) is not None and cell not in labels}
    strange, all_ = (sum(cells[cell] for cell in some) for some in (numbers & unknown, numbers))
    counted = bool(_leading(labels)) or 0 in map(_number, numbers)
    if numbers and (strange > SLIPS * all_ or not counted):
        unknown |= numbers
    return tuple(cell for cell in found if cell in unknown)


def label_number(cell: str, known: Sequence[str], labels: Sequence[str], line: int) -> int | None:
    """Return the number of the class among those that are known. Raises `DataUnavailable` for another one."""
    if not cell:
        return None
    number = class_number(cell, known)
    if number is None and class_number(cell, labels) is not None:
        raise DataUnavailable(
            f"Line {line:,} has the label {cell[:40]!r}. Numbers here may be ratings, or counted from 1: give each its "
            f"class, in a terminal with --label-class {cell[:40]}={labels[0]}."
        )
    if number is None:
        probable = probable_class(cell, labels)
        given = shlex.quote(f"{cell[:40]}={probable}")
        hint = f" Give it its class, in a terminal with --label-class {given}." if probable else ""
        raise DataUnavailable(
            f"Line {line:,} has the label {cell[:40]!r}; the classes are {listed_classes(labels)}.{hint}"
        )
    return number


def _leading(labels: Sequence[str]) -> list[int]:
    """Return the numbers with which the names of all classes begin; none where one begins otherwise."""
    found = [LEADING.match(label) for label in labels]
    return [int(digits[0]) for digits in found if digits] if all(found) else []


def probable_class(label: str, labels: Sequence[str]) -> str | None:
    """Return the only class whose name begins with the label, or with which the label begins; None without one, and for
    numbers."""
    short = label.casefold()
    like = [name for name in labels if name.casefold().startswith(short) or short.startswith(name.casefold())]
    return like[0] if short and _number(label) is None and len(like) == 1 else None


def _number(cell: str) -> int | None:
    """Return the number that a cell is, also as written by a program that holds numbers as "1.0"."""
    digits = cell.removesuffix(".0")
    return int(digits) if digits.isascii() and digits.isdecimal() else None


def listed_classes(labels: Sequence[str]) -> str:
    return ", ".join(f"{name} ({number})" for number, name in enumerate(labels[:SHOWN]))


def parsed_rationale(cell: str, text: str, pair: str | None) -> Rationale:
    """Return what is marked in these texts. Raises `DataUnavailable` for another form, and for spans beyond a text."""
    value = parsed_json(cell)
    if not isinstance(value, list):
        raise DataUnavailable(FORM)
    people = value if any(isinstance(one, dict) for one in value) else [{"spans_of_text": value}] if value else []
    if not all(isinstance(person, dict) for person in people):
        raise DataUnavailable(FORM)
    return tuple(
        (_spans(person.get("spans_of_text", []), text), _spans(person.get("spans_of_pair", []), pair or ""))
        for person in people
    )


def _spans(value: Any, text: str) -> Spans:
    if not isinstance(value, list):
        raise DataUnavailable(FORM)
    spans = []
    for span in value:
        if not (isinstance(span, list) and [type(end) for end in span] == [int, int]):
            raise DataUnavailable(FORM)
        start, end = span
        if not 0 <= start < end <= len(text):
            raise DataUnavailable(f"The span {start} to {end} is not within the text of {len(text):,} characters.")
        spans.append((start, end))
    return tuple(spans)
