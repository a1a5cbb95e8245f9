"""Training sentences of φ: the model's class, then the human reason if the model is right.

Algorithm 2 of the paper: a human explanation of the right class explains a model that chose it; for a model that chose
another class, the sentence states only the class. So φ learns the model's classes, not those of the data set.

Many examples at once: the states that the model's head reads, and a narrator's sentences and states F(c).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding
from explainers.models.internals import head_inputs
from explainers.narrative import content_words, generation, reconstruction, token_states
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NO_UNIT, InputTokens, NarratorInput, joined

AT_ONCE = 32
MOST_AT_ONCE = 256


@dataclass(frozen=True)
class NarratorItem:
    """One decision to put into words: the state that the head reads, the model's class, and the training sentences."""

    state: Tensor  # (d,): c
    logits: Tensor  # (C,): of the frozen head
    label: int  # the class that the model predicts
    right: bool  # whether it is the data set's
    sentences: tuple[str, ...]  # for training, at least one
    tokens: InputTokens | None = None  # the input's tokens, for a narrator that reads them


def sentence(label: str, reason: str = "") -> str:
    """ "The answer is neutral because the sisters may not be …"."""
    reason = reason.strip().rstrip(".")
    return f"{content_words.OPENING} {label} because {reason}." if reason else f"{content_words.OPENING} {label}."


def narrator_items(model: FrozenModel, examples: Sequence[Example], layer: int = 0) -> list[NarratorItem]:
    """The items of the examples, in their order, filtered by Algorithm 2; with a `layer` they keep the tokens."""
    if len(examples) > MOST_AT_ONCE:  # encoded images are large
        parts = range(0, len(examples), MOST_AT_ONCE)
        return [
            item for start in parts for item in narrator_items(model, examples[start : start + MOST_AT_ONCE], layer)
        ]
    encodings = [model.encode(Example(example.text, example.pair, image=example.image)) for example in examples]
    order = sorted(range(len(encodings)), key=lambda index: len(encodings[index].ids))
    by_index: dict[int, NarratorItem] = {}
    for start in range(0, len(order), AT_ONCE):
        indices = order[start : start + AT_ONCE]
        inputs, logits = read_inputs(model, [encodings[index] for index in indices], layer)
        for row, index in enumerate(indices):
            tokens = None if inputs.tokens is None else inputs.tokens.trimmed(row)
            by_index[index] = _item(model, examples[index], inputs.states[row], logits[row], tokens)
    return [by_index[index] for index in range(len(examples))]


def read_inputs(model: FrozenModel, encodings: Sequence[Encoding], layer: int) -> tuple[NarratorInput, Tensor]:
    """What a narrator reads of the model, c and the tokens of `layer` or c alone (0), and the model's logits (B, C).

    Raises `ExplanationError` where the model has no such layer, or no head of several layers."""
    if not layer:
        states, logits = head_inputs(model, encodings)
        return NarratorInput(states), logits
    batch = model.padded(encodings)
    read = token_states.batch_token_states(model, batch, layer)
    words = tuple(tuple(unit.text if unit.kind == "word" else "" for unit in encoding.units) for encoding in encodings)
    texts = tuple(tuple(unit.segment for unit in encoding.units) for encoding in encodings)
    units = batch.owners.masked_fill(~batch.owned, NO_UNIT)
    return NarratorInput(read.states, InputTokens(read.tokens, read.real, units, words, texts)), read.logits


def _item(
    model: FrozenModel, example: Example, state: Tensor, logits: Tensor, tokens: InputTokens | None
) -> NarratorItem:
    label = int(logits.argmax())
    right, name = label == example.label, model.labels[label]
    reasons = [reason for explanation in example.explanations if right and (reason := shortened(explanation))]
    sentences = tuple(sentence(name, reason) for reason in reasons) or (sentence(name),)
    return NarratorItem(state, logits, label, right, sentences, tokens)


def shortened(reason: str, longest: int = 26) -> str:
    """The first sentences of a human explanation that fit into `longest` words; "" if the first one is longer."""
    sentences: list[str] = []
    for part in re.split(r"(?<=[.!?])\s+", reason.strip()):
        if sum(len(sentence.split()) for sentence in (*sentences, part)) > longest:
            break
        sentences.append(part)
    return " ".join(sentences)


def stated_class(text: str, labels: Sequence[str]) -> int | None:
    """The class that a sentence states: the first label that it names in whole words; at the same place the longest.

    None if it names none; a default class would get hits by chance.
    """
    matches = [
        (match.start(), -len(label), index)
        for index, label in enumerate(labels)
        if (match := re.search(rf"(?<!\w){re.escape(label.lower())}(?!\w)", text.lower()))
    ]
    return min(matches)[-1] if matches else None


def without_label(text: str, labels: Sequence[str]) -> str:
    """The sentence without class names, in all their forms."""
    names = [rf"{re.escape(label)}(?!\w)" for label in sorted(labels, key=len, reverse=True)]
    other_forms = [rf"{re.escape(label[: max(5, len(label) - 4)])}\w*" for label in labels if len(label) > 5]
    return " ".join(re.sub(rf"(?<!\w)({'|'.join(names + other_forms)})", "", text, flags=re.IGNORECASE).split())


def stack_items(items: Sequence[NarratorItem]) -> tuple[Tensor, Tensor]:
    """States (B, d) and logits (B, C)."""
    return torch.stack([item.state for item in items]), torch.stack([item.logits for item in items])


def stack_inputs(items: Sequence[NarratorItem]) -> NarratorInput:
    """What a narrator reads of the items."""
    return joined(torch.stack([item.state for item in items]), [item.tokens for item in items])


def class_means(items: Sequence[NarratorItem], classes: int) -> Tensor:
    """The mean state (C, d) of the items of each class of the model; 0 for a class without items."""
    states, logits = stack_items(items)
    of_class = (logits.argmax(1) == torch.arange(classes, device=states.device)[:, None]).float()  # (C, n)
    return of_class @ states / of_class.sum(1, keepdim=True).clamp(min=1)


@dataclass(frozen=True, eq=False)
class HeadStates:
    """What is read of n examples, and the model's logits."""

    inputs: NarratorInput
    logits: Tensor  # (n, C)

    @property
    def states(self) -> Tensor:
        """(n, d): c, what the frozen model's head reads."""
        return self.inputs.states


@dataclass(frozen=True, eq=False)
class SentenceBatch:
    """The likeliest sentence for each of n states, the class it states, and F(c); (n, 0) without C2."""

    sentences: tuple[str, ...]
    stated: tuple[int | None, ...]
    read: Tensor  # (n, d)


def head_states(model: FrozenModel, examples: Sequence[Example], layer: int = 0) -> HeadStates:
    """For a narrator that sees `layer`; 0 for one that reads c alone."""
    items = narrator_items(model, examples, layer)
    return HeadStates(stack_inputs(items), torch.stack([item.logits for item in items]))


@torch.no_grad()
def generate_batch(narrator: Narrator, inputs: NarratorInput, labels: Sequence[str]) -> SentenceBatch:
    sentences: list[str] = []
    read: list[Tensor] = []
    for some in inputs.split():
        rows = generation.generate(narrator, some)
        sentences += [narrator.language.text(row) for row in rows]
        read.append(
            reconstruction.reading(narrator, some, rows) if narrator.has_reader else some.states.new_zeros(len(some), 0)
        )
    return SentenceBatch(
        tuple(sentences), tuple(stated_class(sentence, labels) for sentence in sentences), torch.cat(read)
    )
