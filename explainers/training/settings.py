"""Hyperparameters: the fields of a validated dataclass, where bounds, display name and meaning stand once.

    @validated
    @dataclass(frozen=True)
    class Method:
        batch: Annotated[int, Field(ge=1, title="Batch size", description="Texts per step.")] = 20

`fit --set`, `fit --settings`, the Train page's form and the reader of cards take what they need from there.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

import pydantic.dataclasses
from pydantic import ConfigDict, TypeAdapter, ValidationError

from explainers.errors import ExplanationError, refused_fields

Recipe = TypeVar("Recipe")
Record = TypeVar("Record")
Kind = Literal["boolean", "integer", "number", "string"]

CONFIG = ConfigDict(
    extra="forbid",
    allow_inf_nan=False,
    field_title_generator=lambda name, _field: name.replace("_", " ").capitalize(),
)


def validated(kind: type[Record]) -> type[Record]:
    """A dataclass whose values are converted and checked when one is made: a bad one raises pydantic's error."""
    result: Any = pydantic.dataclasses.dataclass(frozen=True, config=CONFIG)(kind)
    result.__doc__ = kind.__doc__
    return cast(type[Record], result)


@dataclass(frozen=True)
class Setting:
    """A hyperparameter as people meet it. `least` and `most` are its bounds, None where there is none."""

    name: str
    label: str
    meaning: str
    default: Any
    kind: Kind
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None


def settings_of(recipe: type) -> tuple[Setting, ...]:
    """The hyperparameters of a recipe, in the order of its fields."""
    properties = TypeAdapter(recipe).json_schema()["properties"]
    return tuple(
        Setting(
            name,
            schema["title"],
            schema["description"],
            schema["default"],
            schema["type"],
            tuple(schema.get("enum", ())),
            schema.get("minimum", schema.get("exclusiveMinimum")),
            schema.get("maximum"),
        )
        for name, schema in properties.items()
    )


def settings_text(recipe: type, values: Mapping[str, Any], without: Collection[str] = ("seed",)) -> str:
    """A line for every setting but those `without`: its name, its value among `values` or by default, its meaning."""
    lines = []
    for setting in settings_of(recipe):
        if setting.name in without:
            continue
        value = typed(values.get(setting.name, setting.default))
        choices = f"One of: {', '.join(setting.choices)}." if setting.choices else ""
        lines.append(f"{setting.name}={value}  {setting.meaning} {choices}".rstrip())
    return "\n".join(lines)


def typed(value: Any) -> str:
    """A value as it is typed after `--set NAME=`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_hyperparameters(recipe: type[Recipe], method: str, values: Mapping[str, Any]) -> Recipe:
    """A recipe with these values, which may be strings. Raises `ExplanationError` for unknown names and bad values."""
    if unknown := sorted(set(values) - {setting.name for setting in settings_of(recipe)}):
        choices = ", ".join(sorted(setting.name for setting in settings_of(recipe)))
        raise ExplanationError(f"{method} has no setting {unknown[0]!r}. Choose from: {choices}.")
    try:
        return recipe(**values)
    except ValidationError as error:
        raise ExplanationError(refused_fields(error, f"The setting {{}} of {method}")) from error


def recipe_on_card(recipe: type[Recipe], method: str, values: Mapping[str, Any]) -> Recipe:
    """The recipe that a card holds. Names that the recipe no longer has were about the training only, and are ignored.

    Raises `ExplanationError` for a bad value.
    """
    names = {setting.name for setting in settings_of(recipe)}
    return with_hyperparameters(recipe, method, {name: value for name, value in values.items() if name in names})
