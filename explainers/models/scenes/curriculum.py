"""One step's samples as tensors, prepared in a process of their own beside the training.

In every third sample some words are [MASK] and some patches show the image's mean colour while the label stays: the
model learns the probability of each label given what is left, and the operators by which units are erased later. Most
patches without ink are left out of most samples, which halves the time and is how "delete" erases.
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
from explainers.models.scenes.auxiliary_targets import UNKNOWN
from explainers.models.scenes.network import PATCH, PATCHES, scaled
from explainers.models.scenes.recipe import SceneModelRecipe
from explainers.models.scenes.samples import SceneSample, Sources
from explainers.models.scenes.vocabulary import MASK, PAD, PATCH_ID, framed


@dataclass(frozen=True)
class SceneBatch:
    ids: Tensor  # (B, L)
    segments: Tensor  # (B, L)
    attention: Tensor  # (B, L)
    patches: Tensor  # (B, P, 1875)
    numbers: Tensor  # (B, P): which of the 48 patches each is
    means: Tensor  # (B, 1, 1875): a patch of the image's mean colour
    labels: Tensor  # (B,)
    holds: Tensor  # (B, P, 35); this and the following as in `AuxiliaryTargets`
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


def collate(samples: Sequence[SceneSample], tokenizer: Tokenizer, kept: Sequence[NDArray[np.int64]] = ()) -> SceneBatch:
    """`kept` are the numbers of each sample's patches that are read; by default all."""
    patches = [torch.from_numpy(each) for each in kept] or [torch.arange(PATCHES)] * len(samples)
    numbers = nn.utils.rnn.pad_sequence(patches, batch_first=True)  # (B, P)
    most = numbers.shape[1]
    real = torch.arange(most) < torch.tensor([len(each) for each in patches])[:, None]
    sentences = tokenizer.encode_batch([each.text for each in samples], add_special_tokens=False)
    rows = [framed(sentence.ids, most) for sentence in sentences]
    ids = nn.utils.rnn.pad_sequence([torch.tensor(row[0]) for row in rows], batch_first=True, padding_value=PAD)
    segments = nn.utils.rnn.pad_sequence([torch.tensor(row[1]) for row in rows], batch_first=True)
    attention = (ids != PAD).long()
    attention[:, 1 : most + 1] = real.long()
    each_row = torch.arange(len(samples))[:, None]

    def target(name: str) -> Tensor:
        values = torch.from_numpy(np.stack([getattr(each.targets, name) for each in samples]))[each_row, numbers]
        return values.where(real.view(*real.shape, *[1] * (values.ndim - 2)), UNKNOWN)

    raw = np.stack([each.patches for each in samples])  # (B, 48, 1875)
    lines = raw.reshape(len(samples), -1, 3 * PATCH).sum(1, dtype=np.uint32)  # (B, 75)
    means = lines.reshape(len(samples), PATCH, 3).sum(1) / (PATCHES * PATCH**2)  # (B, 3)
    return SceneBatch(
        ids,
        segments,
        attention,
        scaled(raw[each_row.numpy(), numbers.numpy()]),
        numbers,
        scaled(np.tile(means, PATCH**2))[:, None],
        torch.tensor([each.label for each in samples]),
        *map(target, ("holds", "fits", "number", "good", "matters")),
        *(torch.tensor([getattr(each.targets, name) for each in samples]) for name in ("count", "quantifier", "n")),
    )


def kept_patches(
    samples: Sequence[SceneSample], recipe: SceneModelRecipe, generator: np.random.Generator
) -> list[NDArray[np.int64]]:
    """The numbers of the patches that are kept of each sample."""
    kept = []
    for sample in samples:
        empty = (sample.patches == PAPER[0]).all(1) & (generator.random() < recipe.thinned)
        kept.append(np.flatnonzero(~empty | (generator.random(PATCHES) >= recipe.left_out)))
    return kept


def erase_units(batch: SceneBatch, recipe: SceneModelRecipe, generator: torch.Generator) -> SceneBatch:
    """Some samples lose a random share of their words, of their patches, or of both. The
    contents of an erased patch are no target."""
    rows = len(batch.ids)
    chosen = torch.rand(rows, 1, generator=generator) < recipe.erased
    shares = torch.rand(2, rows, 1, generator=generator) * recipe.most_erased * chosen
    masked = (torch.rand(batch.ids.shape, generator=generator) < shares[0]) & (batch.ids > PATCH_ID)
    blank = (torch.rand(batch.numbers.shape, generator=generator) < shares[1])[:, :, None]
    return replace(
        batch,
        ids=batch.ids.where(~masked, MASK),
        patches=torch.where(blank, batch.means, batch.patches),
        holds=batch.holds.where(~blank, UNKNOWN),
        fits=batch.fits.where(~blank, UNKNOWN),
    )


@dataclass(frozen=True)
class Curriculum(Dataset[list[SceneBatch]]):
    """By the number of a step: its samples as two batches, the shorter inputs and the longer ones, which take about the
    same time. `part` gives only one of them."""

    sources: Sources
    tokenizer: Tokenizer
    recipe: SceneModelRecipe
    part: int | None = None

    def __len__(self) -> int:
        return self.recipe.steps

    def __getitem__(self, step: int) -> list[SceneBatch]:
        recipe, number = self.recipe, self.recipe.seed * 1_000_003 + step
        borrowed = recipe.borrowed if step >= recipe.alone else 0.0
        samples = self.sources.sample(number, recipe.batch, human=recipe.human, borrowed=borrowed)
        return self.batches(samples, number)

    def batches(self, samples: Sequence[SceneSample], number: int) -> list[SceneBatch]:
        kept = kept_patches(samples, self.recipe, np.random.default_rng(number))
        tokens = {row: len(kept[row]) + len(samples[row].text) // 4 for row in range(len(samples))}  # about
        order = sorted(tokens, key=tokens.__getitem__)
        longest, count = tokens[order[-1]], len(order)
        middle = min(range(count), key=lambda cut: max(cut * tokens[order[cut - 1]], (count - cut) * longest))
        batches = []
        for part, rows in enumerate((order[:middle], order[middle:])):
            if self.part in (None, part):
                batch = collate([samples[row] for row in rows], self.tokenizer, [kept[row] for row in rows])
                batches.append(erase_units(batch, self.recipe, torch.Generator().manual_seed(2 * number + part)))
        return batches
