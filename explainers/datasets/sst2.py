"""SST-2 (Socher et al., 2013): movie-review sentences and phrases, 0 negative and 1 positive; and texts like them.

The phrases are parts of the sentences, so a validation part is only held out with its phrases:
every phrase of a validation sentence leaves the training part. The 872 dev sentences are the test.

Two more sets of labelled sentences join the training where they are available: Rotten Tomatoes (Pang and Lee, 2005),
from which SST was made, and Yelp. Of the former only sentences that share no six words in a row with any SST sentence
are taken; half of them train the model, the other half stay unlabelled for the methods that learn to explain it.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from explainers.datasets import tables
from explainers.datasets.example import Example, Splits
from explainers.errors import DataUnavailable

FILES = ("train_phrases.tsv.gz", "train_sentences.tsv.gz", "dev.tsv.gz")
HUB_ID = "stanfordnlp/sst2"
SHORTEST_SENTENCE = 8  # words: GLUE's training part does not say which of its phrases are whole sentences
TOMATOES, YELP = "rotten_tomatoes/all.tsv.gz", "yelp/sentences.tsv.gz"


def read_sst2(folder: Path | None, *, validation: int = 400, seed: int = 0) -> Splits:
    """From a folder that holds `FILES`, with `TOMATOES` and `YELP` beside it if they exist; or from the hub."""
    phrases, sentences, test = from_folder(folder) if folder else from_hub()
    random.Random(seed).shuffle(sentences)
    held_out = sentences[:validation]
    forbidden = "\n".join(letters(example.text) for example in (*held_out, *test))
    train = [example for example in phrases if letters(example.text) not in forbidden]
    tomatoes = without_overlap(optional(folder, TOMATOES), (*sentences, *test, *phrases))
    random.Random(seed).shuffle(tomatoes)
    half = len(tomatoes) // 2
    return Splits(
        tuple(train + tomatoes[:half]),
        tuple(held_out),
        tuple(test),
        warm_up=tuple(optional(folder, YELP)),
        explainer=tuple(tomatoes[half:]),
    )


def optional(folder: Path | None, name: str) -> list[Example]:
    """The rows of a file in the folder beside `folder`; empty if there is no such file."""
    path = folder.parent / name if folder else None
    return list(rows(path)) if path and path.is_file() else []


def without_overlap(candidates: Iterable[Example], others: Sequence[Example], window: int = 6) -> list[Example]:
    """The candidates of at least `window` words that share no `window` words in a row with any of the others."""
    taken = {gram for example in others for gram in ngrams(example.text, window)}
    return [candidate for candidate in candidates if (grams := ngrams(candidate.text, window)) and not grams & taken]


def ngrams(text: str, window: int) -> set[tuple[str, ...]]:
    tokens = [word for part in text.split() if (word := letters(part))]
    return {tuple(tokens[at : at + window]) for at in range(len(tokens) - window + 1)}


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
    for number, row in tables.rows(path):
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
