"""A set of rows explained in one or more parts, and the parts put together.

A part is a file of JSON lines in the folder of the set, `part-2-of-4.jsonl`: first what decides its numbers and the ids
of its rows, then a record per row as soon as it is made. So an interrupted part goes on where it stopped. Parts need
nothing in common but the folder in which they are put together: `merge` checks that every id is there once.
"""

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explainers.datasets.labelled_rows import InputRow
from explainers.errors import DataUnavailable, ExplanationError
from explainers.evaluation import record_file, set_spec
from explainers.evaluation.explain_batch import SetPlan, explain_batch
from explainers.models.frozen_model import FrozenModel
from explainers.models.worker_processes import map_in_processes

PART = re.compile(r"part-(\d+)-of-(\d+)\.jsonl")
LISTED = 5  # ids in a sentence
Engine = Callable[[Sequence[InputRow]], Generator[list[record_file.Record]]]  # the records of the rows, in any order


@dataclass(frozen=True)
class StoredSet:
    """All parts of a set: what decides the numbers (`about`), and a record per row, in the order of the data."""

    about: dict[str, Any]
    records: list[record_file.Record]


def run_shard(
    model: FrozenModel,
    plan: SetPlan,
    rows: Sequence[InputRow],
    about: Mapping[str, Any],
    out: Path,
    shard: set_spec.Shard | None = None,
    processes: int = 1,
    engine: Engine | None = None,
) -> Iterator[int]:
    """Explain those of all `rows` that belong to the shard and have no record yet; yield how many of it are done.

    `about` says where the rows are from. With an `engine` that one explains them, instead of `processes` of this
    machine. Raises `ExplanationError` if the folder has records of another set or plan.
    """
    shard = shard or set_spec.Shard()
    own = shard.of(rows)
    path = out / shard.file
    head = {**about, "plan": plan.as_dict(model), "rows": len(rows), "ids": [row.id for row in own]}
    done = {record["id"] for record in record_file.resume_records(path, head, lambda record: "failed" not in record)}
    missing = [row for row in own if row.id not in done]

    def work(number: int) -> list[record_file.Record]:
        return list(explain_batch(model, plan, missing[number : number + 1]))

    yield len(done)
    explained = engine(missing) if engine else map_in_processes(work, len(missing), processes)
    with record_file.appending(path) as append, closing(explained) as batches:
        for number, records in enumerate(batches, start=1):
            for record in records:
                append(record)
            yield len(done) + number


def merge(out: Path) -> StoredSet:
    """Return all parts in the folder as one set.

    Raises `ExplanationError` if a part is missing or not finished, parts do not belong together, or an id is there
    twice.
    """
    parts = _parts(out)
    heads = {number: head for number, (head, _) in parts.items()}
    first, *others = heads
    for number in others:
        if _common(heads[number]) != _common(heads[first]):
            raise ExplanationError(
                f"Parts {first} and {number} in {out} belong to different sets, models or settings. "
                "Explain all parts with the same options."
            )
    records: dict[str, record_file.Record] = {}
    for number, (head, lines) in sorted(parts.items()):
        for record in lines:
            if record["id"] in records:
                raise ExplanationError(f"The id {record['id']!r} is there twice, the second time in part {number}.")
            records[record["id"]] = record
        missing = [id for id in head["ids"] if id not in records]
        if missing:
            raise ExplanationError(
                f"Part {number} of {len(parts)} lacks {len(missing)} of {len(head['ids'])} rows: {_listed(missing)}. "
                f"Run it again with --shard {number}/{len(parts)}: it goes on where it stopped."
            )
    ids = _in_order([heads[number]["ids"] for number in sorted(heads)])
    strange = sorted(records.keys() - set(ids))
    if strange or len(ids) != heads[first]["rows"]:
        raise ExplanationError(f"The parts in {out} hold other rows than they should: {_listed(strange) or 'too few'}.")
    return StoredSet({**_common(heads[first]), "ids": ids}, [records[id] for id in ids])


def _parts(out: Path) -> dict[int, tuple[record_file.Record, list[record_file.Record]]]:
    """Return signature and records of every part by its number. Raises `ExplanationError` if one is missing."""
    matches = [(match, path) for path in sorted(out.glob("part-*")) if (match := PART.fullmatch(path.name))]
    found = {(int(match[1]), int(match[2])): path for match, path in matches}
    counts = {count for _, count in found}
    if not found:
        raise DataUnavailable(f"{out} holds no part of a set. Explain one with --shard 1/1 --out {out}.")
    if len(counts) > 1:
        listed = " and ".join(map(str, sorted(counts)))
        raise ExplanationError(f"{out} holds parts of sets in {listed} parts. Keep those of one set in a folder.")
    (count,) = counts
    missing = [number for number in range(1, count + 1) if (number, count) not in found]
    if missing:
        raise ExplanationError(
            f"{_listed([f'{number}/{count}' for number in missing])} {'is' if len(missing) == 1 else 'are'} missing in "
            f"{out}. Explain with --shard {missing[0]}/{count}, or copy the file "
            f"{set_spec.Shard(missing[0], count).file} there."
        )
    return {number: record_file.read_signed(path) for (number, _), path in found.items()}


def _common(head: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all parts of a set have in common."""
    return {name: value for name, value in head.items() if name != "ids"}


def _in_order(parts: Sequence[Sequence[str]]) -> list[str]:
    """Return the ids of all parts in the order of the data, of which every part took each n-th."""
    longest = max(map(len, parts))
    return [ids[place] for place in range(longest) for ids in parts if place < len(ids)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:LISTED]) + (", …" if len(names) > LISTED else "")
