"""What `scenes` learns from: generated scenes, and NLVR's images with people's statements.

NLVR's labels stay true when boxes or, in image and text alike, colours are permuted, and when the image is mirrored.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, permutations

import numpy as np
from numpy.typing import NDArray

from explainers.datasets.scenes.drawing import INKS, LEFTS, draw
from explainers.datasets.scenes.generator import Bank, SceneItem, generate_items
from explainers.datasets.scenes.world import COLOURS, SIDE
from explainers.models.scenes.auxiliary_targets import NO_TARGETS, AuxiliaryTargets, auxiliary_targets
from explainers.models.scenes.network import split_patches


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
    return SceneSample(item.wording.text, split_patches(draw(item.scene)), item.label, auxiliary_targets(item))


def row_sample(text: str, label: int, pixels: NDArray[np.uint8], rng: random.Random | None = None) -> SceneSample:
    """One of NLVR's rows, augmented if `rng` is given."""
    if rng is not None:
        text, pixels = augmented(text, pixels, rng)
    return SceneSample(text, split_patches(pixels), label, NO_TARGETS)


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
