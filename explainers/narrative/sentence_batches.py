"""Many examples at once: the states that the model's head reads, and a narrator's sentences and states F(c)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel
from explainers.narrative.cause import Narrator
from explainers.narrative.generation import generate, reading
from explainers.narrative.sentences import narrator_items, stack_items, stated_class

AT_ONCE = 128


@dataclass(frozen=True, eq=False)
class HeadStates:
    """What the frozen model's head reads of n examples, and its logits."""

    states: Tensor  # (n, d): c
    logits: Tensor  # (n, C)


@dataclass(frozen=True, eq=False)
class SentenceBatch:
    """The likeliest sentence for each of n states, the class it states, and F(c); (n, 0) without C2."""

    sentences: tuple[str, ...]
    stated: tuple[int | None, ...]
    read: Tensor  # (n, d)


def head_states(model: FrozenModel, examples: Sequence[Example]) -> HeadStates:
    return HeadStates(*stack_items(narrator_items(model, examples)))


@torch.no_grad()
def generate_batch(narrator: Narrator, states: Tensor, labels: Sequence[str]) -> SentenceBatch:
    """For states (n, d)."""
    sentences: list[str] = []
    read: list[Tensor] = []
    for some in torch.split(states, AT_ONCE):
        rows = generate(narrator, some)
        sentences += [narrator.language.text(row) for row in rows]
        read.append(reading(narrator, some, rows) if narrator.has_reader else some.new_zeros(len(some), 0))
    return SentenceBatch(tuple(sentences), tuple(stated_class(each, labels) for each in sentences), torch.cat(read))
