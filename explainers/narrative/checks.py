"""What can be checked about a narrative: whether its reason is true of the input, and whether the model uses its words.

used: p(class | input without the mentioned words) is below what is left without any other set of as many words, and at
least NOTICEABLE below p(class | input). The class is the one that the sentence states. Undecided where only sets that
share a word with the mentioned ones are as low: then some of these words count, but perhaps not all.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import comb, nan

import numpy as np
from numpy.typing import NDArray

from explainers.datasets.example import Example
from explainers.metrics.erasure import MaskedPredictor
from explainers.models.tasks import reason_truth
from explainers.narrative.sentences import reason_of
from explainers.results.narrative import NO_WORD, Narrative, NarrativeCheck

DRAWS = 40  # sets of random words; all of them where there are no more
FEWEST = 20  # other sets; one set in 21 is the lowest by luck, and with fewer more than that
NOTICEABLE = 0.01  # of a probability
SHARED = "only sets that contain one of the named words are as low, so perhaps not all of them count"
FEW = "there are only {there} other sets of as many words to compare with, and {needed} are needed"


def check_narrative(
    narrative: Narrative, answers: MaskedPredictor, example: Example, *, seed: int = 0
) -> NarrativeCheck:
    """Its truth by the rules of the model's task, and its use by erasing words with the operator of `answers`."""
    reason = reason_of(narrative.text)
    check = NarrativeCheck(narrative.method, true_note="it gives no reason")
    if reason:
        truth = reason_truth(answers.model.name, reason, example)
        check = replace(check, true=truth.true, true_note=truth.note)
    words = [number for number, unit in enumerate(answers.encoding.units) if unit.kind == "word"]
    mentioned = sorted(set(narrative.mentions) & set(words))
    if not mentioned:
        return replace(check, use_note=NO_WORD)
    return _with_use(check, narrative.stated, mentioned, words, answers, seed)


def _with_use(
    check: NarrativeCheck,
    stated: int | None,
    mentioned: list[int],
    words: list[int],
    answers: MaskedPredictor,
    seed: int,
) -> NarrativeCheck:
    others = other_sets(words, mentioned, seed)
    probabilities = answers.probabilities(_masks(len(answers.encoding.units), [(), mentioned, *others]))
    label = int(probabilities[0].argmax()) if stated is None else stated
    full, removed, *random = (float(p) for p in probabilities[:, label])
    check = replace(check, full=full, removed=removed, random_removed=tuple(random))
    if len(random) < FEWEST:
        return replace(check, use_note=FEW.format(needed=FEWEST, there=len(random)))
    if full - removed < NOTICEABLE or any(
        p <= removed for other, p in zip(others, random, strict=True) if not set(other) & set(mentioned)
    ):
        return replace(check, used=False)
    return replace(check, used=True) if removed < min(random) else replace(check, use_note=SHARED)


def named_word_effect(
    answers: MaskedPredictor,
    named: Sequence[int],
    among: Sequence[int],
    label: int,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> float:
    """How much further p(label) falls without the `named` units than, on average, without as many random ones `among`.

    nan where none of `among` is named, or there is no other set of them.
    """
    units = sorted(set(named) & set(among))
    others = other_sets(among, units, seed, draws) if units else []
    if not others:
        return nan
    removed, *random = answers.probabilities(_masks(len(answers.encoding.units), [units, *others]))[:, label]
    return float(np.mean(random) - removed)


def other_sets(words: Sequence[int], mentioned: Sequence[int], seed: int, draws: int = DRAWS) -> list[tuple[int, ...]]:
    """Sets of as many words as are mentioned, never exactly those: all of them, or `draws` at random."""
    if comb(len(words), len(mentioned)) <= draws + 1:
        return [combination for combination in combinations(words, len(mentioned)) if combination != tuple(mentioned)]
    rng, drawn = np.random.default_rng(seed), dict[tuple[int, ...], None]()
    while len(drawn) < draws:
        words_drawn = tuple(sorted(rng.choice(words, len(mentioned), replace=False).tolist()))
        if words_drawn != tuple(mentioned):
            drawn[words_drawn] = None
    return list(drawn)


def _masks(units: int, erased: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """(sets, units), true = kept."""
    keeps = np.ones((len(erased), units), dtype=bool)
    for row, numbers in enumerate(erased):
        keeps[row, list(numbers)] = False
    return keeps
