"""The sets of texts of which the embedded models are made: SST-2 and e-SNLI, and texts like them.

SST-2 (Socher et al., 2013) has sentences of film reviews and their phrases, 0 negative and 1 positive.
The phrases are parts of the sentences, so a validation part is only held out with its phrases:
every phrase of a validation sentence leaves the training part. The 872 dev sentences are the test.

Two more sets of labelled sentences join the training where they are available: Rotten Tomatoes (Pang and Lee, 2005),
from which SST was made, and Yelp. Of the former only sentences that share no six words in a row with any SST sentence
are taken; half of them train the model, the other half stay unlabelled for the methods that learn to explain it.

e-SNLI (Camburu et al., 2018): does a premise entail a hypothesis, leave it open (neutral) or contradict it, and why.
Three people explained every pair of the dev and test files. The dev pairs are the training part, except those of some
images (the premises are captions of images), which are held out for validation; test_a is the test part. Two more
sets join where they are available:

- SNLI pairs with counterfactual revisions (Kaushik et al., 2020; without its test part, which is SNLI's test): they
  join the training, unless the premise shares seven words in a row with a test premise.
- e-SNLI-VE (Do et al., 2021): hypotheses about images. A dev premise that is a caption of the image and the
  hypothesis make a pair that SNLI does not have: these stay unlabelled for the methods that learn to explain.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from explainers.datasets import entailment, tables
from explainers.datasets.example import Example, Splits
from explainers.datasets.images.sets import hypotheses
from explainers.errors import DataUnavailable

FILES = ("train_phrases.tsv.gz", "train_sentences.tsv.gz", "dev.tsv.gz")
HUB_ID = "stanfordnlp/sst2"
SHORTEST_SENTENCE = 8  # words: GLUE's training part does not say which of its phrases are whole sentences
TOMATOES, YELP = "rotten_tomatoes/all.tsv.gz", "yelp/sentences.tsv.gz"
DEV, TEST = "dev.tsv.gz", "test_a.tsv.gz"
REVISED = ("cad_nli/train.tsv.gz", "cad_nli/dev.tsv.gz")
ESNLIVE = ("esnlive/esnlive_dev.csv.gz", "esnlive/esnlive_test.csv.gz")
EXPLANATIONS = ("explanation1", "explanation2", "explanation3")
WINDOW = 7  # premises that share so many words in a row are related
ImagePair = tuple[str, Example]  # the image's file name, and the pair


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


def read_esnli(folder: Path | None, *, validation: int = 500, seed: int = 0) -> Splits:
    """From a folder that holds `DEV` and `TEST`; `REVISED` and `ESNLIVE` are read from beside it where they exist."""
    if folder is None:
        raise DataUnavailable(f"e-SNLI needs a folder that holds {DEV} and {TEST}; give it with --data.")
    missing = [name for name in (DEV, TEST) if not (folder / name).is_file()]
    if missing:
        raise DataUnavailable(f"{folder} holds no {missing[0]}. e-SNLI needs the files {DEV} and {TEST}.")
    dev, test = list(explained_pairs(folder / DEV)), list(explained_pairs(folder / TEST))
    images = sorted({image for image, _ in dev})
    random.Random(seed).shuffle(images)
    held_out: set[str] = set()
    while images and sum(image in held_out for image, _ in dev) < validation:
        held_out.add(images.pop())
    train = [pair for image, pair in dev if image not in held_out]
    return Splits(
        tuple(train + list(unrelated(revised_pairs(folder), (pair.text for _, pair in test)))),
        tuple(pair for image, pair in dev if image in held_out),
        tuple(pair for _, pair in test),
        explainer=tuple(image_pairs(folder, dev, held_out | {image for image, _ in test})),
    )


def explained_pairs(path: Path) -> Iterator[ImagePair]:
    """The pairs of one e-SNLI file in its order, each with its image and people's explanations."""
    for number, row in tables.rows(path):
        pair = _pair(path, number, row, "premise", "hypothesis", "label")
        explanations = tuple(entailment.detokenised(row[name]) for name in EXPLANATIONS if row.get(name))
        image, mark, _ = row.get("unique_key", "").partition("#")
        if not (image and mark):  # without the image the parts could not be kept apart
            raise DataUnavailable(f"{path.name}, line {number}: expected a unique_key such as 12.jpg#0r1n, got {row}.")
        yield image, Example(pair.text, pair.pair, pair.label, explanations)


def revised_pairs(folder: Path) -> Iterator[Example]:
    for path in (folder.parent / name for name in REVISED):
        for number, row in tables.rows(path) if path.is_file() else ():
            yield _pair(path, number, row, "sentence1", "sentence2", "gold_label")


def unrelated(pairs: Iterable[Example], premises: Iterable[str]) -> Iterator[Example]:
    """The pairs whose premise neither equals one of `premises` nor shares `WINDOW` words in a row with one."""
    others = list(premises)
    equal, shared = {letters(other) for other in others}, {gram for other in others for gram in ngrams(other, WINDOW)}
    return (pair for pair in pairs if letters(pair.text) not in equal and not ngrams(pair.text, WINDOW) & shared)


def image_pairs(folder: Path, dev: list[ImagePair], forbidden: set[str]) -> Iterator[Example]:
    """New pairs of a dev premise and an e-SNLI-VE hypothesis about the same image, with its explanation.

    The label was given for the image, not for the premise, and may be wrong for the pair.
    """
    captions = {image: pair.text for image, pair in dev if image not in forbidden}
    keys = {(letters(pair.text), letters(pair.pair or "")) for _, pair in dev}
    for path in (folder.parent / name for name in ESNLIVE):
        for image, hypothesis in hypotheses(path) if path.is_file() else ():
            premise = captions.get(image)
            if premise is None or hypothesis.label is None:
                continue
            key = letters(premise), letters(hypothesis.text)
            if key not in keys:
                keys.add(key)
                yield Example(premise, hypothesis.text, hypothesis.label, hypothesis.explanations)


def image_sentences(folder: Path) -> Iterator[str]:
    """Every hypothesis and explanation of e-SNLI-VE beside `folder`, except for the images of the test file."""
    test = {image for image, _ in explained_pairs(folder / TEST)}
    for path in (folder.parent / name for name in ESNLIVE):
        for image, hypothesis in hypotheses(path) if path.is_file() else ():
            if image not in test:
                yield from (hypothesis.text, *hypothesis.explanations)


def _pair(path: Path, number: int, row: dict[str, str], premise: str, hypothesis: str, label: str) -> Example:
    if row.get(label) not in entailment.LABELS or not row.get(premise) or not row.get(hypothesis):
        expected = f"{premise}, {hypothesis} and {label} ({', '.join(entailment.LABELS)})"
        raise DataUnavailable(f"{path.name}, line {number}: expected {expected}, got {row}.")
    return Example(
        entailment.detokenised(row[premise]),
        entailment.detokenised(row[hypothesis]),
        entailment.LABELS.index(row[label]),
    )
