"""e-SNLI (Camburu et al., 2018): does a premise entail a hypothesis, leave it open (neutral) or contradict it, and why.

Three people explained every pair of the dev and test files. The dev pairs train (those of some pictures, whose
captions the premises are, are held out for validation), test_a is the test. Where they are at hand, two more sets join:

- SNLI pairs with counterfactual revisions (Kaushik et al., 2020; its test part is left out, it is SNLI's test): they
  train too, unless the premise shares seven words in a row with a test premise.
- e-SNLI-VE (Do et al., 2021): hypotheses about pictures. Where a dev premise is a caption of the picture, premise and
  hypothesis make a pair that SNLI does not have: these stay unlabelled for the methods that learn to explain.
"""

import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from explainers.datasets import tables
from explainers.datasets.example import Example, Splits
from explainers.datasets.pictures.annotation import inside, table
from explainers.datasets.sst2 import grams, letters
from explainers.errors import DataUnavailable

LABELS = ("entailment", "neutral", "contradiction")
DEV, TEST = "dev.tsv.gz", "test_a.tsv.gz"
REVISED = ("cad_nli/train.tsv.gz", "cad_nli/dev.tsv.gz")
PICTURES = ("esnlive/esnlive_dev.csv.gz", "esnlive/esnlive_test.csv.gz")
PICTURE_COLUMNS = ("Flickr30kID", "hypothesis", "gold_label", "explanation")
EXPLANATIONS = ("explanation1", "explanation2", "explanation3")
WINDOW = 7  # words in a row that make two premises kin
Keyed = tuple[str, Example]  # with the picture's name


def read(folder: Path | None, *, validation: int = 500, seed: int = 0) -> Splits:
    """From a folder that holds `DEV` and `TEST`, and beside it, where they are, `REVISED` and `PICTURES`."""
    if folder is None:
        raise DataUnavailable(f"e-SNLI needs a folder that holds {DEV} and {TEST}; give it with --data.")
    missing = [name for name in (DEV, TEST) if not (folder / name).is_file()]
    if missing:
        raise DataUnavailable(f"{folder} holds no {missing[0]}. e-SNLI needs the files {DEV} and {TEST}.")
    dev, test = list(explained(folder / DEV)), list(explained(folder / TEST))
    pictures = sorted({picture for picture, _ in dev})
    random.Random(seed).shuffle(pictures)
    held_out: set[str] = set()
    while pictures and sum(picture in held_out for picture, _ in dev) < validation:
        held_out.add(pictures.pop())
    train = [pair for picture, pair in dev if picture not in held_out]
    return Splits(
        tuple(train + list(unrelated(revised(folder), (pair.text for _, pair in test)))),
        tuple(pair for picture, pair in dev if picture in held_out),
        tuple(pair for _, pair in test),
        explainer=tuple(of_pictures(folder, dev, held_out | {picture for picture, _ in test})),
    )


def explained(path: Path) -> Iterator[Keyed]:
    """The pairs of one e-SNLI file in its order, each with its picture and the people's explanations."""
    for number, row in tables.rows(path):
        pair = _pair(path, number, row, "premise", "hypothesis", "label")
        said = tuple(untokenised(row[name]) for name in EXPLANATIONS if row.get(name))
        picture, mark, _ = row.get("unique_key", "").partition("#")
        if not (picture and mark):  # without the picture nobody could tell the parts apart
            raise DataUnavailable(f"{path.name}, line {number}: expected a unique_key such as 12.jpg#0r1n, got {row}.")
        yield picture, Example(pair.text, pair.pair, pair.label, said)


def revised(folder: Path) -> Iterator[Example]:
    for path in (folder.parent / name for name in REVISED):
        for number, row in tables.rows(path) if path.is_file() else ():
            yield _pair(path, number, row, "sentence1", "sentence2", "gold_label")


def unrelated(pairs: Iterable[Example], premises: Iterable[str]) -> Iterator[Example]:
    """The pairs whose premise is neither equal to one of `premises` nor shares `WINDOW` words in a row with one."""
    known = list(premises)
    same, kin = {letters(each) for each in known}, {gram for each in known for gram in grams(each, WINDOW)}
    return (pair for pair in pairs if letters(pair.text) not in same and not grams(pair.text, WINDOW) & kin)


def of_pictures(folder: Path, dev: list[Keyed], forbidden: set[str]) -> Iterator[Example]:
    """New pairs of a dev premise and an e-SNLI-VE hypothesis about the same picture, with the explanation given there.

    Their label was given to the picture, not to the premise, and may be wrong for the pair.
    """
    captions = {picture: pair.text for picture, pair in dev if picture not in forbidden}
    known = {(letters(pair.text), letters(pair.pair or "")) for _, pair in dev}
    for path in (folder.parent / name for name in PICTURES):
        for picture, about in about_pictures(path) if path.is_file() else ():
            premise = captions.get(picture)
            if premise is None or about.label is None:
                continue
            key = letters(premise), letters(about.text)
            if key not in known:
                known.add(key)
                yield Example(premise, about.text, about.label, about.explanations)


def about_pictures(path: Path) -> Iterator[Keyed]:
    """The hypotheses of one e-SNLI-VE file, each with what people said; where no label is given, there is none."""
    for number, row in table(path, PICTURE_COLUMNS):
        picture, hypothesis, label, said = (row[name] for name in PICTURE_COLUMNS)
        if not picture or not hypothesis or label not in ("", *LABELS):
            wanted = f"{', '.join(PICTURE_COLUMNS[:3])} ({', '.join(LABELS)})"
            raise DataUnavailable(f"{path.name}, line {number}: expected {wanted}, got {row}.")
        explanations = (untokenised(said),) if said else ()
        place = LABELS.index(label) if label else None
        where = f"{path.name}, line {number}"
        yield inside(picture, where), Example(untokenised(hypothesis), label=place, explanations=explanations)


def sentences(folder: Path) -> Iterator[str]:
    """Every hypothesis and explanation of e-SNLI-VE beside `folder`, and nothing of a picture in the test file."""
    test = {picture for picture, _ in explained(folder / TEST)}
    for path in (folder.parent / name for name in PICTURES):
        for picture, about in about_pictures(path) if path.is_file() else ():
            if picture not in test:
                yield from (about.text, *about.explanations)


def untokenised(text: str) -> str:
    """As people write: the spaces that the Penn Treebank's tokenisation puts before marks are closed."""
    text = text.replace("``", '"').replace("''", '"').replace("-LRB-", "(").replace("-RRB-", ")").strip()
    text = re.sub(r"\s+(n't|'(?:s|re|ve|ll|d|m)\b)", r"\1", text)
    text = re.sub(r"\s+([.,;:!?%)])", r"\1", text)
    return re.sub(r"\(\s+", "(", text)


def _pair(path: Path, number: int, row: dict[str, str], premise: str, hypothesis: str, label: str) -> Example:
    if row.get(label) not in LABELS or not row.get(premise) or not row.get(hypothesis):
        wanted = f"{premise}, {hypothesis} and {label} ({', '.join(LABELS)})"
        raise DataUnavailable(f"{path.name}, line {number}: expected {wanted}, got {row}.")
    return Example(untokenised(row[premise]), untokenised(row[hypothesis]), LABELS.index(row[label]))
