"""Fields of JSON that somebody else wrote, checked one by one, with a sentence for a missing one and a wrong type."""

import math
from collections.abc import Mapping
from typing import Any

from explainers.errors import DataUnavailable

LARGEST = 1e300  # whole numbers beyond it may not become floats
Content = dict[str, Any]
NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}


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


def whole_numbers(value: Any, count: int) -> tuple[int, ...]:
    """Two for a span, four for a box."""
    if isinstance(value, list | tuple) and len(value) == count:
        return tuple(typed(each, int, "offset") for each in value)
    raise ValueError(f"{'A span' if count == 2 else 'A box'} is a list of {count} whole numbers.")


def kind_name(value: Any) -> str:
    names = {**NAMES, dict: "an object", type(None): "nothing"}
    return next(name for kind, name in names.items() if type(value) is kind)
