"""Do explanations find what a classifier should not have learned? CIMI's usefulness experiment (Wu et al., 2023, §4.7).

A classifier learns the newsgroup from raw mails and is tested on clean ones. A word is taken for a shortcut if it is
among the `TOP` most important words of mails, and in no clean mail. For every method the `REMOVED` words that are so
most often are removed from all mails to learn from, and the classifier is trained anew. The better the words, the
higher its accuracy on clean mails.

Two controls go the same way: a random order of the words of each mail, and all words of the explained mails, so that
the most frequent ones are removed. The paper has neither, and names neither the number of words nor the one of
explained mails; it takes the words of the test for clean, here they are those of other clean mails.

    FOLDER/trainings/   the classifiers      FOLDER/store/   what was fitted to the first of them
    FOLDER/words-….json   the words by method, for these settings
    FOLDER/rows.jsonl     the test by words and seed: it goes on where it stopped
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from explainers.comparison import runner
from explainers.comparison.decision import decide
from explainers.datasets.example import Example, Splits
from explainers.evaluation.record_file import appending, resume_records
from explainers.installation import ASSETS, STORE_VARIABLE
from explainers.methods.registry import select
from explainers.models import bundle_cards, calls, tasks
from explainers.models.frozen_model import FrozenModel
from explainers.models.text.bundle import load_bundle
from explainers.models.text.recipe import TextModelRecipe
from explainers.models.text.training import CHECKPOINT, make_text_bundle
from explainers.results.decision import Settings
from explainers.results.manifest import libraries
from explainers.studies.papers import fit_missing
from explainers.studies.usefulness.mails import LABELS, LONGEST, Mails, read, read_mails, without, words_of

RECIPE = TextModelRecipe(epochs=3, batch=16, averaging=0.98, longest=256)  # more tokens than a mail has
FITTED = ("cimi:zero", "ciem", "ivra", "aml")
METHODS = (*FITTED, "integrated_gradients", "gradient_x_input", "occlusion", "lime", "attention_mean", "random")
SAMPLES = 100  # masks of LIME, for which KernelSHAP would need as many again
EXPLAINED = 100  # mails; the methods that learn do so from the others
TOP = 10  # words of each
REMOVED = 100  # words
NONE, FREQUENT = "none", "frequent"
STORED = ASSETS / "studies" / "usefulness.json"
Note = Callable[[str], None]
Words = dict[str, list[str]]


def settings() -> dict[str, Any]:
    """Return what the words of the methods depend on, besides the mails."""
    return {
        "explained": EXPLAINED,
        "top": TOP,
        "removed": REMOVED,
        "LIME's masks": SAMPLES,
        "read": LONGEST,
        "methods": METHODS,
        "recipe": asdict(RECIPE),
    }


def measure_usefulness(data: Path, folder: Path, seeds: Sequence[int], note: Note) -> dict[str, Any]:
    """Train, explain and test what is missing in `folder`, and write the results. Returns them.

    Raises `DataUnavailable` without the mails.
    """
    os.environ[STORE_VARIABLE] = str(folder.resolve() / "store")  # of this process, which does nothing else
    mails = read_mails(data)
    words = _words(mails, folder, note)
    rows = []
    known = {(row["words"], row["seed"], row["training"]): row for row in resume_records(folder / "rows.jsonl", None)}
    with appending(folder / "rows.jsonl") as append:
        for seed in seeds:
            for name, removed in words.items():
                run = training_of(mails, removed, seed, folder)
                row = known.get((name, seed, run.name))
                if row is None:
                    model = trained(mails, removed, seed, run)
                    clean, raw = correct(model, mails.test), correct(model, mails.validation)
                    row = {"words": name, "seed": seed, "training": run.name, "clean": clean, "raw": raw}
                    note(f"{name}, seed {seed}: clean {share(clean):.3f}, raw {share(raw):.3f}")
                    append(row)
                rows.append(row)
    content = {
        "data": {"train": len(mails.train), "clean": len(mails.test), "raw": len(mails.validation)},
        "settings": settings(),
        "words": words,
        "rows": rows,
        "libraries": libraries(),
    }
    STORED.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return content


def correct(model: FrozenModel, mails: Iterable[Example]) -> str:
    """Return a digit per mail: 1 where its class is the most probable one, else 0."""
    right = ""
    for mail in mails:
        encoding = model.encode(mail)
        everything = np.ones((1, len(encoding.units)), dtype=bool)
        right += str(int(model.probabilities(encoding, everything).argmax() == mail.label))
    return right


def share(digits: str) -> float:
    """Return the share of ones."""
    return digits.count("1") / len(digits)


def _words(mails: Mails, folder: Path, note: Note) -> Words:
    """Return the words to remove by method and control, from explanations of the classifier that learned all words."""
    path = folder / f"words-{_digest(settings())}.json"
    if path.is_file():
        return dict(json.loads(path.read_text(encoding="utf-8")))
    model = trained(mails, (), 0, training_of(mails, (), 0, folder))
    explained = [read(mail) for mail in mails.train[:EXPLAINED]]
    fit_missing(model, [read(mail) for mail in mails.train[EXPLAINED:]], folder / "fits", note, FITTED)
    words: Words = {NONE: [], FREQUENT: most_common([set(words_of(mail.text)) for mail in explained], mails.vocabulary)}
    for id in METHODS:
        words[id] = most_common([top_words(model, mail, id) for mail in explained], mails.vocabulary)
        note(f"{id}: {' '.join(words[id][:10])}")
    path.write_text(json.dumps(words), encoding="utf-8")
    return words


def top_words(model: FrozenModel, mail: Example, method: str) -> set[str]:
    """Return the `TOP` words with the highest scores for the predicted class, by the highest score of each."""
    decision, _ = decide(model, replace(mail, label=None), settings=Settings(sampling="captum", samples=SAMPLES))
    (spec,) = select((method,))
    *_, attribution = runner.estimates(spec, model, decision, calls.Meter())
    best: dict[str, float] = {}
    for unit, score in zip(decision.encoding.units, attribution.scores, strict=True):
        for word in words_of(unit.text):
            best[word] = max(score, best.get(word, -np.inf))
    return set(sorted(best, key=lambda word: (-best[word], word))[:TOP])


def most_common(found: Iterable[Iterable[str]], vocabulary: frozenset[str]) -> list[str]:
    """Return the `REMOVED` words that were found in most mails and are in no clean one; equal ones in a random order,
    the same for every method."""
    counts = Counter(word for words in found for word in words if word not in vocabulary)
    return sorted(counts, key=lambda word: (-counts[word], _digest(word)))[:REMOVED]


def training_of(mails: Mails, removed: Sequence[str], seed: int, folder: Path) -> Path:
    """Return the folder of the classifier that learns from the mails without these words."""
    texts = [(mail.text, mail.label) for mail in _without(mails, removed)]
    return folder / "trainings" / _digest([asdict(replace(RECIPE, seed=seed)), texts])


def trained(mails: Mails, removed: Sequence[str], seed: int, run: Path) -> FrozenModel:
    """Return the classifier in the folder `run`, which is trained where it is not there."""
    bundle = run / "bundle"
    if not (bundle / bundle_cards.CARD).is_file():
        splits = Splits(_without(mails, removed), mails.validation, mails.test)
        task = tasks.TrainingData(
            labels=LABELS,
            data="20 Newsgroups (Lang, 1995)",
            licence="public",
            split_rule="random parts",
            read=lambda _folder: splits,
        )
        recipe = replace(RECIPE, seed=seed)
        make_text_bundle("mails", task, None, recipe, bundle, run, resume=(run / CHECKPOINT).is_file())
    return load_bundle(bundle, torch.device("cpu"))


def _without(mails: Mails, removed: Sequence[str]) -> tuple[Example, ...]:
    words = frozenset(removed)
    return tuple(without(mail, words) for mail in mails.train)


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]
