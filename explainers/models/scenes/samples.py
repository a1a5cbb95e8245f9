"""What `scenes` learns from: generated scenes, and NLVR's images with people's statements.

NLVR's labels stay true when boxes or, in image and text alike, colours are permuted, and when the image is mirrored.

Auxiliary training targets: what is known of a generated scene beside its label, for each patch and for the whole.

A thing belongs to the patch that holds its centre.

One step's samples as tensors, prepared in a process of their own beside the training.

In every third sample some words are [MASK] and some patches show the image's mean colour while the label stays: the
model learns the probability of each label given what is left, and the operators by which units are erased later. Most
patches without ink are left out of most samples, which halves the time and is how "delete" erases.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.utils.data import Dataset

from explainers.datasets.scenes.generator import Bank, SceneItem, generate_items
from explainers.datasets.scenes.statements import Boxes, Count, Every, Hues, Kind, Level, Next, Unanswerable, Within
from explainers.datasets.scenes.world import COLOURS, INKS, LEFTS, PAPER, SHAPES, SIDE, SIZES, Thing, box_frame, draw
from explainers.models.scenes import network
from explainers.models.scenes.recipe import SceneModelRecipe

UNKNOWN = -100  # as in torch: no loss here
COVERED, WALLS = 27, ("left", "right", "top", "bottom")  # after 27 kinds of things
CROWD = 3  # things in one patch; more count as so many
HOLDS = COVERED + 1 + len(WALLS) + CROWD
MOST = 9  # counts from here on are one class
QUANTIFIERS = ("exactly", "at least", "at most", "all", "no", "not all", "unsaid")
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class AuxiliaryTargets:
    """`UNKNOWN` where nothing is known, as everywhere in images that were not generated."""

    holds: Integers  # (48, 35): 1 for each kind of thing there, a cover, each wall touched, and 1, 2, 3 things at least
    fits: Integers  # (48, 2): visible things there of the first and of the second kind that the statement names
    number: Integers  # (48,): of things of the first kind, or of colours, in the patch's box
    good: Integers  # (48,): whether the patch's box meets the statement's conditions
    matters: Integers  # (48,): whether the patch holds evidence
    count: int
    quantifier: int
    n: int  # of the quantifier


def unknown(*shape: int) -> Integers:
    return np.full((network.PATCHES, *shape), UNKNOWN)


NO_TARGETS = AuxiliaryTargets(unknown(HOLDS), unknown(2), unknown(), unknown(), unknown(), UNKNOWN, UNKNOWN, UNKNOWN)


def auxiliary_targets(item: SceneItem) -> AuxiliaryTargets:
    statement = item.statement
    if isinstance(statement, Unanswerable):
        quantifier, n, count = QUANTIFIERS.index("unsaid"), UNKNOWN, UNKNOWN
    elif isinstance(statement, Every):
        quantifier, n, count = QUANTIFIERS.index(statement.quantifier), UNKNOWN, item.judgement.count
    else:
        quantifier, n, count = QUANTIFIERS.index(statement.number.how), statement.number.n, item.judgement.count
    matters = np.zeros((network.ROWS, network.COLUMNS), np.int64)
    for box in item.evidence.boxes:
        matters[tiles(box)] = 1
    number, good = box_targets(item)
    most = MOST - 1
    return AuxiliaryTargets(
        holds(item), fits(item), number, good, matters.reshape(-1), min(count, most), quantifier, min(n, most)
    )  # fmt: skip


def tiles(box: tuple[int, int, int, int]) -> tuple[slice, slice]:
    """Rows and columns of the patches that a box within one of the squares overlaps."""
    left, top, right, bottom = box
    number = max(square for square, start in enumerate(LEFTS) if start <= left)
    first, last = left - LEFTS[number], right - LEFTS[number]
    offset = number * SIDE // network.PATCH
    return slice(top // network.PATCH, -(-bottom // network.PATCH)), slice(
        offset + first // network.PATCH, offset - (-last // network.PATCH)
    )


def patch_of(thing: Thing) -> int:
    """The number of the patch that holds the thing's centre."""
    half = thing.size // 2
    return (thing.top + half) // network.PATCH * network.COLUMNS + (
        thing.box * SIDE + thing.left + half
    ) // network.PATCH


def holds(item: SceneItem) -> Integers:
    targets = np.zeros((network.PATCHES, HOLDS), np.int64)
    if item.scene.covered is not None:
        targets.reshape(network.ROWS, network.COLUMNS, HOLDS)[(*tiles(box_frame(item.scene.covered)), COVERED)] = 1
    for thing in item.scene.visible():
        kind = COLOURS.index(thing.colour) * 9 + SHAPES.index(thing.shape) * 3
        targets[patch_of(thing), kind + tuple(SIZES.values()).index(thing.size)] = 1
        targets[patch_of(thing), [COVERED + 1 + WALLS.index(wall) for wall in thing.walls]] = 1
        crowd = targets[patch_of(thing), -CROWD:]
        crowd[: crowd.sum() + 1] = 1
    return targets


def kinds(item: SceneItem) -> tuple[Kind, ...]:
    """The kinds of things that the statement names, at most two."""
    statement = item.statement
    if isinstance(statement, Count | Unanswerable):
        return (statement.kind,)
    if isinstance(statement, Every):
        return statement.kind, statement.predicate
    named: list[Kind] = []
    for condition in statement.conditions:
        if isinstance(condition, Next):
            named += [condition.one, condition.other]
        elif not isinstance(condition, Hues | Within):
            named.append(condition.kind)
    return tuple(named[:2])


def fits(item: SceneItem) -> Integers:
    targets = unknown(2)
    for column, kind in enumerate(kinds(item)):
        targets[:, column] = 0
        for thing in kind.among(item.scene.visible(), item.scene):
            targets[patch_of(thing), column] = min(targets[patch_of(thing), column] + 1, CROWD)
    return targets


def box_targets(item: SceneItem) -> tuple[Integers, Integers]:
    """`number` and `good` of each patch."""
    numbers, goods = (np.full((network.ROWS, 3, network.COLUMNS // 3), UNKNOWN) for _ in range(2))
    statement, named = item.statement, kinds(item)
    conditions = statement.conditions if isinstance(statement, Boxes) else ()
    for box in range(3):
        things = item.scene.box(box)
        if box == item.scene.covered:
            continue
        if named and not any(
            isinstance(condition, Level) for condition in conditions
        ):  # which counts levels, not things
            numbers[:, box] = min(len(named[0].among(things, item.scene)), MOST - 1)
        elif any(isinstance(condition, Hues) for condition in conditions):
            numbers[:, box] = len({thing.colour for thing in things})
        if conditions:
            goods[:, box] = all(condition.holds(box, item.scene) for condition in conditions)
    return numbers.reshape(-1), goods.reshape(-1)


@dataclass(frozen=True)
class SceneSample:
    text: str
    patches: NDArray[np.uint8]  # (48, 1875)
    label: int
    targets: AuxiliaryTargets


@dataclass(frozen=True)
class Sources:
    """`rows` are NLVR's, `bank` the meanings of those of its statements that could be parsed."""

    rows: Sequence[tuple[str, int, NDArray[np.uint8]]] = ()  # statement, label, image (100, 400, 3)
    bank: Bank = ()

    def sample(self, seed: int, number: int, *, human: float, borrowed: float) -> list[SceneSample]:
        """`number` samples: a share `human` of rows, the rest generated, of which a share `borrowed` uses the bank."""
        rng = random.Random(seed)
        of_rows = sum(rng.random() < human for _ in range(number)) if self.rows else 0
        generated = generate_items(rng.randrange(2**32), held_out=False, bank=self.bank, share=borrowed)
        return [
            *(row_sample(*rng.choice(self.rows), rng) for _ in range(of_rows)),
            *map(item_sample, islice(generated, number - of_rows)),
        ]


def item_sample(item: SceneItem) -> SceneSample:
    return SceneSample(item.wording.text, network.split_patches(draw(item.scene)), item.label, auxiliary_targets(item))


def row_sample(text: str, label: int, pixels: NDArray[np.uint8], rng: random.Random | None = None) -> SceneSample:
    """One of NLVR's rows, augmented if `rng` is given."""
    if rng is not None:
        text, pixels = augmented(text, pixels, rng)
    return SceneSample(text, network.split_patches(pixels), label, NO_TARGETS)


def augmented(text: str, pixels: NDArray[np.uint8], rng: random.Random) -> tuple[str, NDArray[np.uint8]]:
    """Another image and statement with the same label."""
    order = rng.choice(tuple(permutations(range(3))))
    new = pixels.copy()
    mirror = rng.random() < 0.5
    for to, source in enumerate(order):
        square = pixels[:, LEFTS[source] : LEFTS[source] + SIDE]
        new[:, LEFTS[to] : LEFTS[to] + SIDE] = square[:, ::-1] if mirror else square
    if mirror:
        text = swapped(text, {"left": "right", "right": "left"})
    colours = dict(zip(COLOURS, rng.choice(tuple(permutations(COLOURS))), strict=True))
    inked = new.copy()
    for old, new_colour in colours.items():
        inked[(new == INKS[old]).all(-1)] = INKS[new_colour]
    return swapped(text, colours), inked


def swapped(text: str, words: dict[str, str]) -> str:
    """The text with whole words replaced, all at once."""
    return re.sub(rf"\b({'|'.join(words)})\b", lambda word: words[word[0].lower()], text, flags=re.IGNORECASE)


def generate_sentences(number: int, seed: int) -> list[str]:
    """Generated sentences to train the tokenizer on."""
    return [item.wording.text for item in islice(generate_items(seed, held_out=False), number)]


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
    patches = [torch.from_numpy(array) for array in kept] or [torch.arange(network.PATCHES)] * len(samples)
    numbers = nn.utils.rnn.pad_sequence(patches, batch_first=True)  # (B, P)
    most = numbers.shape[1]
    real = torch.arange(most) < torch.tensor([len(patch) for patch in patches])[:, None]
    sentences = tokenizer.encode_batch([sample.text for sample in samples], add_special_tokens=False)
    rows = [network.framed(sentence.ids, most) for sentence in sentences]
    ids = nn.utils.rnn.pad_sequence([torch.tensor(row[0]) for row in rows], batch_first=True, padding_value=network.PAD)
    segments = nn.utils.rnn.pad_sequence([torch.tensor(row[1]) for row in rows], batch_first=True)
    attention = (ids != network.PAD).long()
    attention[:, 1 : most + 1] = real.long()
    each_row = torch.arange(len(samples))[:, None]

    def target(name: str) -> Tensor:
        values = torch.from_numpy(np.stack([getattr(sample.targets, name) for sample in samples]))[each_row, numbers]
        return values.where(real.view(*real.shape, *[1] * (values.ndim - 2)), UNKNOWN)

    raw = np.stack([sample.patches for sample in samples])  # (B, 48, 1875)
    lines = raw.reshape(len(samples), -1, 3 * network.PATCH).sum(1, dtype=np.uint32)  # (B, 75)
    means = lines.reshape(len(samples), network.PATCH, 3).sum(1) / (network.PATCHES * network.PATCH**2)  # (B, 3)
    return SceneBatch(
        ids,
        segments,
        attention,
        network.scaled(raw[each_row.numpy(), numbers.numpy()]),
        numbers,
        network.scaled(np.tile(means, network.PATCH**2))[:, None],
        torch.tensor([sample.label for sample in samples]),
        *map(target, ("holds", "fits", "number", "good", "matters")),
        *(torch.tensor([getattr(sample.targets, name) for sample in samples]) for name in ("count", "quantifier", "n")),
    )


def kept_patches(
    samples: Sequence[SceneSample], recipe: SceneModelRecipe, generator: np.random.Generator
) -> list[NDArray[np.int64]]:
    """The numbers of the patches that are kept of each sample."""
    kept = []
    for sample in samples:
        empty = (sample.patches == PAPER[0]).all(1) & (generator.random() < recipe.thinned)
        kept.append(np.flatnonzero(~empty | (generator.random(network.PATCHES) >= recipe.left_out)))
    return kept


def erase_units(batch: SceneBatch, recipe: SceneModelRecipe, generator: torch.Generator) -> SceneBatch:
    """Some samples lose a random share of their words, of their patches, or of both. The
    contents of an erased patch are no target."""
    rows = len(batch.ids)
    chosen = torch.rand(rows, 1, generator=generator) < recipe.erased
    shares = torch.rand(2, rows, 1, generator=generator) * recipe.most_erased * chosen
    masked = (torch.rand(batch.ids.shape, generator=generator) < shares[0]) & (batch.ids > network.PATCH_ID)
    blank = (torch.rand(batch.numbers.shape, generator=generator) < shares[1])[:, :, None]
    return replace(
        batch,
        ids=batch.ids.where(~masked, network.MASK),
        patches=torch.where(blank, batch.means, batch.patches),
        holds=batch.holds.where(~blank, UNKNOWN),
        fits=batch.fits.where(~blank, UNKNOWN),
    )


@dataclass(frozen=True)
class Curriculum(Dataset[list[SceneBatch]]):
    """The samples of a step by its number, as two batches, the shorter inputs and the longer ones, which take about the
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
