"""What can go wrong for a reader of the app or of the command line; each message is one sentence to show as it is."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

FOLDERS = re.compile(  # of an absolute path; in quotes, spaces belong to its names
    r"""(?<=['"`])(?:~[\w.-]*)?/(?:[^'"`/\n]+/)+"""
    r"""|(?<![\w.:/~…-])(?:~[\w.-]*)?/(?:[^\s'"`/]+/)+"""
    r"""|\b[A-Za-z]:\\(?:[^'"`\\\n]+\\)+"""
)


SHOWN = 12  # columns that a sentence lists at most


class ExplanationError(Exception):
    """Something the person can understand and mend: the message says what came, what was possible and what to do."""


class ModelUnavailable(ExplanationError):
    """The model does not exist, or its files are missing or damaged."""


class DataUnavailable(ExplanationError):
    """A data set is missing or not in the format its authors publish."""


class MissingColumn(DataUnavailable):
    """A table has no column of that name."""

    def __init__(self, name: str, column: str, present: Sequence[str]) -> None:
        listed = ", ".join(present[:SHOWN]) + (", …" if len(present) > SHOWN else "") or "none"
        super().__init__(f"{name} has no column {column!r}. Its columns are: {listed}.")
        self.column = column


class InputRefused(ExplanationError):
    """The model reads other inputs: a text or the image is missing, or there is one too many."""


class Cancelled(ExplanationError):
    """The person stopped the run."""


def did_you_mean(given: str, choices: Sequence[str]) -> str:
    """A question with a blank before it, or nothing where no choice is like what was given."""
    close = get_close_matches(given.lower()[:LONGEST], choices, n=1, cutoff=0.75)
    return f" Did you mean {close[0]}?" if close else ""


def without_folders(text: str) -> str:
    """With the last part alone of every absolute path, whoever wrote it."""
    return FOLDERS.sub("…/", text)


LONGEST = 80  # characters of a value that a sentence repeats
REQUIRED = {  # by pydantic's type of error
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than_equal": "at most {le:g}",
    "finite_number": "a finite number",
    "literal_error": "{expected}",
    "string_type": "text",
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("dict_type", "dataclass_type", "mapping_type"), "an object"),
}


def refused_fields(error: "ValidationError", subject: str = "The field {}") -> str:
    """A sentence for each value that was refused: its field in place of {} in `subject`, what it must be, what came."""
    sentences = []
    for refused in error.errors():
        path, kind, context = refused["loc"], refused["type"], refused.get("ctx", {})
        field = ".".join(map(str, path))
        name = subject.format(field) if path else "It"
        came = repr(refused["input"])[:LONGEST]
        if kind == "json_invalid":
            sentences.append("It is not JSON.")
        elif kind == "missing":
            sentences.append(f"{name} is missing.")
        elif kind in ("unexpected_keyword_argument", "extra_forbidden"):
            sentences.append(f"There is no field {field}.")
        elif kind in ("value_error", "assertion_error"):
            sentences.append(str(context["error"]))  # a sentence of the record's own check
        else:
            required = REQUIRED[kind].format(**context) if kind in REQUIRED else f"as it should ({refused['msg']})"
            sentences.append(f"{name} must be {required}, not {came}.")
    return " ".join(sentences)
