"""A judge of sentences by word overlap with an attribution, and the points that narrators get from it.

A sentence is judged by the words M of the input that it mentions, and by T, the top 20 % of the input's words, at least
one, by their scores for the predicted class:

    F1 = 2 |M ∩ T| / (|M| + |T|),   which naming many words lowers unless they are top words

Of k narrators the best for an input gets k - 1 points and the worst 0; equal ones share the mean of their places.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explainers.metrics.modalities import units_of_kind
from explainers.models.inputs.encoding import Encoding
from explainers.narrative.content_words import content
from explainers.narrative.text_metrics import Floats
from explainers.results.attribution import Attribution, ranking

ONE_IN = 5  # words is a top word
Units = frozenset[int]


@dataclass(frozen=True)
class WordJudgement:
    """Of one input; by narrator, a value for the sentence of each seed."""

    overlaps: Mapping[str, tuple[float, ...]]  # F1
    named: Mapping[str, tuple[int, ...]]  # numbers of mentioned words
    top: int  # number of top words
    content: int  # number of content words, which a sentence can mention
    content_top: int  # of these, top words


def judged(attribution: Attribution, named: Mapping[str, Sequence[Units]]) -> WordJudgement:
    """`named` are the units that each narrator's sentences mention."""
    top, nameable = top_words(attribution), content_units(attribution.encoding)
    return WordJudgement(
        {method: tuple(overlap(each, top) for each in mine) for method, mine in named.items()},
        {method: tuple(map(len, mine)) for method, mine in named.items()},
        len(top),
        len(nameable),
        len(nameable & top),
    )


def top_words(attribution: Attribution) -> Units:
    """The ⌈20 %⌉ of all words with the highest scores; none without words."""
    words = units_of_kind(attribution.encoding, "word")
    order = ranking(tuple(attribution.scores[word] for word in words))
    return frozenset(words[place] for place in order[: math.ceil(len(words) / ONE_IN)])


def content_units(encoding: Encoding) -> Units:
    words = units_of_kind(encoding, "word")
    return frozenset(word for word in words if content(encoding.units[word].text))


def overlap(named: Units, top: Units) -> float:
    """F1 of two sets of units; 0 where either is empty."""
    return f1(len(named & top), len(named), len(top))


def f1(hits: int, named: int, top: int) -> float:
    return 2 * hits / max(named + top, 1)


def points(overlaps: Sequence[float]) -> Floats:
    """Of each of k narrators, 0 … k - 1."""
    return np.array([points_against(each, overlaps) - 0.5 for each in overlaps])  # each equals itself


def points_against(value: float, rivals: Sequence[float]) -> float:
    return sum(1.0 if value > rival else 0.5 if value == rival else 0.0 for rival in rivals)


def expected_points(named: int, judgement: WordJudgement, rivals: Sequence[float]) -> float:
    """Of a sentence that mentions `named` random content words, exactly; the number of hits is hypergeometric.

    A sentence mentions content words only, so random words of all kinds would be an easier control.
    """
    others = judgement.content - judgement.content_top
    return sum(
        math.comb(judgement.content_top, hits)
        * math.comb(others, named - hits)
        / math.comb(judgement.content, named)
        * points_against(f1(hits, named, judgement.top), rivals)
        for hits in range(min(named, judgement.content_top) + 1)
    )
