"""What a file held: its good rows, and a sentence for each bad one."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from explainers.annotations.records import Annotation, Item
from explainers.datasets.tables import parsed_json
from explainers.errors import DataUnavailable

LISTED = 20


@dataclass(frozen=True)
class BadRow:
    """`row` counts from 1, for a table without its header; `reason` is a sentence."""

    row: int
    reason: str


@dataclass(frozen=True)
class Imported:
    items: tuple[Item, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    bad_rows: tuple[BadRow, ...] = ()

    def problems(self, most: int = LISTED) -> tuple[str, ...]:
        """The bad rows as sentences, of which at most `most` are listed one by one."""
        sentences = [f"Row {each.row:,}: {each.reason}" for each in self.bad_rows[:most]]
        more = len(self.bad_rows) - most
        return (*sentences, f"{more:,} more rows were not read.") if more > 0 else tuple(sentences)

    def sample(self, n: int, seed: int) -> tuple[Item, ...]:
        """`n` items in an order drawn by the seed, or all with 0."""
        items = list(self.items)
        random.Random(seed).shuffle(items)
        return tuple(items[:n] if n else items)


@dataclass(frozen=True)
class RowContent:
    """The items and annotations of one row of a file."""

    items: tuple[Item, ...] = ()
    annotations: tuple[Annotation, ...] = ()


def read_rows(rows: Iterable[object], read: Callable[[object], RowContent]) -> Imported:
    """Every row by itself. A bad row is an error, or one for which `read` raises `DataUnavailable` or `ValueError`.

    An item with the id of an earlier one must be the same; then it is kept once.
    """
    items: dict[str, Item] = {}
    annotations: list[Annotation] = []
    bad: list[BadRow] = []
    for number, row in enumerate(rows, 1):
        try:
            if isinstance(row, DataUnavailable):
                raise row
            content = read(row)
            for item in content.items:
                if items.get(item.id, item) != item:
                    raise DataUnavailable(f"Another row has the id {item.id[:60]!r} and another content.")
        except (DataUnavailable, ValueError) as error:
            bad.append(BadRow(number, str(error)))
            continue
        items |= {item.id: item for item in content.items}
        annotations += content.annotations
    return Imported(tuple(items.values()), tuple(annotations), tuple(bad))


def json_lines(content: str) -> Iterator[object]:
    """The JSON value of every line that is not empty; the error in place of a line that is no JSON."""
    for line in content.split("\n"):  # the only separator: U+2028 and the like may stand within a text
        if line.strip():
            try:
                yield parsed_json(line)
            except DataUnavailable as error:
                yield error


def class_number(name: str, classes: Sequence[str]) -> int | None:
    """The class that the data call `name`: in any case, or shortened, as POS for positive; None if there is none."""
    folded = [each.casefold() for each in classes]
    wanted = name.strip().casefold()
    if wanted in folded:
        return folded.index(wanted)
    beginning = [number for number, each in enumerate(folded) if wanted and each.startswith(wanted)]
    return beginning[0] if len(beginning) == 1 else None
