"""Do explanations find what a classifier should not have learned? CIMI's usefulness experiment (Wu et al., 2023, §4.7).

A classifier learns the newsgroup from raw mails and is tested on clean ones. A word is taken for a shortcut if it is
among the `TOP` most important words of mails that it learned from, and in no clean mail. For every method the `REMOVED`
words that are so most often are removed from all mails to learn from, and the classifier is trained anew. The better
the words, the higher its accuracy on clean mails.

Beside the methods stand words that need no explanation: those at random, and those that are in most mails. The paper
names neither the number of words nor the one of explained mails, and compares with no such control.

    FOLDER/trainings/   the classifiers      FOLDER/store/   what was fitted to the first of them
    FOLDER/words.json   the words by method  FOLDER/rows.jsonl   the test by words and seed: it goes on where it stopped
"""

import hashlib
import json
import os
import random
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
from explainers.studies.usefulness.mails import LABELS, Mails, read_mails, without, words_of

RECIPE = TextModelRecipe(epochs=3, batch=16, averaging=0.98, longest=128)
FITTED = ("cimi:zero", "ciem", "ivra", "aml")
METHODS = (*FITTED, "integrated_gradients", "gradient_x_input", "occlusion", "lime", "attention_mean")
LEARNED_FROM = 500  # mails of the methods that learn, a hundred of them to watch
SAMPLES = 100  # masks of LIME
EXPLAINED = 100  # mails
TOP = 10  # words of each
REMOVED = 100  # words
NONE, RANDOM, FREQUENT, EVERY = "none", "random", "frequent", "every"
STORED = ASSETS / "studies" / "usefulness.json"
Note = Callable[[str], None]
Words = dict[str, list[str]]


def measure_usefulness(data: Path, folder: Path, seeds: Sequence[int], note: Note) -> dict[str, Any]:
    """Train, explain and test what is missing in `folder`, and write the results. Returns them.

    Raises `DataUnavailable` without the mails.
    """
    os.environ[STORE_VARIABLE] = str(folder.resolve() / "store")  # of this process, which does nothing else
    mails = read_mails(data)
    words = _words(mails, folder, note)
    rows = resume_records(folder / "rows.jsonl", None)
    done = {(row["words"], row["seed"]) for row in rows}
    with appending(folder / "rows.jsonl") as append:
        for seed in seeds:
            for name, removed in words.items():
                if (name, seed) in done:
                    continue
                model = _trained(mails, removed, seed, folder)
                clean, raw = correct(model, mails.test), correct(model, mails.validation)
                row = {"words": name, "seed": seed, "clean": clean, "raw": raw}
                note(f"{name}, seed {seed}: clean {share(clean):.3f}, raw {share(raw):.3f}")
                append(row)
                rows = [*rows, row]
    content = {
        "data": {"train": len(mails.train), "clean": len(mails.test), "raw": len(mails.validation)},
        "recipe": asdict(RECIPE),
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
    path = folder / "words.json"
    if path.is_file():
        return dict(json.loads(path.read_text(encoding="utf-8")))
    model = _trained(mails, (), 0, folder)
    fit_missing(model, mails.train[:LEARNED_FROM], folder / "fits", note, FITTED)
    explained = [mail for mail in mails.train if model.encode(mail).units][:EXPLAINED]
    words: Words = {NONE: [], **controls(mails)}
    for id in METHODS:
        tops = [top_words(model, mail, id) for mail in explained]
        words[id] = most_common(tops, mails)
        note(f"{id}: {' '.join(words[id][:10])}")
    path.write_text(json.dumps(words), encoding="utf-8")
    return words


def controls(mails: Mails) -> Words:
    """Return the words that need no explanation: at random, those of most mails, and all that are in no clean mail."""
    found = [set(words_of(mail.text)) for mail in mails.train]
    candidates = sorted(set().union(*found) - mails.vocabulary)
    return {
        RANDOM: random.Random(0).sample(candidates, min(REMOVED, len(candidates))),
        FREQUENT: most_common(found, mails),
        EVERY: candidates,
    }


def top_words(model: FrozenModel, mail: Example, method: str) -> set[str]:
    """Return the `TOP` words with the highest scores for the predicted class, by the highest score of each."""
    settings = Settings(sampling="captum", samples=SAMPLES)
    decision, _ = decide(model, replace(mail, label=None), settings=settings)
    (spec,) = select((method,))
    *_, attribution = runner.estimates(spec, model, decision, calls.Meter())
    best: dict[str, float] = {}
    for unit, score in zip(decision.encoding.units, attribution.scores, strict=True):
        for word in words_of(unit.text):
            best[word] = max(score, best.get(word, -np.inf))
    return set(sorted(best, key=lambda word: (-best[word], word))[:TOP])


def most_common(found: Iterable[Iterable[str]], mails: Mails) -> list[str]:
    """Return the `REMOVED` words that were found most often and are in no clean mail; of equal ones those that are in
    more of the mails to learn from."""
    counts = Counter(word for words in found for word in words if word not in mails.vocabulary)
    mails_with = Counter(word for mail in mails.train for word in set(words_of(mail.text)))
    return sorted(counts, key=lambda word: (-counts[word], -mails_with[word], word))[:REMOVED]


def _trained(mails: Mails, removed: Sequence[str], seed: int, folder: Path) -> FrozenModel:
    """Return the classifier that learned from the mails without these words."""
    recipe = replace(RECIPE, seed=seed)
    train = without(mails.train, frozenset(removed))
    content = json.dumps([asdict(recipe), [(mail.text, mail.label) for mail in train]])
    run = folder / "trainings" / hashlib.sha256(content.encode()).hexdigest()[:12]
    bundle = run / "bundle"
    if not (bundle / bundle_cards.CARD).is_file():
        splits = Splits(train, mails.validation, mails.test)
        task = tasks.TrainingData(
            labels=LABELS,
            data="20 Newsgroups (Lang, 1995)",
            licence="public",
            split_rule="random parts",
            read=lambda _folder: splits,
        )
        make_text_bundle("mails", task, None, recipe, bundle, run, resume=(run / CHECKPOINT).is_file())
    return load_bundle(bundle, torch.device("cpu"))
