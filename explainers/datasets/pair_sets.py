"""Sets of text pairs: everyday ones that are shipped with a model, or a user's own table.

assets/pairs/<model>.json   [{"premise": …, "hypothesis": …}, …]; without classes: the model's own predictions count
"""

import json
from pathlib import Path

from explainers.datasets import tables
from explainers.datasets.example import Example
from explainers.datasets.user_texts import check_length, listed, parse_table
from explainers.errors import DataUnavailable
from explainers.installation import ASSETS

PAIRS = ASSETS / "pairs"
FEWEST, MOST = 2, 500
NAMED = 5  # rows in a sentence


def shipped_pairs(model: str, folder: Path = PAIRS) -> tuple[Example, ...]:
    """The set that is shipped with a model; empty if there is none."""
    path = folder / f"{model}.json"
    if path.parent != folder or not path.is_file():  # a model's name may be a path
        return ()
    pairs = json.loads(path.read_text(encoding="utf-8"))
    return tuple(Example(pair["premise"], pair["hypothesis"]) for pair in pairs)


def read_pairs(content: bytes, name: str) -> tuple[Example, ...]:
    """The pairs of a user's table, each once. Raises `DataUnavailable` if it cannot be used."""
    if not tables.is_table(name):
        raise DataUnavailable(f"Give a table: a file that ends in {listed(tables.SUFFIXES)}.")
    rows = parse_table(content, name)
    whole = [row for row in rows if row.text and row.pair]
    incomplete = [number for number, row in enumerate(rows, 1) if bool(row.text) != bool(row.pair)]
    if incomplete:
        listed_rows = ", ".join(map(str, incomplete[:NAMED])) + (" …" if len(incomplete) > NAMED else "")
        raise DataUnavailable(
            f"{len(incomplete):,} of {len(rows):,} rows have only one text: {listed_rows} (counted below the header). "
            "Give the columns premise and hypothesis, or text and text_pair, and fill both."
        )
    pairs = tuple(dict.fromkeys(whole))
    if not FEWEST <= len(pairs) <= MOST:
        raise DataUnavailable(f"A set has {FEWEST} to {MOST} different pairs; these are {len(pairs):,}.")
    return check_length(pairs)
