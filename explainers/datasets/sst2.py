"""SST-2 (Socher et al., 2013): movie-review sentences and phrases, 0 negative and 1 positive.

The phrases are parts of the sentences, so a validation part is only held out if its phrases are held out with it:
every phrase that stands inside a validation sentence leaves the training part. The 872 dev sentences are the test.
"""

import csv
import gzip
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable

FILES = ("train_phrases.tsv.gz", "train_sentences.tsv.gz", "dev.tsv.gz")
HUB_ID = "stanfordnlp/sst2"
SHORTEST_SENTENCE = 8  # words: GLUE's training part does not say which of its phrases are whole sentences


@dataclass(frozen=True)
class Splits:
    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    test: tuple[Example, ...]


def read(folder: Path | None, *, validation: int = 400, seed: int = 0) -> Splits:
    """The three disjoint parts, from a folder that holds `FILES` or, without one, from the hub."""
    phrases, sentences, test = from_folder(folder) if folder else from_hub()
    random.Random(seed).shuffle(sentences)
    held_out = sentences[:validation]
    forbidden = "\n".join(letters(example.text) for example in (*held_out, *test))
    train = tuple(example for example in phrases if letters(example.text) not in forbidden)
    return Splits(train, tuple(held_out), tuple(test))


def letters(text: str) -> str:
    """The text without spaces and punctuation, so that two tokenisations of one sentence are equal."""
    return "".join(character for character in text.lower() if character.isalnum())


def from_folder(folder: Path) -> tuple[list[Example], list[Example], list[Example]]:
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise DataUnavailable(f"{folder} holds no {missing[0]}. SST-2 needs the files {', '.join(FILES)}.")
    phrases, sentences, dev = (list(rows(folder / name)) for name in FILES)
    return phrases, sentences, dev


def rows(path: Path) -> Iterator[Example]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), start=2):
            if row.get("label") not in ("0", "1") or not row.get("text"):
                raise DataUnavailable(f"{path.name}, line {number}: expected a text and a label 0 or 1, got {row}.")
            yield Example(row["text"], label=int(row["label"]))


def from_hub() -> tuple[list[Example], list[Example], list[Example]]:
    from datasets import load_dataset

    try:
        parts = load_dataset(HUB_ID)
    except Exception as error:
        raise DataUnavailable(
            f"The data set {HUB_ID} could not be fetched ({error}). Give a folder with {', '.join(FILES)}."
        ) from error
    phrases = [Example(row["sentence"].strip(), label=row["label"]) for row in parts["train"]]
    sentences = [example for example in phrases if len(example.text.split()) >= SHORTEST_SENTENCE]
    return phrases, sentences, [Example(row["sentence"].strip(), label=row["label"]) for row in parts["validation"]]
