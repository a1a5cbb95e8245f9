"""Texts for the training of learned methods: encoded, with the frozen model's probabilities and its states.

No label is read. The states of whole texts, which every epoch reads again, are computed once per text and kept in the
computer's memory as long as there is `ROOM`, the shortest texts first, because a batch holds neighbours in length; a
batch with other texts is computed in every step. The numbers are the same but for rounding.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs import padded_batch, requirements
from explainers.models.inputs.encoding import Encoding, UnitKind
from explainers.models.internals import Internals, forward_with_internals

ROOM = 1 << 30  # bytes, for all texts of a training together
AT_ONCE = 32  # texts


@dataclass(frozen=True)
class LearningExample:
    """One text and the frozen model's probabilities (C,) of it."""

    encoding: Encoding
    probabilities: Tensor


@dataclass(frozen=True)
class Batch:
    inputs: padded_batch.PaddedBatch
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
        requirements.check_text_count(model.name, model.input_names, text)
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


@dataclass(frozen=True)
class StatesRead:
    """What a method reads of whole texts in every step, besides the logits; by default nothing."""

    layers: frozenset[int] = frozenset()  # numbers in `Internals.hidden`: 0 is the embeddings
    projections: bool = False  # the queries and keys of all layers
    standardised: bool = False  # whether its network reads them so, and not as the model leaves them


class KeptStates:
    """The states of one training's texts; those of layers that are not read are empty, (B, L, 0)."""

    def __init__(self, model: FrozenModel, examples: Sequence[LearningExample], read: StatesRead) -> None:
        self.bytes, self._device = 0, model.device
        self._by_example: dict[int, Internals] = {}  # by its id, with states (L, d)
        self._padding: Tensor = torch.empty(0)
        if read == StatesRead() or model.multimodal:  # of images there are more positions than tokens
            return
        ordered = sorted(examples, key=lambda example: len(example.encoding.ids))
        # CIMI mixes another text into this one, and behind its end its padding
        self._padding = forward_with_internals(model, batch(model, [ordered[0], ordered[-1]]).inputs).hidden[0][0].cpu()
        for start in range(0, len(ordered), AT_ONCE):
            some = ordered[start : start + AT_ONCE]
            internals = forward_with_internals(model, batch(model, some).inputs)
            for row, example in enumerate(some):
                own = _row(internals, row, len(example.encoding.ids), read)
                self.bytes += sum(states.nbytes for states in (*own.hidden, *own.queries, *own.keys))
                if self.bytes > ROOM:
                    return
                self._by_example[id(example)] = own

    def __len__(self) -> int:
        """How many texts' states are kept."""
        return len(self._by_example)

    def added_to(self, some: Batch, examples: Sequence[LearningExample]) -> Batch:
        """The batch of these examples, with their states if those of all are kept."""
        if not all(id(example) in self._by_example for example in examples):
            return some
        rows, length = [self._by_example[id(example)] for example in examples], some.inputs.ids.shape[1]
        embeddings = [self._padded(row.hidden[0], length) for row in rows]
        hidden, queries, keys = (
            tuple(pad_sequence(list(layer), batch_first=True).to(self._device) for layer in zip(*states, strict=True))
            for states in (
                [(embedded, *row.hidden[1:]) for embedded, row in zip(embeddings, rows, strict=True)],
                [row.queries for row in rows],
                [row.keys for row in rows],
            )
        )
        logits = torch.stack([row.logits for row in rows]).to(self._device)
        return replace(some, internals=Internals(logits, hidden, queries, keys))

    def _padded(self, embedded: Tensor, length: int) -> Tensor:
        """(L, d) → (length, d)."""
        padding = self._padding[len(embedded) : length, : embedded.shape[1]]
        return torch.cat([embedded, padding])


def _row(internals: Internals, row: int, length: int, read: StatesRead) -> Internals:
    """One text's logits (C,), and its states without padding, (L, d) or (L, 0), in memory of their own."""

    def own(states: Tensor, *, kept: bool) -> Tensor:
        return states[row, :length, : states.shape[2] if kept else 0].cpu().clone()

    hidden = tuple(own(states, kept=number in read.layers) for number, states in enumerate(internals.hidden))
    queries, keys = (
        tuple(own(states, kept=True) for states in part) if read.projections else ()
        for part in (internals.queries, internals.keys)
    )
    return Internals(internals.logits[row].cpu(), hidden, queries, keys)
