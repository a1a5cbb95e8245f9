"""A file with explanations of a person's own, and the rows that were read from it."""

from collections.abc import Mapping
from dataclasses import dataclass

from explainers.methods.registry import MethodSpec


@dataclass(frozen=True)
class FileRows:
    """The rows of every input of a file by its texts (the second may be empty), and sentences about bad rows."""

    rows: Mapping[tuple[str, str], tuple[MethodSpec, ...]]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class RowFile:
    """An uploaded file; its parts if it is an archive with several; `problem` is a sentence where it cannot be used."""

    name: str
    content: bytes
    parts: tuple[str, ...] = ()
    part: str = ""
    read: FileRows | None = None
    problem: str = ""
