"""The tournament of narrators (CAuSE's Table 7), with word overlap as a declared stand-in for the paper's judge.

There a multimodal language model ranks the sentences by how well they reflect the classifier's prediction and its LIME
attribution. Here the ranking is by F1 between the words that a sentence mentions and the top words of LIME, and once
more of KernelSHAP. Chance is what a sentence that mentions as many random content words would get, among the same
rivals.

A judge of sentences by word overlap with an attribution, and the points that narrators get from it.

A sentence is judged by the words M of the input that it mentions, and by T, the top 20 % of the input's words, at least
one, by their scores for the predicted class:

    F1 = 2 |M ∩ T| / (|M| + |T|),   which naming many words lowers unless they are top words

Of k narrators the best for an input gets k - 1 points and the worst 0; equal ones share the mean of their places.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from explainers.comparison.decision import card_of, encode_units
from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation import measurement, narrator_metrics
from explainers.evaluation.narrators import NarratorRun
from explainers.methods.registry import method_spec
from explainers.metrics import bootstrap, erasure
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.narrative import content_words, text_metrics
from explainers.narrative.narrate import mentions
from explainers.results.attribution import Attribution, ranking
from explainers.results.decision import Decision, Settings

ONE_IN = 5  # words is a top word
Units = frozenset[int]


@dataclass(frozen=True)
class WordJudgement:
    """The judgement of one input; by narrator, a value for the sentence of each seed."""

    overlaps: Mapping[str, tuple[float, ...]]  # F1
    named: Mapping[str, tuple[int, ...]]  # numbers of mentioned words
    top: int  # number of top words
    content: int  # number of content words, which a sentence can mention
    content_top: int  # of these, top words


def judged(attribution: Attribution, named: Mapping[str, Sequence[Units]]) -> WordJudgement:
    """`named` are the units that each narrator's sentences mention."""
    top, nameable = top_words(attribution), content_units(attribution.encoding)
    return WordJudgement(
        {method: tuple(overlap(words, top) for words in mine) for method, mine in named.items()},
        {method: tuple(map(len, mine)) for method, mine in named.items()},
        len(top),
        len(nameable),
        len(nameable & top),
    )


def top_words(attribution: Attribution) -> Units:
    """The ⌈20 %⌉ of all words with the highest scores; none without words."""
    words = erasure.units_of_kind(attribution.encoding, "word")
    order = ranking(tuple(attribution.scores[word] for word in words))
    return frozenset(words[place] for place in order[: math.ceil(len(words) / ONE_IN)])


def content_units(encoding: Encoding) -> Units:
    words = erasure.units_of_kind(encoding, "word")
    return frozenset(word for word in words if content_words.content(encoding.units[word].text))


def overlap(named: Units, top: Units) -> float:
    """F1 of two sets of units; 0 where either is empty."""
    return f1(len(named & top), len(named), len(top))


def f1(hits: int, named: int, top: int) -> float:
    return 2 * hits / max(named + top, 1)


def points(overlaps: Sequence[float]) -> text_metrics.Floats:
    """The points of each of k narrators, 0 … k - 1."""
    return np.array([points_against(overlap, overlaps) - 0.5 for overlap in overlaps])  # each equals itself


def points_against(value: float, rivals: Sequence[float]) -> float:
    return sum(1.0 if value > rival else 0.5 if value == rival else 0.0 for rival in rivals)


def expected_points(named: int, judgement: WordJudgement, rivals: Sequence[float]) -> float:
    """The expected points of a sentence with `named` random content words, exactly; hits are hypergeometric.

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


JUDGES = ("lime", "kernel_shap")
PAPER, ALL = "paper", "all"  # which narrators compete
Runs = dict[str, list[NarratorRun]]


def check_competitors(methods: Sequence[str]) -> None:
    """Raises `ExplanationError` for fewer than two narrators."""
    if len(methods) < 2:
        raise ExplanationError("A tournament needs at least two narrators. Name more with --methods, or omit it.")


def run_tournament(
    model: FrozenModel,
    inputs: Sequence[Example],
    predicted: Sequence[int],
    runs: Runs,
    progress: Callable[[str], None],
    settings: Settings | None = None,
) -> dict[str, Any]:
    """A table per judge for the paper's three narrators, and one for all where there are others.

    `predicted` and the sentences of `runs` begin with those of the inputs, and may go on. A narrator with one training
    competes with it against every training of the others. Costs the passes of both judges per input.
    """
    settings, started = settings or Settings(), time.monotonic()
    most = max(map(len, runs.values()))
    runs = {method: mine if len(mine) == most else mine[:1] * most for method, mine in runs.items()}
    by_judge: dict[str, list[WordJudgement]] = {judge: [] for judge in JUDGES}
    for number, example in enumerate(inputs):  # one at a time: encoded images are large
        encoding = encode_units(model, Example(example.text, example.pair, image=example.image), settings)
        decision = Decision(card_of(model), encoding, predicted[number], settings)
        named = {
            method: [frozenset(mentions(run.sentences[number], encoding, model.labels)) for run in mine]
            for method, mine in runs.items()
        }
        for judge, judgements in by_judge.items():
            judgements.append(judged(measurement.final_attribution(method_spec(judge), model, decision), named))
    progress(f"tournament: {len(inputs)} inputs in {time.monotonic() - started:.0f} s")
    tables = [
        {"judge": judge, "narrators": name, **standings(judgements, narrators)}
        for name, narrators in competitions(tuple(runs)).items()
        for judge, judgements in by_judge.items()
    ]
    used = {"erasure": settings.erasure, "samples": settings.samples, "seed": settings.seed}
    return {"inputs": len(inputs), "settings": used, "tables": tables}


def competitions(measured: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The paper's three, with CAuSE as published if that was measured, and all narrators if there are others."""
    three = ("cause_phi", "cause_phi_ts", "cause_published" if "cause_published" in measured else "cause")
    complete = set(three) <= set(measured)
    entrants: dict[str, tuple[str, ...]] = {PAPER: three} if complete else {}
    return entrants if complete and len(measured) == len(three) else {**entrants, ALL: tuple(measured)}


def standings(judgements: Sequence[WordJudgement], narrators: Sequence[str]) -> dict[str, Any]:
    """Mean points and F1 over seeds with 95 % intervals over inputs; `tied` is how often all narrators are equal."""
    shape = (len(narrators), len(judgements))
    won, chance, overlaps = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    tied: list[bool] = []
    for column, judgement in enumerate(judgements):
        by_seed = list(zip(*(judgement.overlaps[method] for method in narrators), strict=True))
        won[:, column] = np.mean([points(shares) for shares in by_seed], axis=0)
        chance[:, column] = [_chance(judgement, narrators, method) for method in narrators]
        overlaps[:, column] = np.mean(by_seed, axis=0)
        tied += [len(set(shares)) == 1 for shares in by_seed]
    columns = {"points": won, "chance": chance, "above_chance": won - chance, "overlap": overlaps}
    weights = bootstrap.item_weights(len(judgements))
    return {
        "tied": float(np.mean(tied)),
        "rows": [
            {"method": method, **{name: _mean(values[row], weights) for name, values in columns.items()}}
            for row, method in enumerate(narrators)
        ],
    }


def _mean(values: text_metrics.Floats, weights: text_metrics.Floats) -> dict[str, float]:
    return narrator_metrics.interval(weights @ values / weights.sum(1))


def _chance(judgement: WordJudgement, narrators: Sequence[str], method: str) -> float:
    """Expected points at random in the place of a narrator, the mean over seeds."""
    rivals = zip(*(judgement.overlaps[narrator] for narrator in narrators if narrator != method), strict=True)
    counts = judgement.named[method]
    return float(
        np.mean([expected_points(named, judgement, rival) for named, rival in zip(counts, rivals, strict=True)])
    )
