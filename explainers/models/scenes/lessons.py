"""One step's samples as tensors, made beside the training by a process of their own.

In every third sample some words are [MASK] and some patches show the picture's mean colour while the label stays: so
the model learns the probability of each label given what is left, and knows the operators by which units are erased
from it later. Most of the patches that show nothing but paper are left out of most samples: that saves half of the
time, and is how "delete" erases.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.utils.data import Dataset

from explainers.datasets.scenes.drawing import PAPER
from explainers.models.scenes.hints import UNKNOWN
from explainers.models.scenes.network import PATCH, PATCHES, scaled
from explainers.models.scenes.reader import LOOK, MASK, PAD, framed
from explainers.models.scenes.recipe import Recipe
from explainers.models.scenes.samples import Sample, Sources


@dataclass(frozen=True)
class Batch:
    ids: Tensor  # (B, L)
    segments: Tensor  # (B, L)
    attention: Tensor  # (B, L)
    patches: Tensor  # (B, P, 1875)
    numbers: Tensor  # (B, P): which of the 48 places each has
    means: Tensor  # (B, 1, 1875): a patch of the picture's mean colour
    labels: Tensor  # (B,)
    holds: Tensor  # (B, P, 35); this and the following as in `Hints`
    fits: Tensor  # (B, P, 2)
    number: Tensor  # (B, P)
    good: Tensor  # (B, P)
    matters: Tensor  # (B, P)
    counts: Tensor  # (B,)
    quantifiers: Tensor  # (B,)
    n: Tensor  # (B,)

    @property
    def inputs(self) -> dict[str, Tensor]:
        return {"attention_mask": self.attention, "token_type_ids": self.segments}


def collate(samples: Sequence[Sample], reader: Tokenizer, kept: Sequence[NDArray[np.int64]] = ()) -> Batch:
    """`kept` are the numbers of the patches of each sample that are read; all without it."""
    places = [torch.from_numpy(each) for each in kept] or [torch.arange(PATCHES)] * len(samples)
    numbers = nn.utils.rnn.pad_sequence(places, batch_first=True)  # (B, P)
    most = numbers.shape[1]
    real = torch.arange(most) < torch.tensor([len(each) for each in places])[:, None]
    sentences = reader.encode_batch([each.text for each in samples], add_special_tokens=False)
    rows = [framed(found.ids, most) for found in sentences]
    ids = nn.utils.rnn.pad_sequence([torch.tensor(row[0]) for row in rows], batch_first=True, padding_value=PAD)
    segments = nn.utils.rnn.pad_sequence([torch.tensor(row[1]) for row in rows], batch_first=True)
    attention = (ids != PAD).long()
    attention[:, 1 : most + 1] = real.long()
    each_row = torch.arange(len(samples))[:, None]

    def chosen(name: str) -> Tensor:
        known = torch.from_numpy(np.stack([getattr(each.hints, name) for each in samples]))[each_row, numbers]
        return known.where(real.view(*real.shape, *[1] * (known.ndim - 2)), UNKNOWN)

    raw = np.stack([each.patches for each in samples])  # (B, 48, 1875)
    lines = raw.reshape(len(samples), -1, 3 * PATCH).sum(1, dtype=np.uint32)  # (B, 75)
    means = lines.reshape(len(samples), PATCH, 3).sum(1) / (PATCHES * PATCH**2)  # (B, 3)
    return Batch(
        ids,
        segments,
        attention,
        scaled(raw[each_row.numpy(), numbers.numpy()]),
        numbers,
        scaled(np.tile(means, PATCH**2))[:, None],
        torch.tensor([each.label for each in samples]),
        *map(chosen, ("holds", "fits", "number", "good", "matters")),
        *(torch.tensor([getattr(each.hints, name) for each in samples]) for name in ("count", "quantifier", "n")),
    )


def thinned(samples: Sequence[Sample], recipe: Recipe, chance: np.random.Generator) -> list[NDArray[np.int64]]:
    """The patches that are left of each sample."""
    found = []
    for sample in samples:
        empty = (sample.patches == PAPER[0]).all(1) & (chance.random() < recipe.thinned)
        found.append(np.flatnonzero(~empty | (chance.random(PATCHES) >= recipe.left_out)))
    return found


def erased(batch: Batch, recipe: Recipe, chance: torch.Generator) -> Batch:
    """Some samples lose a random share of their words, of their patches, or of both. What an erased patch itself holds
    is not asked."""
    rows = len(batch.ids)
    chosen = torch.rand(rows, 1, generator=chance) < recipe.erased
    shares = torch.rand(2, rows, 1, generator=chance) * recipe.most_erased * chosen
    gone = (torch.rand(batch.ids.shape, generator=chance) < shares[0]) & (batch.ids > LOOK)
    blank = (torch.rand(batch.numbers.shape, generator=chance) < shares[1])[:, :, None]
    return replace(
        batch,
        ids=batch.ids.where(~gone, MASK),
        patches=torch.where(blank, batch.means, batch.patches),
        holds=batch.holds.where(~blank, UNKNOWN),
        fits=batch.fits.where(~blank, UNKNOWN),
    )


@dataclass(frozen=True)
class Lessons(Dataset[list[Batch]]):
    """By the number of a step: its samples as two batches, the shorter inputs and the longer ones, which take about the
    same time. `part` gives only one of them."""

    sources: Sources
    reader: Tokenizer
    recipe: Recipe
    part: int | None = None

    def __len__(self) -> int:
        return self.recipe.steps

    def __getitem__(self, step: int) -> list[Batch]:
        recipe, number = self.recipe, self.recipe.seed * 1_000_003 + step
        borrowed = recipe.borrowed if step >= recipe.alone else 0.0
        samples = self.sources.drawn(number, recipe.batch, human=recipe.human, borrowed=borrowed)
        return self.batches(samples, number)

    def batches(self, samples: Sequence[Sample], number: int) -> list[Batch]:
        kept = thinned(samples, self.recipe, np.random.default_rng(number))
        tokens = {row: len(kept[row]) + len(samples[row].text) // 4 for row in range(len(samples))}  # about
        order = sorted(tokens, key=tokens.__getitem__)
        longest, count = tokens[order[-1]], len(order)
        middle = min(range(count), key=lambda cut: max(cut * tokens[order[cut - 1]], (count - cut) * longest))
        found = []
        for part, rows in enumerate((order[:middle], order[middle:])):
            if self.part in (None, part):
                batch = collate([samples[row] for row in rows], self.reader, [kept[row] for row in rows])
                found.append(erased(batch, self.recipe, torch.Generator().manual_seed(2 * number + part)))
        return found
