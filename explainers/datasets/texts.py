"""A person's own unlabelled texts: one per line, or a table with a column `text` and perhaps `text_pair`.

What a model `asks` for decides which will do: ("text",), a pair of names, or () where nobody knows.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable

FEWEST, MOST, LONGEST = 20, 20_000, 10_000
DELIMITERS = {".csv": ",", ".tsv": "\t"}
PAIRS = (("text", "text_pair"), ("text", "pair"), ("premise", "hypothesis"))  # columns of a table


def read(path: Path, asks: Sequence[str] = ()) -> tuple[Example, ...]:
    """The texts of a file that are not empty, each once. Raises `DataUnavailable` with what is wrong."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataUnavailable(f"{path} cannot be read: {error.strerror}.") from error
    return checked(parsed(decoded(content, path.name), path.suffix.lower()), asks)


def decoded(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataUnavailable(f"{name} is not UTF-8 text. Save it as UTF-8.") from error


def parsed(content: str, suffix: str) -> list[Example]:
    """Lines of a text file, or the rows of a table (`.csv` or `.tsv`)."""
    if suffix not in DELIMITERS:
        return [Example(line.strip()) for line in content.splitlines()]
    try:
        table = csv.DictReader(io.StringIO(content, newline=""), delimiter=DELIMITERS[suffix])
        first, second = columns(table.fieldnames or ())
        return [Example((row[first] or "").strip(), (row.get(second) or "").strip() or None) for row in table]
    except csv.Error as error:
        raise DataUnavailable(f"The table cannot be read: {error}.") from error


def columns(names: Sequence[str]) -> tuple[str, str]:
    """Those of both texts; the second one need not be there."""
    whole = [pair for pair in PAIRS if set(pair) <= set(names)]
    if whole or "text" in names:
        return whole[0] if whole else PAIRS[0]
    raise DataUnavailable(
        f"The table needs a column `text`; it has {', '.join(names) or 'none'}. "
        "For pairs it needs `text` and `text_pair`, or `premise` and `hypothesis`."
    )


def fitting(texts: Sequence[Example], asks: Sequence[str]) -> list[Example]:
    """Those that a model can read. Raises `DataUnavailable` if it reads pairs and these are none, or the other way."""
    paired = [each for each in texts if each.text and each.pair]
    if len(asks) == 2 and not paired:
        raise DataUnavailable(
            f"The model asks for pairs, {asks[0]} and {asks[1]}, and these are single texts. Give a table (.csv or "
            ".tsv) with the columns premise and hypothesis, or text and text_pair."
        )
    if len(asks) == 1 and paired:
        raise DataUnavailable("The model reads single texts, and these are pairs. Leave the second column away.")
    return paired if len(asks) == 2 else [each for each in texts if each.text]


def checked(texts: Sequence[Example], asks: Sequence[str] = ()) -> tuple[Example, ...]:
    """The texts that are not empty, each once, if the model can read them, they are enough and none is too long."""
    found = tuple(dict.fromkeys(fitting(texts, asks) if any(each.text for each in texts) else ()))
    if not FEWEST <= len(found) <= MOST:
        raise DataUnavailable(f"A method learns from {FEWEST} to {MOST:,} different texts; these are {len(found):,}.")
    return short(found)


def short(texts: tuple[Example, ...]) -> tuple[Example, ...]:
    """The texts themselves, of which there is at least one, if none is too long."""
    long = max(len(each.text) + len(each.pair or "") for each in texts)
    if long > LONGEST:
        raise DataUnavailable(f"One text has {long:,} characters; each may have at most {LONGEST:,}.")
    return texts
