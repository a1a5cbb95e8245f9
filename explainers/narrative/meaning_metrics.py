"""Metrics of what generated sentences say about their own input, as pure functions.

Content words are the words of a sentence that carry meaning, without class names, compared by their stems. An input is
compared with others of the same predicted class only, so that knowing the class alone gains nothing.
"""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from math import comb, nan

import numpy as np

from explainers.narrative.content_words import content, stem, words
from explainers.narrative.sentences import reason_of, without_label
from explainers.narrative.text_metrics import Floats

SHUFFLES = 5  # other inputs with which a sentence is compared
CHOICES = 10  # inputs among which the own one is picked
SAMPLE = 100  # sentences among which different ones are counted


def content_stems(sentence: str, labels: Sequence[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in content(without_label(sentence, labels)))


def other_inputs(
    texts: Sequence[str], classes: Sequence[int], most: int, *, seed: int = 0
) -> tuple[tuple[int, ...], ...]:
    """For each input up to `most` different inputs of its class with another text, at random; fewer if there are."""
    rng = np.random.default_rng(seed)
    rows = []
    for text, label in zip(texts, classes, strict=True):
        others = [at for at, other in enumerate(classes) if other == label and texts[at] != text]
        rows.append(tuple(rng.permutation(others)[:most].tolist()))
    return tuple(rows)


def shares(
    sentences: Sequence[str], texts: Sequence[str], others: Sequence[Sequence[int]], labels: Sequence[str]
) -> tuple[Floats, Floats]:
    """The share of each sentence's content words that stand in its own input, and the mean share over the others.

    Each (n,); nan for an item without others. A sentence without content words has the shares 0.
    """
    inputs = [{stem(word) for word in words(text)} for text in texts]
    own, elsewhere = np.full(len(texts), nan), np.full(len(texts), nan)
    for number, (sentence, row) in enumerate(zip(sentences, others, strict=True)):
        if row:
            stems = content_stems(sentence, labels)
            own[number] = _share(stems, inputs[number])
            elsewhere[number] = np.mean([_share(stems, inputs[other]) for other in row])
    return own, elsewhere


def picked(
    sentences: Sequence[str], texts: Sequence[str], others: Sequence[Sequence[int]], labels: Sequence[str]
) -> Floats:
    """(n,): 1 where the own input, of ten of its class, shares the most content words with the sentence.

    1/ties where several do; nan for an item with fewer than nine others. By chance it is 0.1.
    """
    inputs = [{stem(word) for word in words(text)} for text in texts]
    hits = np.full(len(texts), nan)
    for number, (sentence, row) in enumerate(zip(sentences, others, strict=True)):
        if len(row) >= CHOICES - 1:
            stems = content_stems(sentence, labels)
            shared = [len(stems & inputs[at]) for at in (number, *row[: CHOICES - 1])]
            hits[number] = (shared[0] == max(shared)) / shared.count(max(shared))
    return hits


def longest_copy(sentence: str, text: str) -> float:
    """The longest run of words that the reason of a sentence takes from the text, as a share of the reason's words."""
    reason, source = words(reason_of(sentence)), words(text)
    match = SequenceMatcher(None, reason, source, autojunk=False).find_longest_match()
    return match.size / max(len(reason), 1)


def distinct_per_sample(sentences: Sequence[str], size: int = SAMPLE) -> float:
    """How many different sentences `size` of them are expected to hold, drawn without replacement (rarefaction).

    It does not depend on how many sentences there are; nan of fewer than `size`.
    """
    n = len(sentences)
    if n < size:
        return nan
    counts = Counter(" ".join(words(each)) for each in sentences)
    return sum(1 - comb(n - count, size) / comb(n, size) for count in counts.values())


def _share(stems: frozenset[str], text: set[str]) -> float:
    return len(stems & text) / max(len(stems), 1)
