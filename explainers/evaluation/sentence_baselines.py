"""What the sentences of narrators are compared with: random training sentences of the same class, copies of the input,
and the given reasons."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from explainers.datasets.example import Example
from explainers.evaluation.narrators import CounterfactualItems, NarratorRun
from explainers.narrative.sentences import sentence, shortened

RANDOM, COPY, GIVEN = "random_training_sentence", "copied_input", "given_reason"
DRAWS = 3


def random_sentences(
    training: Sequence[Example], predicted: Sequence[int], labels: Sequence[str], draws: int = DRAWS
) -> list[NarratorRun]:
    """For every input the predicted class with the reason of a random training example of that class."""
    reasons: list[set[str]] = [set() for _ in labels]
    for example in training:
        if example.label is not None:
            reasons[example.label] |= {shortened(each) for each in example.explanations}
    pools = [sorted(each - {""}) or [""] for each in reasons]
    return [
        _run([sentence(labels[each], pools[each][rng.integers(len(pools[each]))]) for each in predicted])
        for rng in map(np.random.default_rng, range(draws))
    ]


def copies(inputs: Sequence[Example], predicted: Sequence[int], labels: Sequence[str]) -> list[NarratorRun]:
    """For every input the predicted class with its last text as the reason, which no metric should reward."""
    texts = [(each.pair or each.text).strip().rstrip(".") for each in inputs]
    return [_run([sentence(labels[label], text) for label, text in zip(predicted, texts, strict=True)])]


def given_reasons(
    data: CounterfactualItems, inputs: Sequence[Example]
) -> tuple[CounterfactualItems, list[NarratorRun]]:
    """The first given reason of each input as its sentence, with the other ones as references; no run if any has none.

    The sentences state the class of the data.
    """
    if any(example.label is None or not example.explanations for example in inputs):
        return data, []
    by_input = [
        tuple(sentence(data.labels[each.label or 0], shortened(why) or why) for why in each.explanations)
        for each in inputs
    ]
    return replace(data, references=tuple(row[1:] for row in by_input)), [_run([row[0] for row in by_input])]


def _run(sentences: Sequence[str]) -> NarratorRun:
    return NarratorRun(tuple(sentences), (), (), (), ())
