"""The metrics of narrators and of what they are compared with: means over seeds with 95 % intervals over items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from explainers.evaluation.narrators import CounterfactualItems, NarratorRun
from explainers.evaluation.sentence_metrics import RIGHT, item_values, set_metrics, truth_values
from explainers.methods.narrator_specs import narrator_spec
from explainers.narrative.bert_score import TokenScorer
from explainers.narrative.text_metrics import Floats, composite, confusion, macro_f1

RESAMPLES = 1000
COMPARED = ("composite", "agreement", RIGHT, "own_minus_other")  # with the first narrator, paired


@dataclass(frozen=True)
class JudgedReasons:
    """Sentences whose reasons were judged by rules, for more items than the other metrics need; a run per seed."""

    data: CounterfactualItems
    runs: Mapping[str, Sequence[NarratorRun]]

    def means(self, method: str) -> dict[str, Floats]:
        """Over seeds, for each row of weights over these items, (R,)."""
        weights = item_weights(len(self.data.items))
        return _over_seeds([_means(truth_values(self.data, run), weights) for run in self.runs[method]])


def narrator_rows(
    data: CounterfactualItems,
    runs: dict[str, list[NarratorRun]],
    training_sentences: Sequence[str],
    scorer: TokenScorer | None = None,
    reasons: JudgedReasons | None = None,
) -> list[dict[str, Any]]:
    """A row per narrator: means over seeds with 95 % intervals over items, and the gains over the first narrator and
    over its controls.

    `runs` has a run per seed for every narrator. Without a scorer there is no BERTScore. With `reasons` their truth is
    that of more items.
    """
    weights = item_weights(len(data.items))
    by_seed = {
        method: [_class_metrics(data, run, weights) | _sentence_means(data, run, weights, scorer) for run in mine]
        for method, mine in runs.items()
    }
    resampled = {
        method: _over_seeds(mine) | (reasons.means(method) if reasons is not None else {})
        for method, mine in by_seed.items()
    }
    first = next(iter(resampled.values()))
    return [
        {
            "method": method,
            "seeds": len(runs[method]),
            **{name: interval(each) for name, each in values.items()},
            "composite_by_seed": [float(each["composite"][0]) for each in by_seed[method]],
            **_reader_means(runs[method]),
            **{f"{name}_gain": gain for name, gain in _gains(values, first).items()},
            "controls": {
                control: _gains(values, resampled[control])
                for control in narrator_spec(method).controls
                if control in resampled
            },
            **set_metrics(data, runs[method], training_sentences),
        }
        for method, values in resampled.items()
    ]


def _gains(values: Mapping[str, Floats], others: Mapping[str, Floats]) -> dict[str, dict[str, float]]:
    """The metrics of one narrator minus those of another one, by name, paired over the items."""
    return {name: interval(values[name] - others[name]) for name in COMPARED if name in values and name in others}


def _reader_means(runs: Sequence[NarratorRun]) -> dict[str, float]:
    """What C2 gets and follows, means over seeds; empty without C2."""
    figures = [run.reader for run in runs if run.reader is not None]
    if not figures:
        return {}
    values: dict[str, list[float]] = {
        "reader_directions": [each.directions for each in figures],
        "reader_followed": [each.followed for each in figures if each.followed is not None],
    }
    return {name: float(np.mean(each)) for name, each in values.items() if each}


def baseline_row(
    method: str,
    data: CounterfactualItems,
    runs: Sequence[NarratorRun],
    training_sentences: Sequence[str],
    scorer: TokenScorer | None = None,
    reasons: JudgedReasons | None = None,
) -> dict[str, Any]:
    """The metrics of sentences that no narrator generated, which so have no votes."""
    weights = item_weights(len(data.items))
    values = _over_seeds([_sentence_means(data, run, weights, scorer) for run in runs])
    if reasons is not None and method in reasons.runs:
        values |= reasons.means(method)
    return {
        "method": method,
        "seeds": len(runs),
        **{name: interval(each) for name, each in values.items()},
        **set_metrics(data, runs, training_sentences),
    }


def item_weights(n: int) -> Floats:
    """(R, n): how often each item counts; once in the first row, as drawn with replacement in the others."""
    draws = np.random.default_rng(0).multinomial(n, [1 / n] * n, RESAMPLES).astype(float)
    return np.vstack([np.ones((1, n)), draws])


def _over_seeds(by_seed: Sequence[dict[str, Floats]]) -> dict[str, Floats]:
    """The means of the metrics that every seed has."""
    names = [name for name in by_seed[0] if all(name in values for values in by_seed)]
    return {name: np.mean([values[name] for values in by_seed], axis=0) for name in names}


def _class_metrics(data: CounterfactualItems, run: NarratorRun, weights: Floats) -> dict[str, Floats]:
    """Metrics of the stated classes for each row of weights over the items, (R,)."""
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
    return metrics


def _sentence_means(
    data: CounterfactualItems, run: NarratorRun, weights: Floats, scorer: TokenScorer | None
) -> dict[str, Floats]:
    """The mean of every metric of single sentences over the items that count, for each row of weights, (R,)."""
    return _means(item_values(data, run, scorer), weights)


def _means(values_by_name: Mapping[str, Floats], weights: Floats) -> dict[str, Floats]:
    """A metric that no item counts for is left out."""
    means = {}
    for name, values in values_by_name.items():
        counts = ~np.isnan(values)
        if counts.any():
            total = weights @ counts
            hits = weights @ np.where(counts, values, 0.0)
            means[name] = np.divide(hits, total, out=np.full(len(weights), np.nan), where=total > 0)
    return means


def interval(values: Floats) -> dict[str, float]:
    """The first value with the 95 % interval of the others; a resample without an item that counts is left out."""
    others = values[1:][~np.isnan(values[1:])]
    low, high = np.quantile(others, (0.025, 0.975)) if len(others) else (values[0], values[0])
    return {"mean": float(values[0]), "low": float(low), "high": float(high)}
