"""Which class of a model a label of a person's table names."""

import re
from collections import Counter
from collections.abc import Sequence

from explainers.errors import DataUnavailable

LEADING = re.compile(r"\d+")  # of a class's name
SLIPS = 0.02  # of the numbers, up to which those that are no class are mistakes
SHOWN = 12  # classes that a sentence lists at most


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
            f"class, with --label-class {cell[:40]}={labels[0]} or on the page."
        )
    if number is None:
        raise DataUnavailable(f"Line {line:,} has the label {cell[:40]!r}; the classes are {listed_classes(labels)}.")
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
