"""The files assets/reading/<id>/story.toml as stories; whatever does not fit the dataclasses of `story` is refused."""

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from app.reading.story import Kind, Step, Story
from explainers.errors import ExplanationError
from explainers.installation import ASSETS

FOLDER = ASSETS / "reading"
FILE = "story.toml"
ORDER = ("newcomers", "aml", "cimi", "ciem", "ivra", "cause", "five")  # of the list on the page
NEEDS: dict[Kind, str] = {  # the part without which a step of this kind is nothing
    "equation": "equations",
    "live": "state",
    "bet": "bet",
    "break": "state",
    "table": "table",
    "discussion": "questions",
}
NAMES: dict[object, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


class StoryUnreadable(ExplanationError):
    """A story's file has a fault; the sentence names file and field."""


@cache
def stories() -> tuple[Story, ...]:
    """Return all stories of the project, in the order of the list; raises `StoryUnreadable`."""
    return tuple(read_story(FOLDER / id / FILE) for id in ORDER if (FOLDER / id / FILE).is_file())


def story_of(id: str) -> Story | None:
    return next((story for story in stories() if story.id == id), None)


def read_story(path: Path) -> Story:
    """Return the story of a file; raises `StoryUnreadable`."""
    name = f"{path.parent.name}/{path.name}"
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoryUnreadable(f"{name} cannot be read: {error}") from error
    story: Story = decoded(Story, {"id": path.parent.name, **values}, name)
    if not story.steps:
        raise StoryUnreadable(f"{name}: the story has no steps.")
    for number, step in enumerate(story.steps, start=1):
        _check(step, f"{name}, steps[{number}]")
    return story


def decoded(wanted: Any, value: Any, where: str) -> Any:
    """Return the value as a `wanted`: a dataclass, a tuple of one type, a literal, or a plain type."""
    origin, inner = get_origin(wanted), get_args(wanted)
    if is_dataclass(wanted):
        return _record(wanted, value, where)
    if origin is tuple:
        if not isinstance(value, list):
            raise StoryUnreadable(f"{where} must be a list.")
        return tuple(decoded(inner[0], each, f"{where}[{at}]") for at, each in enumerate(value, start=1))
    if origin is UnionType:
        return decoded(next(each for each in inner if each is not NoneType), value, where)
    if origin is Literal:
        if value not in inner:
            raise StoryUnreadable(f"{where} is {value!r}. Choose one of: {', '.join(map(str, inner))}.")
        return value
    fits = isinstance(value, int | float) if wanted is float else isinstance(value, wanted)
    if not fits or (isinstance(value, bool) and wanted is not bool):
        raise StoryUnreadable(f"{where} must be {NAMES[wanted]}.")
    return value.strip() if isinstance(value, str) else value


def _record(wanted: Any, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise StoryUnreadable(f"{where} must be a table.")
    types, known = get_type_hints(wanted), {field.name: field for field in fields(wanted)}
    for name in value:
        if name not in known:
            raise StoryUnreadable(f"{where}: there is no field {name!r}. Choose from: {', '.join(known)}.")
    for name, field in known.items():
        if name not in value and field.default is MISSING:
            raise StoryUnreadable(f"{where}: the field {name!r} is missing.")
    return wanted(**{name: decoded(types[name], each, f"{where}.{name}") for name, each in value.items()})


def _check(step: Step, where: str) -> None:
    """Check what the types do not say."""
    needed = NEEDS.get(step.kind, "")
    if needed and not getattr(step, needed):
        raise StoryUnreadable(f"{where}: a step of the kind {step.kind!r} needs the field {needed!r}.")
    state = step.state
    if state is not None and bool(state.example) == bool(state.text):
        raise StoryUnreadable(f"{where}.state needs an example or a text, and not both.")
    if step.bet is not None and step.bet.pick == "range" and not step.bet.quantity:
        raise StoryUnreadable(f"{where}.bet: a bet on a range needs the field 'quantity'.")
    for row in step.table.rows if step.table is not None else ():
        if not len(row.paper) == len(row.ours) == len(step.table.columns if step.table else ()):
            raise StoryUnreadable(f"{where}.table: the row {row.name!r} has not one number for each column.")
