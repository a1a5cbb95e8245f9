"""The files assets/reading/<id>/story.toml as stories; whatever does not fit the dataclasses of `story` is refused."""

import json
import tomllib
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from app.reading.story import Kind, Step, Story
from explainers.errors import ExplanationError, refused_fields
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
STORY = TypeAdapter(Story)


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
    try:
        story = STORY.validate_json(json.dumps({"id": path.parent.name, **values}, default=str))
    except ValidationError as error:
        raise StoryUnreadable(f"{name}: {refused_fields(error)}") from error
    if not story.steps:
        raise StoryUnreadable(f"{name}: the story has no steps.")
    for number, step in enumerate(story.steps):
        _check(step, f"{name}, steps.{number}")
    return story


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
