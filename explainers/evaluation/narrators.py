"""Narrators compared on unseen items, as in the paper's Tables 2 and 3: φ, φ + TS and CAuSE over several seeds.

Every item is narrated once with the likeliest words, and five times at temperatures 0.2 … 1.0, from its own state and
from a counterfactual one; the vote of the five is the stated class. All sentences are generated freely, without
teacher forcing.

What C2 gets from φ, and whether it follows the model inside: the consequences of how the leak is closed.

What the sentences of narrators are compared with: random training sentences of the same class, copies of the input,
and the given reasons.

A record per input of an evaluation of narrators: its texts and classes, the given reasons, and the sentences.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.narrative import (
    generation,
    interchange,
    interchange_check,
    narrator_input,
    reconstruction,
    text_metrics,
)
from explainers.narrative.counterfactual import Counterfactual, counterfactuals
from explainers.narrative.narrator import Narrator
from explainers.narrative.sentences import (
    NarratorItem,
    sentence,
    shortened,
    stack_inputs,
    stack_items,
    stated_class,
)

HELD = 0.99  # of the variance of F(c)


@dataclass(frozen=True)
class ReaderMetrics:
    """`directions` are the principal ones that hold 99 % of the variance of F(c). `followed` is the share of exchanges
    in the head's hidden layers after which C2, exchanged alike, has the model's new class. Those count that change the
    model's class and before which C2 agreed, so a C2 that keeps its class follows none; None where there are none."""

    directions: int
    followed: float | None


@torch.no_grad()
def reader_metrics(head: nn.Sequential, c2: nn.Sequential, states: Tensor, read: Tensor) -> ReaderMetrics:
    """Measure a reader on n inputs with c = `states` (n, d) and F(c) = `read` (n, d).

    Every input is a base for every other one; in each hidden layer one draw of 20 % of the neurons is exchanged.
    """
    before, agreed = interchange.activations(head, states)[-1].argmax(1), c2(read).argmax(1)
    agreeing = (before == agreed).nonzero()[:, 0].tolist()
    changed = followed = 0
    for layer in range(1, len(interchange.layer_sizes(head))):
        neurons = torch.tensor(interchange_check.random_neurons(interchange.layer_sizes(head)[layer], 0))
        for base in agreeing:
            after, other = (
                interchange.run_with_exchange(part, given[base].expand_as(given), given, layer, neurons).argmax(1)
                for part, given in ((head, states), (c2, read))
            )
            moved = after != before[base]
            changed += int(moved.sum())
            followed += int((moved & (after == other)).sum())
    return ReaderMetrics(directions(read), followed / changed if changed else None)


def directions(read: Tensor) -> int:
    """How many principal directions hold 99 % of the variance of the rows (n, d); 0 where they are all equal."""
    exact = read.double()
    centred = exact - exact.mean(0)
    variances = torch.linalg.svdvals(centred).square().cpu().numpy()
    if variances.sum() < 1e-12:
        return 0
    return int(np.searchsorted(np.cumsum(variances) / variances.sum(), HELD) + 1)


TEMPERATURES = (0.2, 0.4, 0.6, 0.8, 1.0)
BATCH = 250


@dataclass(frozen=True)
class WordEffect:
    """How much further a probability falls without the words that a sentence names than without as many random ones.

    nan where the sentence names no word, or there are no others to compare with.
    """

    names_words: bool
    against_words: float
    against_content: float  # the random ones are content words too


@dataclass(frozen=True)
class NarratorRun:
    """The output of one narrator with one seed for n items."""

    sentences: tuple[str, ...]  # the likeliest sentence of each item
    votes: tuple[int, ...]  # stated class of each item; NONE if none
    counterfactual_votes: tuple[int, ...]  # stated class of each counterfactual state
    c2_classes: tuple[int, ...]  # class that C2 reads from the likeliest sentence; empty without C2
    c2_counterfactual_classes: tuple[int, ...]
    truths: tuple[bool | None, ...] = ()  # of each item, whether its reason is true; empty where nothing can check it
    truths_of_other: tuple[bool | None, ...] = ()  # the same reason about the next item's input
    topics: tuple[bool | None, ...] = ()  # whether it is about what the given reason is about; None if that is unknown
    word_effects: tuple[WordEffect, ...] = ()  # of each item; empty where they were not measured
    reader: ReaderMetrics | None = None  # None without C2


@dataclass(frozen=True)
class CounterfactualItems:
    """n items with their counterfactuals, and what their narratives are compared with. `head` is C1."""

    items: tuple[NarratorItem, ...]
    texts: tuple[str, ...]  # all words of each input
    references: tuple[tuple[str, ...], ...]  # human sentences, empty where there are none or the model is wrong
    counterfactual: Counterfactual
    labels: tuple[str, ...]
    head: nn.Sequential | None = None

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
    return CounterfactualItems(tuple(items), tuple(texts), references, counterfactual, tuple(labels), head)


def run_narrator(narrator: Narrator, data: CounterfactualItems, seed: int) -> NarratorRun:
    """Sentences and votes for every item."""
    inputs = stack_inputs(data.items)
    altered = inputs.with_states(data.counterfactual.states)
    likeliest, read = _likeliest(narrator, inputs)
    _, altered_read = _likeliest(narrator, altered)
    return NarratorRun(
        tuple(narrator.language.text(ids) for ids in likeliest),
        _votes(narrator, inputs, data.labels, 1000 * seed),
        _votes(narrator, altered, data.labels, 1000 * seed + 500),
        _classes(narrator, read),
        _classes(narrator, altered_read),
        reader=reader_metrics(data.head, narrator.c2, inputs.states, read) if read is not None and data.head else None,
    )


def likeliest_sentences(narrator: Narrator, data: CounterfactualItems) -> NarratorRun:
    """The sentences alone."""
    ids = [row for batch in stack_inputs(data.items).split(BATCH) for row in generation.generate(narrator, batch)]
    return NarratorRun(tuple(narrator.language.text(row) for row in ids), (), (), (), ())


def _classes(narrator: Narrator, read: Tensor | None) -> tuple[int, ...]:
    """That C2 gives to F(c); none without C2."""
    return () if read is None else tuple(narrator.c2(read).argmax(1).tolist())


def _likeliest(narrator: Narrator, inputs: narrator_input.NarratorInput) -> tuple[list[list[int]], Tensor | None]:
    """The likeliest sentences as ids, and F(c), (n, d); None without C2."""
    sentences: list[list[int]] = []
    read: list[Tensor] = []
    for batch in inputs.split(BATCH):
        generated = generation.generate(narrator, batch)
        sentences += generated
        if narrator.has_reader:
            read.append(reconstruction.reading(narrator, batch, generated))
    return sentences, torch.cat(read) if read else None


def _votes(
    narrator: Narrator, inputs: narrator_input.NarratorInput, labels: Sequence[str], seed: int
) -> tuple[int, ...]:
    by_temperature: list[list[int]] = []
    for number, temperature in enumerate(TEMPERATURES):
        classes: list[int] = []
        for part, batch in enumerate(inputs.split(BATCH)):
            for ids in generation.generate(narrator, batch, temperature=temperature, seed=seed + 10 * part + number):
                stated = stated_class(narrator.language.text(ids), labels)
                classes.append(text_metrics.NONE if stated is None else stated)
        by_temperature.append(classes)
    return tuple(text_metrics.voted(classes) for classes in zip(*by_temperature, strict=True))


RANDOM, COPY, GIVEN = "random_training_sentence", "copied_input", "given_reason"
DRAWS = 3


def random_sentences(
    training: Sequence[Example], predicted: Sequence[int], labels: Sequence[str], draws: int = DRAWS
) -> list[NarratorRun]:
    """For every input the predicted class with the reason of a random training example of that class."""
    reasons: list[set[str]] = [set() for _ in labels]
    for example in training:
        if example.label is not None:
            reasons[example.label] |= {shortened(explanation) for explanation in example.explanations}
    pools = [sorted(reason - {""}) or [""] for reason in reasons]
    return [
        _run([sentence(labels[label], pools[label][rng.integers(len(pools[label]))]) for label in predicted])
        for rng in map(np.random.default_rng, range(draws))
    ]


def copies(inputs: Sequence[Example], predicted: Sequence[int], labels: Sequence[str]) -> list[NarratorRun]:
    """For every input the predicted class with its last text as the reason, which no metric should reward."""
    texts = [(example.pair or example.text).strip().rstrip(".") for example in inputs]
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
        tuple(sentence(data.labels[example.label or 0], shortened(why) or why) for why in example.explanations)
        for example in inputs
    ]
    return replace(data, references=tuple(row[1:] for row in by_input)), [_run([row[0] for row in by_input])]


def _run(sentences: Sequence[str]) -> NarratorRun:
    return NarratorRun(tuple(sentences), (), (), (), ())


def input_text(example: Example) -> str:
    """All words of an example."""
    return " ".join(filter(None, (example.text, example.pair)))


def record_text(record: Mapping[str, Any]) -> str:
    """All words of the input of a record."""
    return " ".join(filter(None, (record["text"], record["pair"])))


def item_records(
    inputs: Sequence[Example], predicted: Sequence[int], runs: dict[str, list[NarratorRun]], labels: Sequence[str]
) -> list[dict[str, Any]]:
    """Per input: its texts, true and predicted class, human reasons, and the first seed's sentence of each narrator."""
    return [
        {
            "text": example.text,
            "pair": example.pair,
            "pictured": example.image is not None,
            "label": labels[example.label or 0],
            "predicted": labels[predicted[number]],
            "people": list(example.explanations),
            **{method: mine[0].sentences[number] for method, mine in runs.items()},
            **_checks_of(number, runs),
        }
        for number, example in enumerate(inputs)
    ]


def _checks_of(number: int, runs: dict[str, list[NarratorRun]]) -> dict[str, dict[str, bool | None]]:
    """Map each narrator to whether its reason for this input is true, and on topic; empty where not checked."""
    first = {method: mine[0] for method, mine in runs.items()}
    checks = {
        "true": {method: run.truths[number] for method, run in first.items() if run.truths},
        "on_topic": {method: run.topics[number] for method, run in first.items() if run.topics},
    }
    return {name: by_narrator for name, by_narrator in checks.items() if by_narrator}
