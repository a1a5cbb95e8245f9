"""The data sets of the papers' tables for which a classifier is trained here, from files in the folder `--data`."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from explainers.datasets import tables
from explainers.datasets.example import Example, Splits
from explainers.datasets.sst2 import letters
from explainers.errors import DataUnavailable

TRAIN, VALIDATION, TEST, UNLABELLED = 8000, 400, 1000, 900  # texts at most of each part
SHORTEST = 2  # words
LONGEST = 60  # words of a text; longer ones are left out


@dataclass(frozen=True)
class PaperSet:
    """`read` yields (part, example) for every row of the files below a folder; the part is "train" or "test", or ""
    where the files have no parts of their own."""

    name: str
    title: str
    labels: tuple[str, ...]
    source: str
    licence: str
    read: Callable[[Path], Iterator[tuple[str, Example]]]

    def splits(self, folder: Path | None) -> Splits:
        """Parts without common texts (but for case, spaces and punctuation), in an order that depends on nothing but
        the files.

        Raises `DataUnavailable` without a folder, and if a file is missing or has other columns.
        """
        if folder is None:
            raise DataUnavailable(f"Give the folder with the files of {self.title}: --data DIR.")
        parts: dict[str, list[Example]] = {"": [], "train": [], "test": []}
        seen: set[str] = set()
        for part, example in sorted(self.read(folder), key=lambda row: row[0] != "test"):
            key = letters(example.text)
            if SHORTEST <= len(example.text.split()) <= LONGEST and key not in seen:
                seen.add(key)
                parts[part].append(example)
        for some in parts.values():
            random.Random(0).shuffle(some)
        test, rest = parts["test"], [*parts["train"], *parts[""]]
        if not test:
            test, rest = rest[:TEST], rest[TEST:]
        unlabelled, rest = rest[:UNLABELLED], rest[UNLABELLED:]
        validation, train = rest[:VALIDATION], rest[VALIDATION : VALIDATION + TRAIN]
        return Splits(tuple(train), tuple(validation), tuple(test[:TEST]), explainer=tuple(unlabelled))


def read_table(file: str, text: str, label: str, folder: Path) -> Iterator[tuple[str, Example]]:
    for number, row in tables.rows(folder / file, quoted=True):
        if not row.get(text, "").strip() or not row.get(label, "").strip().isdecimal():
            raise DataUnavailable(f"{file}, line {number}: expected {text} and {label}, got {row}.")
        yield "", Example(row[text].strip(), label=int(row[label]))


WORLD, SCIENCE = "1", "4"  # of AG News' test file


def read_ag_news(folder: Path) -> Iterator[tuple[str, Example]]:
    """World against science and technology, as in CIEM; the description alone, which both files have."""
    classes = {"World": 0, "Sci/Tech": 1, WORLD: 0, SCIENCE: 1}
    for _, row in tables.rows(folder / "ag_news/train.tsv.gz", header=("text", "class"), quoted=True):
        if row["class"] in classes:
            yield "train", Example(row["text"].strip(), label=classes[row["class"]])
    for _, row in tables.rows(folder / "ag_news/test.tsv.gz", quoted=True):
        if row["class"] in classes:
            yield "test", Example(row["description"].strip(), label=classes[row["class"]])


PAPER_SETS = {
    paper_set.name: paper_set
    for paper_set in (
        PaperSet(
            "rotten_tomatoes",
            "Rotten Tomatoes",
            ("negative", "positive"),
            "Rotten Tomatoes (Pang and Lee, 2005)",
            "research use",
            partial(read_table, "rotten_tomatoes/all.tsv.gz", "text", "label"),
        ),
        PaperSet(
            "clickbait",
            "Clickbait",
            ("news", "clickbait"),
            "Clickbait headlines (Chakraborty et al., 2016)",
            "MIT",
            partial(read_table, "clickbait/all.tsv.gz", "text", "label"),
        ),
        PaperSet(
            "ag_news",
            "AG News",
            ("world", "science and technology"),
            "AG News (Zhang et al., 2015), world against science and technology",
            "research use",
            read_ag_news,
        ),
        PaperSet(
            "yelp",
            "Yelp",
            ("negative", "positive"),
            "single Yelp sentences, tokenised",
            "Apache-2.0",
            partial(read_table, "yelp/sentences.tsv.gz", "text", "label"),
        ),
        PaperSet(
            "hate",
            "Hate",
            ("hate speech", "offensive language", "neither"),
            "Tweets (Davidson et al., 2017)",
            "MIT",
            partial(read_table, "hate_offensive/all.tsv.gz", "text", "class"),
        ),
    )
}
