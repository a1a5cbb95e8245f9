"""The metrics of narrators and of what they are compared with: means over seeds with 95 % intervals over items.

The metrics of sentences: by item, where an interval can be given, and of the whole set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from explainers.evaluation.narrators import CounterfactualItems, NarratorRun
from explainers.methods.narrator_specs import narrator_spec
from explainers.metrics.bootstrap import interval_of_rows, item_weights
from explainers.narrative import content_words, text_metrics
from explainers.narrative.content_words import reason_of
from explainers.narrative.sentences import without_label

RIGHT = "reason_right"


def item_values(
    data: CounterfactualItems, run: NarratorRun, scorer: text_metrics.TokenScorer | None
) -> dict[str, text_metrics.Floats]:
    """Map each metric to a value per item, (n,); nan for an item that does not count."""
    return {
        **truth_values(data, run),
        **_word_values(data, run),
        **_bert_values(data, run, scorer),
        **_effect_values(run),
    }


def truth_values(data: CounterfactualItems, run: NarratorRun) -> dict[str, text_metrics.Floats]:
    """Empty where no rules can tell. Right is what is true and on topic, of the items whose topic is known."""
    if not run.truths:
        return {}
    true = _as_floats([bool(truth) for truth in run.truths])
    on_topic = _as_floats(run.topics or [None] * len(true))
    right = true * on_topic  # nan where the topic is not known
    predicted = np.array(data.predicted)
    return {
        "reason_true": true,
        "reason_undecided": _as_floats([truth is None for truth in run.truths]),
        "reason_true_of_other": _as_floats([bool(truth) for truth in run.truths_of_other]),
        "reason_on_topic": on_topic,
        RIGHT: right,
        **{
            f"{RIGHT}_{name}": np.where(predicted == label, right, np.nan)
            for label, name in enumerate(data.labels)
        },
    }  # fmt: skip


def _word_values(data: CounterfactualItems, run: NarratorRun) -> dict[str, text_metrics.Floats]:
    others = text_metrics.other_inputs(data.texts, data.predicted, text_metrics.CHOICES - 1)
    own, elsewhere = text_metrics.shares(
        run.sentences, data.texts, [row[: text_metrics.SHUFFLES] for row in others], data.labels
    )
    return {
        "own_words": own,
        "other_words": elsewhere,
        "own_minus_other": own - elsewhere,
        "copies_input": np.array(
            [text_metrics.longest_copy(*texts) for texts in zip(run.sentences, data.texts, strict=True)]
        ),
        "picked_of_ten": text_metrics.picked(run.sentences, data.texts, others, data.labels),
    }


def _bert_values(
    data: CounterfactualItems, run: NarratorRun, scorer: text_metrics.TokenScorer | None
) -> dict[str, text_metrics.Floats]:
    """BERTScore of the reasons alone, without their opening."""
    if scorer is None:
        return {}
    references = [[reason for text in row if (reason := reason_of(text))] for row in data.references]
    scores = text_metrics.bert_scores(scorer, [reason_of(sentence) for sentence in run.sentences], references)
    return {f"bertscore_{name}": scores[:, column] for column, name in enumerate(("precision", "recall", "f1"))}


def _effect_values(run: NarratorRun) -> dict[str, text_metrics.Floats]:
    if not run.word_effects:
        return {}
    return {
        "names_words": _as_floats([effect.names_words for effect in run.word_effects]),
        "word_effect": np.array([effect.against_words for effect in run.word_effects]),
        "content_word_effect": np.array([effect.against_content for effect in run.word_effects]),
    }


def _as_floats(values: Sequence[bool | None]) -> text_metrics.Floats:
    return np.array([np.nan if value is None else float(value) for value in values])


def set_metrics(
    data: CounterfactualItems, runs: Sequence[NarratorRun], training_sentences: Sequence[str]
) -> dict[str, float | None]:
    """Metrics of all sentences together, means over seeds; None where one cannot be computed."""
    with_reference = [number for number, sentences in enumerate(data.references) if sentences]
    references = [data.references[number] for number in with_reference]
    rows = []
    for run in runs:
        bare = [without_label(sentence, data.labels) for sentence in run.sentences]
        rows.append(
            {
                "true_reason": text_metrics.word_for_word(run.sentences, data.references),
                **text_metrics.bleu([run.sentences[number] for number in with_reference], references),
                "distinct_1": text_metrics.distinct(bare, 1),
                "distinct_2": text_metrics.distinct(bare, 2),
                "distinct_per_100": text_metrics.distinct_per_sample(run.sentences),
                "copied": text_metrics.copied(run.sentences, training_sentences),
                "mentioned": float(
                    np.mean([text_metrics.mentioned(*texts) for texts in zip(bare, data.texts, strict=True)])
                ),
                "words": float(np.mean([len(content_words.words(sentence)) for sentence in run.sentences])),
                "simulatability": text_metrics.simulatability(run.sentences, data.predicted, data.labels),
            }
        )
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return {name: None if np.isnan(mean) else mean for name, mean in means.items()}


COMPARED = ("composite", "agreement", RIGHT, "own_minus_other")  # with the first narrator, paired


@dataclass(frozen=True)
class JudgedReasons:
    """Sentences whose reasons were judged by rules, for more items than the other metrics need; a run per seed."""

    data: CounterfactualItems
    runs: Mapping[str, Sequence[NarratorRun]]

    def means(self, method: str) -> dict[str, text_metrics.Floats]:
        """Over seeds, for each row of weights over these items, (R,)."""
        weights = item_weights(len(self.data.items))
        return _over_seeds([_means(truth_values(self.data, run), weights) for run in self.runs[method]])


def narrator_rows(
    data: CounterfactualItems,
    runs: dict[str, list[NarratorRun]],
    training_sentences: Sequence[str],
    scorer: text_metrics.TokenScorer | None = None,
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
            **{name: interval(value) for name, value in values.items()},
            "composite_by_seed": [float(row["composite"][0]) for row in by_seed[method]],
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


def _gains(
    values: Mapping[str, text_metrics.Floats], others: Mapping[str, text_metrics.Floats]
) -> dict[str, dict[str, float]]:
    """The metrics of one narrator minus those of another one, by name, paired over the items."""
    return {name: interval(values[name] - others[name]) for name in COMPARED if name in values and name in others}


def _reader_means(runs: Sequence[NarratorRun]) -> dict[str, float]:
    """What C2 gets and follows, means over seeds; empty without C2."""
    figures = [run.reader for run in runs if run.reader is not None]
    if not figures:
        return {}
    values: dict[str, list[float]] = {
        "reader_directions": [figure.directions for figure in figures],
        "reader_followed": [figure.followed for figure in figures if figure.followed is not None],
    }
    return {name: float(np.mean(value)) for name, value in values.items() if value}


def baseline_row(
    method: str,
    data: CounterfactualItems,
    runs: Sequence[NarratorRun],
    training_sentences: Sequence[str],
    scorer: text_metrics.TokenScorer | None = None,
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
        **{name: interval(value) for name, value in values.items()},
        **set_metrics(data, runs, training_sentences),
    }


def _over_seeds(by_seed: Sequence[dict[str, text_metrics.Floats]]) -> dict[str, text_metrics.Floats]:
    """The means of the metrics that every seed has."""
    names = [name for name in by_seed[0] if all(name in values for values in by_seed)]
    return {name: np.mean([values[name] for values in by_seed], axis=0) for name in names}


def _class_metrics(
    data: CounterfactualItems, run: NarratorRun, weights: text_metrics.Floats
) -> dict[str, text_metrics.Floats]:
    """Metrics of the stated classes for each row of weights over the items, (R,)."""
    classes, met = len(data.labels), data.counterfactual.met.cpu().numpy().astype(float)
    targets = data.counterfactual.targets.tolist()

    def f1(
        truth: Sequence[int], classified: Sequence[int], rows: text_metrics.Floats
    ) -> tuple[text_metrics.Floats, text_metrics.Floats]:
        """F1 over the items that state a class, and their share."""
        counts = text_metrics.confusion(truth, classified, classes)
        return text_metrics.macro_f1(rows @ counts), (rows @ counts.sum(1)) / np.maximum(rows.sum(1), 1e-9)

    agreement, share = f1(data.predicted, run.votes, weights)
    ccmr, counterfactual_share = f1(targets, run.counterfactual_votes, weights * met)
    metrics = {
        "agreement": agreement,
        "states_class": share,
        "ccmr": ccmr,
        "ccmr_states_class": counterfactual_share,
        "composite": text_metrics.composite(ccmr, counterfactual_share),
        "constraint_met": (weights @ met) / weights.sum(1),
    }
    if run.c2_classes:
        metrics["c2_agreement"], _ = f1(data.predicted, run.c2_classes, weights)
        metrics["ccmr_c2"], _ = f1(targets, run.c2_counterfactual_classes, weights * met)
    return metrics


def _sentence_means(
    data: CounterfactualItems, run: NarratorRun, weights: text_metrics.Floats, scorer: text_metrics.TokenScorer | None
) -> dict[str, text_metrics.Floats]:
    """The mean of every metric of single sentences over the items that count, for each row of weights, (R,)."""
    return _means(item_values(data, run, scorer), weights)


def _means(
    values_by_name: Mapping[str, text_metrics.Floats], weights: text_metrics.Floats
) -> dict[str, text_metrics.Floats]:
    """A metric that no item counts for is left out."""
    means = {}
    for name, values in values_by_name.items():
        counts = ~np.isnan(values)
        if counts.any():
            total = weights @ counts
            hits = weights @ np.where(counts, values, 0.0)
            means[name] = np.divide(hits, total, out=np.full(len(weights), np.nan), where=total > 0)
    return means


def interval(values: text_metrics.Floats) -> dict[str, float]:
    """The statistic of the items themselves and its 95 % interval, from its values for rows of `item_weights`."""
    result = interval_of_rows(values, len(values))
    return {"mean": result.mean, "low": result.low, "high": result.high}
