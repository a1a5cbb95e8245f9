"""Narrators compared on unseen items, as in the paper's Tables 2 and 3: φ, φ + TS and CAuSE over several seeds.

Every item is narrated once with the likeliest words, and five times at temperatures 0.2 … 1.0, from its own state and
from a counterfactual one; the vote of the five is the stated class. All sentences are generated freely, without
teacher forcing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from explainers.narrative.cause import Narrator
from explainers.narrative.content_words import words
from explainers.narrative.counterfactual import Counterfactual, counterfactuals
from explainers.narrative.generation import generate, readings
from explainers.narrative.sentences import NarratorItem, sentence, stack_items, stated_class, without_label
from explainers.narrative.text_metrics import (
    NONE,
    Floats,
    bleu,
    composite,
    confusion,
    copied,
    distinct,
    macro_f1,
    mentioned,
    simulatability,
    voted,
    word_for_word,
)

TEMPERATURES = (0.2, 0.4, 0.6, 0.8, 1.0)
RESAMPLES = 1000
BATCH = 250


@dataclass(frozen=True)
class NarratorRun:
    """The output of one narrator with one seed for n items."""

    sentences: tuple[str, ...]  # the likeliest sentence of each item
    votes: tuple[int, ...]  # stated class of each item; NONE if none
    counterfactual_votes: tuple[int, ...]  # stated class of each counterfactual state
    c2_classes: tuple[int, ...]  # class that C2 reads from the likeliest sentence; empty without C2
    c2_counterfactual_classes: tuple[int, ...]
    truths: tuple[bool | None, ...] = ()  # of each item, whether its reason is true; empty where nothing can check it
    truths_elsewhere: tuple[bool | None, ...] = ()  # the same reason about the next item's input


@dataclass(frozen=True)
class CounterfactualItems:
    """n items with their counterfactuals, and what their narratives are compared with."""

    items: tuple[NarratorItem, ...]
    texts: tuple[str, ...]  # all words of each input
    references: tuple[tuple[str, ...], ...]  # human sentences, empty where there are none or the model is wrong
    counterfactual: Counterfactual
    labels: tuple[str, ...]

    @property
    def predicted(self) -> list[int]:
        return [item.label for item in self.items]


def counterfactual_items(
    head: nn.Sequential, items: Sequence[NarratorItem], texts: Sequence[str], labels: Sequence[str]
) -> CounterfactualItems:
    """Raises `ExplanationError` if the model gives one class to all items."""
    states, _ = stack_items(items)
    references = tuple(() if item.sentences == (sentence(labels[item.label]),) else item.sentences for item in items)
    counterfactual = counterfactuals(head, states, states)
    return CounterfactualItems(tuple(items), tuple(texts), references, counterfactual, tuple(labels))


def run_narrator(narrator: Narrator, data: CounterfactualItems, seed: int) -> NarratorRun:
    """Sentences and votes for every item."""
    states, _ = stack_items(data.items)
    likeliest, c2_classes = _likeliest(narrator, states)
    _, c2_counterfactual_classes = _likeliest(narrator, data.counterfactual.states)
    return NarratorRun(
        tuple(narrator.language.text(ids) for ids in likeliest),
        _votes(narrator, states, data.labels, 1000 * seed),
        _votes(narrator, data.counterfactual.states, data.labels, 1000 * seed + 500),
        c2_classes,
        c2_counterfactual_classes,
    )


def _likeliest(narrator: Narrator, states: Tensor) -> tuple[list[list[int]], tuple[int, ...]]:
    """The likeliest sentences as ids, and the classes that C2 reads; none without C2."""
    sentences: list[list[int]] = []
    classes: list[int] = []
    for batch in _batches(states):
        generated = generate(narrator, batch)
        sentences += generated
        if narrator.has_reader:
            classes += readings(narrator, batch, generated).argmax(1).tolist()
    return sentences, tuple(classes)


def _batches(states: Tensor) -> list[Tensor]:
    return [states[start : start + BATCH] for start in range(0, len(states), BATCH)]


def _votes(narrator: Narrator, states: Tensor, labels: Sequence[str], seed: int) -> tuple[int, ...]:
    by_temperature: list[list[int]] = []
    for number, temperature in enumerate(TEMPERATURES):
        classes: list[int] = []
        for part, batch in enumerate(_batches(states)):
            for ids in generate(narrator, batch, temperature=temperature, seed=seed + 10 * part + number):
                stated = stated_class(narrator.language.text(ids), labels)
                classes.append(NONE if stated is None else stated)
        by_temperature.append(classes)
    return tuple(voted(classes) for classes in zip(*by_temperature, strict=True))


def narrator_rows(
    data: CounterfactualItems, runs: dict[str, list[NarratorRun]], training_sentences: Sequence[str]
) -> list[dict[str, Any]]:
    """A row per narrator: means over seeds with 95 % intervals over items, and the gain over the first narrator.

    `runs` has a run per seed for every narrator.
    """
    n = len(data.items)
    draws = np.random.default_rng(0).multinomial(n, [1 / n] * n, RESAMPLES).astype(float)  # (R, n)
    weights = np.vstack([np.ones((1, n)), draws])  # the first row is the sample itself
    resampled = {
        method: {name: np.mean([values[name] for values in per_seed], axis=0) for name in per_seed[0]}
        for method, mine in runs.items()
        if (per_seed := [_run_metrics(data, run, weights) for run in mine])
    }
    first = next(iter(resampled.values()))
    return [
        {
            "method": method,
            "seeds": len(runs[method]),
            **{name: _interval(each) for name, each in values.items()},
            "composite_by_seed": [float(_run_metrics(data, run, weights[:1])["composite"][0]) for run in runs[method]],
            "composite_gain": _interval(values["composite"] - first["composite"]),
            "agreement_gain": _interval(values["agreement"] - first["agreement"]),
            **_sentence_metrics(data, runs[method], training_sentences),
        }
        for method, values in resampled.items()
    ]


def _run_metrics(data: CounterfactualItems, run: NarratorRun, weights: Floats) -> dict[str, Floats]:
    """Every metric of one run for each row of weights over the items, (R,)."""
    classes, met = len(data.labels), data.counterfactual.met.cpu().numpy().astype(float)
    targets = data.counterfactual.targets.tolist()

    def f1(truth: Sequence[int], classified: Sequence[int], rows: Floats) -> tuple[Floats, Floats]:
        """F1 over the items that state a class, and their share."""
        counts = confusion(truth, classified, classes)
        return macro_f1(rows @ counts), (rows @ counts.sum(1)) / np.maximum(rows.sum(1), 1e-9)

    agreement, share = f1(data.predicted, run.votes, weights)
    ccmr, counterfactual_share = f1(targets, run.counterfactual_votes, weights * met)
    metrics = {
        "agreement": agreement,
        "states_class": share,
        "ccmr": ccmr,
        "ccmr_states_class": counterfactual_share,
        "composite": composite(ccmr, counterfactual_share),
        "constraint_met": (weights @ met) / weights.sum(1),
    }
    if run.c2_classes:
        metrics["c2_agreement"], _ = f1(data.predicted, run.c2_classes, weights)
        metrics["ccmr_c2"], _ = f1(targets, run.c2_counterfactual_classes, weights * met)
    if run.truths:
        undecided = [each is None for each in run.truths]
        for name, hits in {
            "reason_true": run.truths,
            "reason_undecided": undecided,
            "reason_true_elsewhere": run.truths_elsewhere,
        }.items():
            metrics[name] = (weights @ np.array([bool(hit) for hit in hits], dtype=float)) / weights.sum(1)
    return metrics


def _sentence_metrics(
    data: CounterfactualItems, runs: Sequence[NarratorRun], training_sentences: Sequence[str]
) -> dict[str, float | None]:
    """Metrics of the sentences themselves, means over seeds; None where one cannot be computed."""
    with_reference = [number for number, sentences in enumerate(data.references) if sentences]
    references = [data.references[number] for number in with_reference]
    rows = []
    for run in runs:
        bare = [without_label(each, data.labels) for each in run.sentences]
        rows.append(
            {
                "true_reason": word_for_word(run.sentences, data.references),
                **bleu([run.sentences[number] for number in with_reference], references),
                "distinct_1": distinct(bare, 1),
                "distinct_2": distinct(bare, 2),
                "copied": copied(run.sentences, training_sentences),
                "mentioned": float(np.mean([mentioned(*each) for each in zip(bare, data.texts, strict=True)])),
                "words": float(np.mean([len(words(each)) for each in run.sentences])),
                "simulatability": simulatability(run.sentences, data.predicted, data.labels),
            }
        )
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return {name: None if np.isnan(mean) else mean for name, mean in means.items()}


def _interval(values: Floats) -> dict[str, float]:
    """The first value with the 95 % interval of the others."""
    low, high = np.quantile(values[1:], (0.025, 0.975)) if len(values) > 1 else (values[0], values[0])
    return {"mean": float(values[0]), "low": float(low), "high": float(high)}
