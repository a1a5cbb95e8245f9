"""e-SNLI (Camburu et al., 2018): does a premise entail a hypothesis, leave it open (neutral) or contradict it, and why.

Three people explained every pair of the dev and test files. The dev pairs are the training part, except those of some
images (the premises are captions of images), which are held out for validation; test_a is the test part. Two more
sets join where they are available:

- SNLI pairs with counterfactual revisions (Kaushik et al., 2020; without its test part, which is SNLI's test): they
  join the training, unless the premise shares seven words in a row with a test premise.
- e-SNLI-VE (Do et al., 2021): hypotheses about images. A dev premise that is a caption of the image and the
  hypothesis make a pair that SNLI does not have: these stay unlabelled for the methods that learn to explain.
"""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from explainers.datasets import tables
from explainers.datasets.entailment import LABELS, detokenised
from explainers.datasets.example import Example, Splits
from explainers.datasets.images.sets import hypotheses
from explainers.datasets.sst2 import letters, ngrams
from explainers.errors import DataUnavailable

DEV, TEST = "dev.tsv.gz", "test_a.tsv.gz"
REVISED = ("cad_nli/train.tsv.gz", "cad_nli/dev.tsv.gz")
ESNLIVE = ("esnlive/esnlive_dev.csv.gz", "esnlive/esnlive_test.csv.gz")
EXPLANATIONS = ("explanation1", "explanation2", "explanation3")
WINDOW = 7  # premises that share so many words in a row are related
ImagePair = tuple[str, Example]  # the image's file name, and the pair


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
        explanations = tuple(detokenised(row[name]) for name in EXPLANATIONS if row.get(name))
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
    if row.get(label) not in LABELS or not row.get(premise) or not row.get(hypothesis):
        expected = f"{premise}, {hypothesis} and {label} ({', '.join(LABELS)})"
        raise DataUnavailable(f"{path.name}, line {number}: expected {expected}, got {row}.")
    return Example(detokenised(row[premise]), detokenised(row[hypothesis]), LABELS.index(row[label]))
