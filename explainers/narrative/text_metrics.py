"""Metrics of generated sentences, as pure functions.

Agreement and CCMR are macro F1 over the items whose sentences state a class; the share that does stands beside them,
because F1 ignores the others. The composite is the harmonic mean of CCMR and that share.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from explainers.narrative.content_words import content, stem, words
from explainers.narrative.sentences import without_label

Floats = NDArray[np.float64]
NONE = -1  # the class of a sentence that states none


def voted(classes: Sequence[int]) -> int:
    """The class that most of several sentences state, of those that state one; the first of equals; NONE if none do."""
    counted = Counter(class_name for class_name in classes if class_name != NONE)
    return max(counted, key=lambda name: counted[name]) if counted else NONE


def confusion(truth: Sequence[int], stated: Sequence[int], classes: int) -> Floats:
    """(n, C·C): for each item a 1 at truth·C + stated; all zeros where no class is stated."""
    counts = np.zeros((len(truth), classes * classes))
    for row, (one, other) in enumerate(zip(truth, stated, strict=True)):
        if other != NONE:
            counts[row, one * classes + other] = 1
    return counts


def macro_f1(counts: Floats) -> Floats:
    """From counts (…, C·C) to the mean F1 of the classes that are there, (…)."""
    classes = round(counts.shape[-1] ** 0.5)
    table = counts.reshape(*counts.shape[:-1], classes, classes)
    hits = np.diagonal(table, axis1=-2, axis2=-1)
    both = table.sum(-1) + table.sum(-2)
    present = both > 0
    f1 = np.divide(2 * hits, both, out=np.zeros_like(both), where=present)
    return np.asarray(f1.sum(-1) / np.maximum(present.sum(-1), 1))


def composite(f1: Floats, share: Floats) -> Floats:
    """The harmonic mean."""
    both = f1 + share
    return np.asarray(np.divide(2 * f1 * share, both, out=np.zeros_like(both), where=both > 0))


def bleu(sentences: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """BLEU-1…4 of a corpus in 0…1 (sacrebleu, lower case), each sentence against all its references; nan of none."""
    from sacrebleu.metrics.bleu import BLEU

    if not references:
        return {f"bleu_{order}": float("nan") for order in range(1, 5)}
    most = max(map(len, references))
    columns = [[row[min(at, len(row) - 1)] for row in references] for at in range(most)]  # fewer: the last again
    scores = {}
    for order in range(1, 5):
        scorer = BLEU(lowercase=True, max_ngram_order=order, effective_order=False)
        scores[f"bleu_{order}"] = scorer.corpus_score(list(sentences), columns).score / 100
    return scores


def sentence_bleu(text: str, references: Sequence[str]) -> float:
    """Smoothed BLEU-4 of one text in 0…1 (sacrebleu, lower case) against all references; 0 where either is missing."""
    from sacrebleu.metrics.bleu import BLEU

    given = [reference for reference in references if reference.strip()]
    if not text.strip() or not given:
        return 0.0
    return float(BLEU(lowercase=True, effective_order=True).sentence_score(text, given).score / 100)


def distinct(sentences: Sequence[str], order: int) -> float:
    """Distinct-n: different n-grams per n-gram, over all sentences."""
    grams = [tuple(row[at : at + order]) for row in map(words, sentences) for at in range(len(row) - order + 1)]
    return len(set(grams)) / max(len(grams), 1)


def copied(sentences: Sequence[str], learned_from: Sequence[str]) -> float:
    """Copy rate: the share of sentences that stand word for word among those that were learned from."""
    training_sentences = {" ".join(words(sentence)) for sentence in learned_from}
    return sum(" ".join(words(sentence)) in training_sentences for sentence in sentences) / max(len(sentences), 1)


def word_for_word(sentences: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """The share of sentences that equal one of their references; sentences without references do not count."""
    rows = [(sentence, row) for sentence, row in zip(sentences, references, strict=True) if row]
    equal = (words(sentence) in [words(text) for text in row] for sentence, row in rows)
    return sum(equal) / len(rows) if rows else math.nan


def mentioned(sentence: str, text: str) -> float:
    """The share of the sentence's content words that stand in the text."""
    content_words = content(sentence)
    stems = {stem(word) for word in words(text)}
    return sum(stem(word) in stems for word in content_words) / max(len(content_words), 1)


def simulatability(sentences: Sequence[str], classes: Sequence[int], labels: Sequence[str], *, seed: int = 0) -> float:
    """How well the class can be told from the sentences once every class name is taken out: accuracy.

    A bag-of-words reader (tf-idf, logistic regression) learns it on four fifths and is asked about the rest, in turn.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline

    counted = Counter(classes)
    folds = min(5, *counted.values())
    if folds < 2 or len(counted) < 2:
        return float("nan")
    reader = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), min_df=2), LogisticRegression(max_iter=1000, C=10))
    bare = [without_label(sentence, labels) for sentence in sentences]
    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    return float(cross_val_score(reader, bare, list(classes), cv=split).mean())
