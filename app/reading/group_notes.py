"""The notes of a group as a Markdown file; what people wrote is quoted and escaped."""

import re
import time
from collections.abc import Sequence

from app.reading.group_rules import GroupNote, GroupView
from app.reading.reader import story_of
from explainers.report.text import one_line

SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$&:])")
LONGEST = 600  # characters of a note on its line


def place_title(place: str) -> str:
    """ "AML: learn the mask, step 3: One pass, beside five hundred"."""
    id, _, number = place.rpartition("/")
    story = story_of(id)
    if story is None or not number.isdigit() or not 1 <= int(number) <= len(story.steps):
        return place
    return f"{story.title}, step {number}: {story.steps[int(number) - 1].title}"


def markdown(view: GroupView, notes: Sequence[GroupNote]) -> str:
    """Headings in the order in which they were first written about, a bullet per note."""
    day = time.strftime("%Y-%m-%d", time.gmtime(view.created))
    lines = [f"# Notes of the reading group {view.code}, {day}", ""]
    for place in dict.fromkeys(note.place for note in notes):
        lines += [f"## {place_title(place)}", ""]
        lines += [f"- {escaped_markdown(note.text)}" for note in notes if note.place == place]
        lines.append("")
    return "\n".join(lines)


def escaped_markdown(text: str) -> str:
    """On one line, every sign that Markdown knows escaped."""
    return SPECIAL.sub(r"\\\1", one_line(text, LONGEST))
