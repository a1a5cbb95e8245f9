"""What `scenes` learns from: generated scenes, and NLVR's pictures with the statements that people wrote.

NLVR's labels stay true when boxes change places, when colours are exchanged in picture and words alike, and in the
mirror.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, permutations

import numpy as np
from numpy.typing import NDArray

from explainers.datasets.scenes.drawing import INKS, LEFTS, drawn
from explainers.datasets.scenes.generator import Bank, Item, items
from explainers.datasets.scenes.world import COLOURS, SIDE
from explainers.models.scenes.hints import NOTHING, Hints, hints
from explainers.models.scenes.network import cut


@dataclass(frozen=True)
class Sample:
    text: str
    patches: NDArray[np.uint8]  # (48, 1875)
    label: int
    hints: Hints


@dataclass(frozen=True)
class Sources:
    """`rows` are NLVR's, `bank` is what its statements mean, where that was understood."""

    rows: Sequence[tuple[str, int, NDArray[np.uint8]]] = ()  # statement, label, picture (100, 400, 3)
    bank: Bank = ()

    def drawn(self, seed: int, number: int, *, human: float, borrowed: float) -> list[Sample]:
        """So many samples: a share of `human` rows, the rest generated, a share of these with `borrowed` statements."""
        chance = random.Random(seed)
        of_people = sum(chance.random() < human for _ in range(number)) if self.rows else 0
        made = items(chance.randrange(2**32), held_out=False, bank=self.bank, share=borrowed)
        return [
            *(of_row(*chance.choice(self.rows), chance) for _ in range(of_people)),
            *map(of_item, islice(made, number - of_people)),
        ]


def of_item(item: Item) -> Sample:
    return Sample(item.said.text, cut(drawn(item.scene)), item.label, hints(item))


def of_row(text: str, label: int, pixels: NDArray[np.uint8], chance: random.Random | None = None) -> Sample:
    """One of NLVR's rows as it is, or with `chance` in another guise."""
    if chance is not None:
        text, pixels = disguised(text, pixels, chance)
    return Sample(text, cut(pixels), label, NOTHING)


def disguised(text: str, pixels: NDArray[np.uint8], chance: random.Random) -> tuple[str, NDArray[np.uint8]]:
    """The same truth about another picture."""
    order = chance.choice(tuple(permutations(range(3))))
    new = pixels.copy()
    mirror = chance.random() < 0.5
    for to, source in enumerate(order):
        square = pixels[:, LEFTS[source] : LEFTS[source] + SIDE]
        new[:, LEFTS[to] : LEFTS[to] + SIDE] = square[:, ::-1] if mirror else square
    if mirror:
        text = swapped(text, {"left": "right", "right": "left"})
    colours = dict(zip(COLOURS, chance.choice(tuple(permutations(COLOURS))), strict=True))
    inked = new.copy()
    for old, turned in colours.items():
        inked[(new == INKS[old]).all(-1)] = INKS[turned]
    return swapped(text, colours), inked


def swapped(text: str, words: dict[str, str]) -> str:
    """Whole words exchanged, all at once."""
    return re.sub(rf"\b({'|'.join(words)})\b", lambda found: words[found[0].lower()], text, flags=re.IGNORECASE)


def sentences(number: int, seed: int) -> list[str]:
    """Generated sentences, to find out of which pieces words are made."""
    return [item.said.text for item in islice(items(seed, held_out=False), number)]
