"""A user's own unlabelled texts: one per line, or a table with a column `text` and perhaps `text_pair`.

A model's `input_names` decide which of them it can read: one name, the two names of a pair, or () if unknown.
"""

from collections.abc import Sequence
from pathlib import Path

from explainers.datasets import tables
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable

FEWEST, MOST, LONGEST = 20, 20_000, 10_000
SUFFIXES = (".txt", *tables.SUFFIXES)  # of the files that can be given
PAIRS = (("text", "text_pair"), ("text", "pair"), ("premise", "hypothesis"))  # columns of a table


def read_texts(path: Path, input_names: Sequence[str] = ()) -> tuple[Example, ...]:
    """The texts of a file that are not empty, each once. Raises `DataUnavailable` if the file cannot be used."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataUnavailable(f"{path} cannot be read: {error.strerror}.") from error
    return check_texts(parse_texts(content, path.name), input_names)


def parse_texts(content: bytes, name: str) -> list[Example]:
    """The rows of a table, or the lines of any other file; some may be empty."""
    return parse_table(content, name) if tables.is_table(name) else parse_lines(tables.decode_text(content, name))


def parse_lines(content: str) -> list[Example]:
    return [Example(line.strip()) for line in content.splitlines()]


def parse_table(content: bytes, name: str) -> list[Example]:
    """The texts of every row, with "" where the first one is missing."""
    frame = tables.read_frame(content, name, text_columns)
    rows = ([cell.strip() for cell in row] for row in frame.itertuples(index=False))
    return [Example(row[0], (row[1] if len(row) > 1 else "") or None) for row in rows]


def text_columns(names: Sequence[str]) -> tuple[str, ...]:
    """The columns of both texts, or the first one alone. Raises `DataUnavailable` if there is none."""
    whole = [pair for pair in PAIRS if set(pair) <= set(names)]
    if whole or "text" in names:
        return whole[0] if whole else ("text",)
    raise DataUnavailable(
        f"The table needs a column named text; it has {', '.join(names) or 'none'}. "
        "For pairs it needs text and text_pair, or premise and hypothesis."
    )


def fitting(texts: Sequence[Example], input_names: Sequence[str]) -> list[Example]:
    """The texts that a model can read. Raises `DataUnavailable` if it reads pairs and these are none, or vice versa."""
    pairs = [each for each in texts if each.text and each.pair]
    if len(input_names) == 2 and not pairs:
        raise DataUnavailable(
            f"The model reads pairs, {input_names[0]} and {input_names[1]}, and these are single texts. Give a table "
            f"({listed(tables.SUFFIXES)}) with the columns premise and hypothesis, or text and text_pair."
        )
    if len(input_names) == 1 and pairs:
        raise DataUnavailable("The model reads single texts, and these are pairs. Omit the second column.")
    return pairs if len(input_names) == 2 else [each for each in texts if each.text]


def check_texts(texts: Sequence[Example], input_names: Sequence[str] = ()) -> tuple[Example, ...]:
    """The texts that are not empty, each once. Raises `DataUnavailable` if the model cannot read them, there are too
    few or too many, or one is too long."""
    unique = tuple(dict.fromkeys(fitting(texts, input_names) if any(each.text for each in texts) else ()))
    if not FEWEST <= len(unique) <= MOST:
        raise DataUnavailable(f"A method learns from {FEWEST} to {MOST:,} different texts; {len(unique):,} given.")
    return check_length(unique)


def check_length(texts: tuple[Example, ...]) -> tuple[Example, ...]:
    """The texts, of which there is at least one. Raises `DataUnavailable` if one is too long."""
    longest = max(len(each.text) + len(each.pair or "") for each in texts)
    if longest > LONGEST:
        raise DataUnavailable(f"One text has {longest:,} characters; each may have at most {LONGEST:,}.")
    return texts


def listed(names: Sequence[str]) -> str:
    """ ".csv, .tsv or .parquet"."""
    return f"{', '.join(names[:-1])} or {names[-1]}"
