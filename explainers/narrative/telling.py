"""Many examples at once: the states that the model's head reads, and what a narrator says of them and makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.models.classifier import FrozenModel
from explainers.narrative.cause import Narrator
from explainers.narrative.saying import reading, said
from explainers.narrative.texts import items, stacked, stated

AT_ONCE = 128


@dataclass(frozen=True, eq=False)
class Seen:
    """n examples as the frozen model sees them."""

    states: Tensor  # (n, d): c
    logits: Tensor  # (n, C)


@dataclass(frozen=True, eq=False)
class Told:
    """The likeliest sentence for each of n states, the class it states, and F(c); (n, 0) where there is no C2."""

    sentences: tuple[str, ...]
    stated: tuple[int | None, ...]
    read: Tensor  # (n, d)


def seen(model: FrozenModel, examples: Sequence[Example]) -> Seen:
    return Seen(*stacked(items(model, examples)))


@torch.no_grad()
def tell(narrator: Narrator, states: Tensor, labels: Sequence[str]) -> Told:
    """For states (n, d)."""
    sentences: list[str] = []
    read: list[Tensor] = []
    for some in torch.split(states, AT_ONCE):
        rows = said(narrator, some)
        sentences += [narrator.spoken.text(row) for row in rows]
        read.append(reading(narrator, some, rows) if narrator.reads else some.new_zeros(len(some), 0))
    return Told(tuple(sentences), tuple(stated(each, labels) for each in sentences), torch.cat(read))
