"""The metrics of sentences: by item, where an interval can be given, and of the whole set."""

from collections.abc import Sequence

import numpy as np

from explainers.evaluation.narrators import CounterfactualItems, NarratorRun
from explainers.narrative.bert_score import TokenScorer, bert_scores
from explainers.narrative.content_words import words
from explainers.narrative.meaning_metrics import (
    CHOICES,
    SHUFFLES,
    distinct_per_sample,
    longest_copy,
    other_inputs,
    picked,
    shares,
)
from explainers.narrative.sentences import reason_of, without_label
from explainers.narrative.text_metrics import (
    Floats,
    bleu,
    copied,
    distinct,
    mentioned,
    simulatability,
    word_for_word,
)

RIGHT = "reason_right"


def item_values(data: CounterfactualItems, run: NarratorRun, scorer: TokenScorer | None) -> dict[str, Floats]:
    """By metric a value per item, (n,); nan for an item that does not count."""
    return {
        **truth_values(data, run),
        **_word_values(data, run),
        **_bert_values(data, run, scorer),
        **_effect_values(run),
    }


def truth_values(data: CounterfactualItems, run: NarratorRun) -> dict[str, Floats]:
    """Empty where no rules can tell. Right is what is true and on topic, of the items whose topic is known."""
    if not run.truths:
        return {}
    true = _as_floats([bool(each) for each in run.truths])
    on_topic = _as_floats(run.topics or [None] * len(true))
    right = true * on_topic  # nan where the topic is not known
    predicted = np.array(data.predicted)
    return {
        "reason_true": true,
        "reason_undecided": _as_floats([each is None for each in run.truths]),
        "reason_true_elsewhere": _as_floats([bool(each) for each in run.truths_elsewhere]),
        "reason_on_topic": on_topic,
        RIGHT: right,
        **{
            f"{RIGHT}_{name}": np.where(predicted == label, right, np.nan)
            for label, name in enumerate(data.labels)
        },
    }  # fmt: skip


def _word_values(data: CounterfactualItems, run: NarratorRun) -> dict[str, Floats]:
    others = other_inputs(data.texts, data.predicted, CHOICES - 1)
    own, elsewhere = shares(run.sentences, data.texts, [row[:SHUFFLES] for row in others], data.labels)
    return {
        "own_words": own,
        "other_words": elsewhere,
        "own_minus_other": own - elsewhere,
        "copies_input": np.array([longest_copy(*each) for each in zip(run.sentences, data.texts, strict=True)]),
        "picked_of_ten": picked(run.sentences, data.texts, others, data.labels),
    }


def _bert_values(data: CounterfactualItems, run: NarratorRun, scorer: TokenScorer | None) -> dict[str, Floats]:
    """Of the reasons alone, without their opening."""
    if scorer is None:
        return {}
    references = [[reason for each in row if (reason := reason_of(each))] for row in data.references]
    scores = bert_scores(scorer, [reason_of(each) for each in run.sentences], references)
    return {f"bertscore_{name}": scores[:, column] for column, name in enumerate(("precision", "recall", "f1"))}


def _effect_values(run: NarratorRun) -> dict[str, Floats]:
    if not run.word_effects:
        return {}
    return {
        "names_words": _as_floats([each.names_words for each in run.word_effects]),
        "word_effect": np.array([each.against_words for each in run.word_effects]),
        "content_word_effect": np.array([each.against_content for each in run.word_effects]),
    }


def _as_floats(values: Sequence[bool | None]) -> Floats:
    return np.array([np.nan if each is None else float(each) for each in values])


def set_metrics(
    data: CounterfactualItems, runs: Sequence[NarratorRun], training_sentences: Sequence[str]
) -> dict[str, float | None]:
    """Metrics of all sentences together, means over seeds; None where one cannot be computed."""
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
                "distinct_per_100": distinct_per_sample(run.sentences),
                "copied": copied(run.sentences, training_sentences),
                "mentioned": float(np.mean([mentioned(*each) for each in zip(bare, data.texts, strict=True)])),
                "words": float(np.mean([len(words(each)) for each in run.sentences])),
                "simulatability": simulatability(run.sentences, data.predicted, data.labels),
            }
        )
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return {name: None if np.isnan(mean) else mean for name, mean in means.items()}
