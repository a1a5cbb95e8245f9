"""Many examples at once: the states that the model's head reads, and a narrator's sentences and states F(c)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel
from explainers.narrative.generation import generate
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.narrative.reconstruction import reading
from explainers.narrative.sentences import narrator_items, stack_inputs, stated_class


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
    return HeadStates(stack_inputs(items), torch.stack([each.logits for each in items]))


@torch.no_grad()
def generate_batch(narrator: Narrator, inputs: NarratorInput, labels: Sequence[str]) -> SentenceBatch:
    sentences: list[str] = []
    read: list[Tensor] = []
    for some in inputs.split():
        rows = generate(narrator, some)
        sentences += [narrator.language.text(row) for row in rows]
        read.append(reading(narrator, some, rows) if narrator.has_reader else some.states.new_zeros(len(some), 0))
    return SentenceBatch(tuple(sentences), tuple(stated_class(each, labels) for each in sentences), torch.cat(read))
