"""A file of JSON lines with which an interrupted run goes on: a signature, then a record per line.

A record is appended as soon as it is made. A line that was not written to its end, because the run was interrupted
there, is dropped with all that follow. Importing this does not load torch.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from explainers.errors import ExplanationError

Record = dict[str, Any]


def resume_records(
    path: Path, signature: Mapping[str, Any] | None, is_complete: Callable[[Record], bool] = lambda _record: True
) -> list[Record]:
    """Prepares the file for more records, and its folder; returns those that need not be made again.

    Without a signature every record says itself what it belongs to. Raises `ExplanationError` if the file has another
    signature, because its records would not belong with the new ones.
    """
    lines = list(_whole_lines(path)) if path.is_file() else []
    head = [] if signature is None else [json.loads(json.dumps(dict(signature)))]  # tuples are lists in the file
    if lines and lines[: len(head)] != head:
        found = lines[0] if isinstance(lines[0], dict) else {}
        other = [key.replace("_", " ") for key, value in head[0].items() if found.get(key, value) != value]
        what = f", with another value of: {', '.join(other)}" if other else ""
        raise ExplanationError(f"{path} belongs to another run{what}. Choose another place or delete it.")
    kept = [record for record in lines[len(head) :] if is_complete(record)]
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(json.dumps(line) + "\n" for line in (*head, *kept)), encoding="utf-8")
    fresh.replace(path)
    return kept


@contextmanager
def appending(path: Path) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A function that writes a record to the end of the file at once."""
    with path.open("a", encoding="utf-8") as file:
        yield lambda record: print(json.dumps(record), file=file, flush=True)


def read_records(path: Path, *, signed: bool = True) -> list[Record]:
    """All records, without the signature where the file is `signed`."""
    return list(_whole_lines(path))[signed:]


def read_signed(path: Path) -> tuple[Record, list[Record]]:
    """The signature, and all records. Raises `ExplanationError` if there is no signature."""
    lines = list(_whole_lines(path))
    if not lines:
        raise ExplanationError(f"{path} is empty or damaged. Delete it and run that part again.")
    return lines[0], lines[1:]


def _whole_lines(path: Path) -> Iterator[Record]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return
