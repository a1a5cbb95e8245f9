"""Texts as a learned method sees them: encoded, with what the frozen model says of them. No label is read."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.models.asking import check_count
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Encoding, UnitKind
from explainers.models.inside import Inside, run
from explainers.models.padded import Padded, padded


@dataclass(frozen=True)
class Seen:
    """One text and the frozen model's probabilities (C,) of it."""

    encoding: Encoding
    probabilities: Tensor


@dataclass(frozen=True)
class Batch:
    inputs: Padded
    probabilities: Tensor  # (B, C): the frozen model's, of the whole texts
    known: Inside | None = None  # the pass over the whole texts, where it was made already

    @property
    def predicted(self) -> Tensor:
        """(B,)."""
        return self.probabilities.argmax(1)

    def inside(self, model: FrozenModel) -> Inside:
        """What the frozen model's layers say of the whole texts; no gradient."""
        return self.known or run(model, self.inputs)


def seen(model: FrozenModel, texts: Sequence[Example], unit: UnitKind = "word") -> list[Seen]:
    """Every text that has at least one unit, with the model's answer to it."""
    for each in texts:
        check_count(model.name, model.asks, each)
    encodings = [model.encode(Example(each.text, each.pair, picture=each.picture), unit) for each in texts]
    ready = sorted((each for each in encodings if each.units), key=lambda each: len(each.ids))
    if len(ready) < 2:
        raise DataUnavailable("There are fewer than two texts with words in them; a method needs some to learn from.")
    found = []
    for start in range(0, len(ready), 32):
        some = ready[start : start + 32]
        answers = run(model, padded(some, model.padding, model.device)).probabilities(model)
        found += [Seen(each, answer) for each, answer in zip(some, answers, strict=True)]
    order = {(each.ids, id(each.picture)): place for place, each in enumerate(encodings)}
    return sorted(found, key=lambda each: order[each.encoding.ids, id(each.encoding.picture)])


def batch(model: FrozenModel, items: Sequence[Seen]) -> Batch:
    inputs = padded([item.encoding for item in items], model.padding, model.device)
    return Batch(inputs, torch.stack([item.probabilities for item in items]))


def in_random_order(items: Sequence[Seen], size: int, order: random.Random) -> list[list[Seen]]:
    """Batches of about equal lengths (sorted within pools of ten) in random order; a last batch of one is left out."""
    shuffled = list(items)
    order.shuffle(shuffled)
    ready = []
    for start in range(0, len(shuffled), 10 * size):
        pool = sorted(shuffled[start : start + 10 * size], key=lambda item: len(item.encoding.ids))
        ready += [pool[at : at + size] for at in range(0, len(pool), size)]
    order.shuffle(ready)
    return [each for each in ready if len(each) > 1] or ready
