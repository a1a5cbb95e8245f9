"""Narrators compared on unseen items, as in the paper's Tables 2 and 3: φ, φ + TS and CAuSE over several seeds.

Every item is narrated once with the likeliest words, and five times at temperatures 0.2 … 1.0, from its own state and
from a counterfactual one; the vote of the five is the stated class. All sentences are generated freely, without
teacher forcing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from explainers.evaluation.reader_metrics import ReaderMetrics, reader_metrics
from explainers.narrative.counterfactual import Counterfactual, counterfactuals
from explainers.narrative.generation import generate
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.narrative.reconstruction import reading
from explainers.narrative.sentences import NarratorItem, sentence, stack_inputs, stack_items, stated_class
from explainers.narrative.text_metrics import NONE, voted

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
    truths_elsewhere: tuple[bool | None, ...] = ()  # the same reason about the next item's input
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
    ids = [row for batch in stack_inputs(data.items).split(BATCH) for row in generate(narrator, batch)]
    return NarratorRun(tuple(narrator.language.text(each) for each in ids), (), (), (), ())


def _classes(narrator: Narrator, read: Tensor | None) -> tuple[int, ...]:
    """That C2 gives to F(c); none without C2."""
    return () if read is None else tuple(narrator.c2(read).argmax(1).tolist())


def _likeliest(narrator: Narrator, inputs: NarratorInput) -> tuple[list[list[int]], Tensor | None]:
    """The likeliest sentences as ids, and F(c), (n, d); None without C2."""
    sentences: list[list[int]] = []
    read: list[Tensor] = []
    for batch in inputs.split(BATCH):
        generated = generate(narrator, batch)
        sentences += generated
        if narrator.has_reader:
            read.append(reading(narrator, batch, generated))
    return sentences, torch.cat(read) if read else None


def _votes(narrator: Narrator, inputs: NarratorInput, labels: Sequence[str], seed: int) -> tuple[int, ...]:
    by_temperature: list[list[int]] = []
    for number, temperature in enumerate(TEMPERATURES):
        classes: list[int] = []
        for part, batch in enumerate(inputs.split(BATCH)):
            for ids in generate(narrator, batch, temperature=temperature, seed=seed + 10 * part + number):
                stated = stated_class(narrator.language.text(ids), labels)
                classes.append(NONE if stated is None else stated)
        by_temperature.append(classes)
    return tuple(voted(classes) for classes in zip(*by_temperature, strict=True))
