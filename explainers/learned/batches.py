"""Texts for the training of learned methods: encoded, with the frozen model's probabilities. No label is read."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, UnitKind
from explainers.models.inputs.padded_batch import PaddedBatch
from explainers.models.inputs.requirements import check_text_count
from explainers.models.internals import Internals, forward_with_internals


@dataclass(frozen=True)
class LearningExample:
    """One text and the frozen model's probabilities (C,) of it."""

    encoding: Encoding
    probabilities: Tensor


@dataclass(frozen=True)
class Batch:
    inputs: PaddedBatch
    probabilities: Tensor  # (B, C): the frozen model's, of the whole texts
    internals: Internals | None = None  # of the whole texts, if they are computed already
    done: float = 0.0  # the share of the training's steps that are made
    encodings: tuple[Encoding, ...] = ()  # of the texts, where more than their ids is read

    @property
    def predicted(self) -> Tensor:
        """(B,)."""
        return self.probabilities.argmax(1)

    def about(self, label: int) -> "Batch":
        """The same texts with this class as the certain prediction, where it is not the prediction already."""
        asked = torch.full_like(self.predicted, label)
        certain = torch.nn.functional.one_hot(asked, self.probabilities.shape[1]).to(self.probabilities)
        return replace(self, probabilities=torch.where((self.predicted == asked)[:, None], self.probabilities, certain))

    def internals_of(self, model: FrozenModel) -> Internals:
        """The frozen model's internals for the whole texts, without gradient."""
        return self.internals or forward_with_internals(model, self.inputs)


def encode_for_learning(model: FrozenModel, texts: Sequence[Example], unit: UnitKind = "word") -> list[LearningExample]:
    """The texts with at least one unit, in their order, with the model's probabilities."""
    for text in texts:
        check_text_count(model.name, model.input_names, text)
    encodings = [model.encode(Example(text.text, text.pair, image=text.image), unit) for text in texts]
    readable = sorted((encoding for encoding in encodings if encoding.units), key=lambda encoding: len(encoding.ids))
    if len(readable) < 2:
        raise DataUnavailable("A method learns from two texts or more that have words. Give more texts.")
    examples = []
    for start in range(0, len(readable), 32):
        some = readable[start : start + 32]
        probabilities = forward_with_internals(model, model.padded(some)).probabilities(model)
        examples += [LearningExample(encoding, row) for encoding, row in zip(some, probabilities, strict=True)]
    position = {(encoding.ids, id(encoding.image)): index for index, encoding in enumerate(encodings)}
    return sorted(examples, key=lambda example: position[example.encoding.ids, id(example.encoding.image)])


def batch(model: FrozenModel, examples: Sequence[LearningExample], done: float = 0.0) -> Batch:
    encodings = tuple(item.encoding for item in examples)
    inputs = model.padded(encodings)
    probabilities = torch.stack([item.probabilities for item in examples])
    return Batch(inputs, probabilities, done=done, encodings=encodings)


def in_random_order(
    examples: Sequence[LearningExample], size: int, order: random.Random
) -> list[list[LearningExample]]:
    """Batches of about equal lengths (sorted within pools of ten) in random order; a last batch of one is left out."""
    shuffled = list(examples)
    order.shuffle(shuffled)
    batches = []
    for start in range(0, len(shuffled), 10 * size):
        pool = sorted(shuffled[start : start + 10 * size], key=lambda item: len(item.encoding.ids))
        batches += [pool[at : at + size] for at in range(0, len(pool), size)]
    order.shuffle(batches)
    return [batch for batch in batches if len(batch) > 1] or batches
