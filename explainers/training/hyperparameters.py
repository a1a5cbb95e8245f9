"""Hyperparameters of a training, from typed values to the fields of its dataclass."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from explainers.errors import ExplanationError

COUNTS = ("epochs", "validations", "batch", "hidden", "r")  # at least 1
SHARES = ("dropout", "epsilon")  # from 0 to 1
NOT_SETTINGS = ("method", "distribution")  # fields that say what a recipe is

Recipe = TypeVar("Recipe")


def with_hyperparameters(recipe: type[Recipe], method: str, values: Mapping[str, Any]) -> Recipe:
    """A recipe with these values, which may be strings. Raises `ExplanationError` for unknown names and bad values."""
    defaults = {field.name: field.default for field in fields(recipe)}  # type: ignore[arg-type]
    hints = get_type_hints(recipe)
    settable = set(defaults) - set(NOT_SETTINGS)
    ready: dict[str, Any] = {}
    for name, value in values.items():
        if name not in defaults:
            raise ExplanationError(f"{method} has no setting {name!r}. Choose from: {', '.join(sorted(settable))}.")
        if name in settable:
            ready[name] = _typed(method, name, value, defaults[name])
            _check(method, name, ready[name], hints[name])
    return recipe(**ready)


def _typed(method: str, name: str, value: Any, default: Any) -> Any:
    """`value` in the type of the default."""
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False, "1": True, "0": False}[str(value).lower()]
        return type(default)(value)
    except (ValueError, KeyError, TypeError) as error:
        kind = {bool: "true or false", int: "a whole number", float: "a number"}.get(type(default), "a value")
        example = "" if isinstance(default, bool) else f" such as {default!r}"
        raise ExplanationError(f"The setting {name} of {method} must be {kind}{example}, not {value!r}.") from error


def _check(method: str, name: str, value: Any, hint: Any) -> None:
    """Raises `ExplanationError` for an unknown choice and for a number out of range."""
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    if choices and value not in choices:
        raise ExplanationError(
            f"The setting {name} of {method} cannot be {value!r}. Choose from: {', '.join(choices)}."
        )
    least = 1 if name in COUNTS else 0
    if isinstance(value, int | float) and not least <= value < float("inf"):
        raise ExplanationError(f"The setting {name} of {method} must be at least {least}, not {value!r}.")
    if name in SHARES and value > 1:
        raise ExplanationError(f"The setting {name} of {method} must be at most 1, not {value!r}.")
