"""Narrators compared on unseen items, as in the paper's Tables 2 and 3: φ, φ + TS and CAuSE over several seeds.

Every item is put into words five times at temperatures 0.2 … 1.0, from its own state and from a counterfactual one; a
vote of the five says which class was stated. Nothing is read under teacher forcing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn

from explainers.narrative.cause import Narrator
from explainers.narrative.counterfactual import Counterfactual, counterfactuals
from explainers.narrative.measures import (
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
    words,
)
from explainers.narrative.saying import readings, said
from explainers.narrative.texts import Item, sentence, stacked, stated, without_label

TEMPERATURES = (0.2, 0.4, 0.6, 0.8, 1.0)
RESAMPLES = 1000
AT_ONCE = 250


@dataclass(frozen=True)
class Spoken:
    """What one narrator with one seed said of n items."""

    sentences: tuple[str, ...]  # the likeliest one each
    votes: tuple[int, ...]  # class stated of the item itself; NONE if none
    altered: tuple[int, ...]  # of the counterfactual state
    read: tuple[int, ...]  # class that C2 reads from the likeliest sentence; empty without C2
    read_altered: tuple[int, ...]


@dataclass(frozen=True)
class Asked:
    """The items, what the model says of them, and their counterfactuals."""

    items: tuple[Item, ...]
    texts: tuple[str, ...]  # all words of each input
    references: tuple[tuple[str, ...], ...]  # human sentences where the model is right and there are any, else empty
    altered: Counterfactual
    labels: tuple[str, ...]

    @property
    def predicted(self) -> list[int]:
        return [item.label for item in self.items]


def asked(head: nn.Sequential, items: Sequence[Item], texts: Sequence[str], labels: Sequence[str]) -> Asked:
    states, _ = stacked(items)
    references = tuple(() if item.said == (sentence(labels[item.label]),) else item.said for item in items)
    return Asked(tuple(items), tuple(texts), references, counterfactuals(head, states, states), tuple(labels))


def spoken(narrator: Narrator, given: Asked, seed: int) -> Spoken:
    """Sentences and votes for every item."""
    states, _ = stacked(given.items)
    likeliest, read = _likeliest(narrator, states)
    _, read_altered = _likeliest(narrator, given.altered.states)
    return Spoken(
        tuple(narrator.spoken.text(row) for row in likeliest),
        _votes(narrator, states, given.labels, 1000 * seed),
        _votes(narrator, given.altered.states, given.labels, 1000 * seed + 500),
        read,
        read_altered,
    )


def _likeliest(narrator: Narrator, states: Tensor) -> tuple[list[list[int]], tuple[int, ...]]:
    rows: list[list[int]] = []
    read: list[int] = []
    for some in _parts(states):
        found = said(narrator, some)
        rows += found
        if narrator.reads:
            read += readings(narrator, some, found).argmax(1).tolist()
    return rows, tuple(read)


def _parts(states: Tensor) -> list[Tensor]:
    return [states[start : start + AT_ONCE] for start in range(0, len(states), AT_ONCE)]


def _votes(narrator: Narrator, states: Tensor, labels: Sequence[str], seed: int) -> tuple[int, ...]:
    drawn: list[list[int]] = []
    for number, temperature in enumerate(TEMPERATURES):
        row: list[int] = []
        for part, some in enumerate(_parts(states)):
            for ids in said(narrator, some, temperature=temperature, seed=seed + 10 * part + number):
                found = stated(narrator.spoken.text(ids), labels)
                row.append(NONE if found is None else found)
        drawn.append(row)
    return tuple(voted(each) for each in zip(*drawn, strict=True))


def table(given: Asked, said_by: dict[str, list[Spoken]], learned_from: Sequence[str]) -> list[dict[str, Any]]:
    """A row per narrator: means over seeds with 95 % intervals over items, and the gain over the first narrator."""
    n = len(given.items)
    draws = np.random.default_rng(0).multinomial(n, [1 / n] * n, RESAMPLES).astype(float)  # (R, n)
    weights = np.vstack([np.ones((1, n)), draws])  # the first row is the sample itself
    resampled = {
        method: {name: np.mean([values[name] for values in per_seed], axis=0) for name in per_seed[0]}
        for method, runs in said_by.items()
        if (per_seed := [_figures(given, run, weights) for run in runs])
    }
    first = next(iter(resampled))
    rows = []
    for method, values in resampled.items():
        spread = [_figures(given, run, weights[:1])["composite"][0] for run in said_by[method]]
        rows.append(
            {
                "method": method,
                "seeds": len(said_by[method]),
                **{name: _interval(each) for name, each in values.items()},
                "composite_by_seed": [float(each) for each in spread],
                "composite_gain": _interval(values["composite"] - resampled[first]["composite"]),
                "agreement_gain": _interval(values["agreement"] - resampled[first]["agreement"]),
                **_of_texts(given, said_by[method], learned_from),
            }
        )
    return rows


def _figures(given: Asked, run: Spoken, weights: Floats) -> dict[str, Floats]:
    """Every figure of one run for each row of weights over the items, (R,)."""
    classes, met = len(given.labels), given.altered.met.cpu().numpy().astype(float)
    targets = given.altered.targets.tolist()

    def f1(truth: Sequence[int], classified: Sequence[int], rows: Floats) -> tuple[Floats, Floats]:
        """F1 over the items that state a class, and their share."""
        counts = confusion(truth, classified, classes)
        return macro_f1(rows @ counts), (rows @ counts.sum(1)) / np.maximum(rows.sum(1), 1e-9)

    agreement, share = f1(given.predicted, run.votes, weights)
    ccmr, altered_share = f1(targets, run.altered, weights * met)
    found = {
        "agreement": agreement,
        "states_class": share,
        "ccmr": ccmr,
        "ccmr_states_class": altered_share,
        "composite": composite(ccmr, altered_share),
        "constraint_met": (weights @ met) / weights.sum(1),
    }
    if run.read:
        found["c2_agreement"], _ = f1(given.predicted, run.read, weights)
        found["ccmr_c2"], _ = f1(targets, run.read_altered, weights * met)
    return found


def _of_texts(given: Asked, runs: Sequence[Spoken], learned_from: Sequence[str]) -> dict[str, float | None]:
    """Figures of the sentences themselves, means over seeds; None where one cannot be computed."""
    with_reference = [place for place, row in enumerate(given.references) if row]
    rows = []
    for run in runs:
        bare = [without_label(each, given.labels) for each in run.sentences]
        rows.append(
            {
                "true_reason": word_for_word(run.sentences, given.references),
                **bleu([run.sentences[at] for at in with_reference], [given.references[at] for at in with_reference]),
                "distinct_1": distinct(bare, 1),
                "distinct_2": distinct(bare, 2),
                "copied": copied(run.sentences, learned_from),
                "mentioned": float(np.mean([mentioned(*each) for each in zip(bare, given.texts, strict=True)])),
                "words": float(np.mean([len(words(each)) for each in run.sentences])),
                "simulatability": simulatability(run.sentences, given.predicted, given.labels),
            }
        )
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return {name: None if np.isnan(mean) else mean for name, mean in means.items()}


def _interval(values: Floats) -> dict[str, float]:
    """The first value with the 95 % interval of the others."""
    low, high = np.quantile(values[1:], (0.025, 0.975)) if len(values) > 1 else (values[0], values[0])
    return {"mean": float(values[0]), "low": float(low), "high": float(high)}
