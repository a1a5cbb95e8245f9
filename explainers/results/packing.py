"""Results as plain JSON values and back, by the fields of their dataclasses: a new field comes along by itself.

Fields at their default are left out, and so is what OMITTED names: it is known, too large, or not read again. Floats
have six significant digits; those that are not finite are the strings "nan", "inf" and "-inf".
"""

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from explainers.datasets.image import InputImage
from explainers.models.inputs.encoding import Encoding
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison

OMITTED: dict[type, tuple[str, ...]] = {
    Attribution: ("encoding", "draws"),  # the encoding is that of the decision
    Comparison: ("answer", "order"),  # they follow from the rest
    Encoding: ("image", "patch_embeddings", "canvas"),
}
Result = TypeVar("Result")


def packed(value: Any) -> Any:
    """`value` in dicts, lists, strings and numbers."""
    if isinstance(value, np.ndarray):
        return packed(value.tolist())
    if is_dataclass(value) and not isinstance(value, type):
        kept = (field for field in fields(value) if field.name not in OMITTED.get(type(value), ()))
        values = ((field, getattr(value, field.name)) for field in kept)
        return {field.name: packed(content) for field, content in values if not _is_default(field, content)}
    if isinstance(value, Mapping):
        return {key: packed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [packed(item) for item in value]
    if isinstance(value, frozenset):
        return sorted(value)
    return _shortened(value) if isinstance(value, float) else value


def unpacked(kind: type[Result], data: Any, image: InputImage | None = None) -> Result:
    """The inverse. `image` is the one of the input. Raises `ValueError`, `KeyError` or `TypeError` for other data."""
    result: Result = _Reader({"image": image}).read(kind, data)
    return result


def _shortened(number: float) -> float | int | str:
    if not math.isfinite(number):
        return str(float(number))
    short = float(f"{number:.6g}")
    return int(short) if short.is_integer() else short


def _is_default(field: "Field[Any]", content: Any) -> bool:
    if field.default_factory is not MISSING:
        return bool(content == field.default_factory())
    return field.default is not MISSING and type(content) is type(field.default) and bool(content == field.default)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


class _Reader:
    """`given` are values of omitted fields by their name; an encoding is given to all that comes after it."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given

    def read(self, kind: Any, data: Any) -> Any:
        origin, parts = get_origin(kind), get_args(kind)
        if is_dataclass(kind):
            return self._read_fields(kind, data)
        if origin in (Union, types.UnionType):
            (other,) = (part for part in parts if part is not types.NoneType)
            return None if data is None else self.read(other, data)
        if origin is tuple:
            kinds = (parts[0],) * len(data) if parts[1:] == (...,) else parts
            return tuple(self.read(part, item) for part, item in zip(kinds, data, strict=True))
        if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
            return {key: self.read(parts[1], value) for key, value in data.items()}
        if origin is frozenset:
            return frozenset(data)
        if origin is np.ndarray:
            return np.asarray(data, dtype=float)
        return float(data) if kind is float else _checked(kind, data)

    def _read_fields(self, kind: Any, data: dict[str, Any]) -> Any:
        hints, omitted = _hints(kind), OMITTED.get(kind, ())
        unknown = set(data) - {field.name for field in fields(kind)}
        if unknown:
            raise ValueError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
        values = {
            field.name: self.read(hints[field.name], data[field.name]) for field in fields(kind) if field.name in data
        }
        value = kind(**values, **{name: self.given[name] for name in omitted if name in self.given})
        if kind is Encoding:
            self.given["encoding"] = value
        return value


def _checked(kind: Any, data: Any) -> Any:
    """A string, a truth value, a whole number, or one of several values."""
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if data not in choices and type(data) is not kind:
        raise TypeError(f"{data!r} is not {kind}")
    return data
