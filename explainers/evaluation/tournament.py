"""The tournament of narrators (CAuSE's Table 7), with word overlap as a declared stand-in for the paper's judge.

There a multimodal language model ranks the sentences by how well they reflect the classifier's prediction and its LIME
attribution. Here the ranking is by F1 between the words that a sentence mentions and the top words of LIME, and once
more of KernelSHAP. Chance is what a sentence that mentions as many random content words would get, among the same
rivals.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.evaluation.measurement import final_attribution
from explainers.evaluation.narrator_metrics import interval, item_weights
from explainers.evaluation.narrators import NarratorRun
from explainers.evaluation.word_judge import WordJudgement, expected_points, judged, points
from explainers.methods.registry import method_spec
from explainers.models.frozen_model import FrozenModel
from explainers.narrative.narrate import mentions
from explainers.narrative.text_metrics import Floats
from explainers.results.comparison import Question
from explainers.results.settings import Settings

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
        encoding = model.encode(Example(example.text, example.pair, image=example.image), settings.unit)
        question = Question(model, encoding, predicted[number], settings)
        named = {
            method: [frozenset(mentions(run.sentences[number], encoding, model.labels)) for run in mine]
            for method, mine in runs.items()
        }
        for judge, judgements in by_judge.items():
            judgements.append(judged(final_attribution(method_spec(judge), question), named))
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
        won[:, column] = np.mean([points(each) for each in by_seed], axis=0)
        chance[:, column] = [_chance(judgement, narrators, method) for method in narrators]
        overlaps[:, column] = np.mean(by_seed, axis=0)
        tied += [len(set(each)) == 1 for each in by_seed]
    columns = {"points": won, "chance": chance, "above_chance": won - chance, "overlap": overlaps}
    weights = item_weights(len(judgements))
    return {
        "tied": float(np.mean(tied)),
        "rows": [
            {"method": method, **{name: _mean(values[row], weights) for name, values in columns.items()}}
            for row, method in enumerate(narrators)
        ],
    }


def _mean(values: Floats, weights: Floats) -> dict[str, float]:
    return interval(weights @ values / weights.sum(1))


def _chance(judgement: WordJudgement, narrators: Sequence[str], method: str) -> float:
    """Expected points at random in the place of a narrator, the mean over seeds."""
    rivals = zip(*(judgement.overlaps[each] for each in narrators if each != method), strict=True)
    counts = judgement.named[method]
    return float(np.mean([expected_points(named, judgement, each) for named, each in zip(counts, rivals, strict=True)]))
