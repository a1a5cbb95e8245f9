"""Pairs of texts that stand for everyday ones: the set that comes with a model, or a person's own table.

assets/pairs/<model>.json   [{"premise": …, "hypothesis": …}, …]; no class is stored, the model's own answer counts
"""

import json
from pathlib import Path

from explainers.datasets.example import Example
from explainers.datasets.texts import DELIMITERS, decoded, parsed, short
from explainers.errors import DataUnavailable

PAIRS = Path(__file__).parents[2] / "assets" / "pairs"
FEWEST, MOST = 2, 500


def shipped(model: str, folder: Path = PAIRS) -> tuple[Example, ...]:
    """The set of a model that comes with the project; empty where there is none."""
    path = folder / f"{model}.json"
    if path.parent != folder or not path.is_file():  # a model's name may be a path
        return ()
    found = json.loads(path.read_text(encoding="utf-8"))
    return tuple(Example(each["premise"], each["hypothesis"]) for each in found)


def of_table(content: bytes, name: str) -> tuple[Example, ...]:
    """The pairs of a .csv or .tsv file, each once. Raises `DataUnavailable` with what is wrong."""
    suffix = Path(name).suffix.lower()
    if suffix not in DELIMITERS:
        raise DataUnavailable(f"Give a table: a file that ends in {' or '.join(DELIMITERS)}.")
    rows = parsed(decoded(content, name), suffix)
    whole = [row for row in rows if row.text and row.pair]
    halves = sum(bool(row.text) != bool(row.pair) for row in rows)
    if halves:
        raise DataUnavailable(
            f"{halves:,} of {len(rows):,} rows have only one text. Give the columns premise and hypothesis, or text "
            "and text_pair, and fill both."
        )
    found = tuple(dict.fromkeys(whole))
    if not FEWEST <= len(found) <= MOST:
        raise DataUnavailable(f"A set has {FEWEST} to {MOST} different pairs; these are {len(found):,}.")
    return short(found)
