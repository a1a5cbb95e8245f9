"""An interchange intervention on one example: does the sentence's reader C2 change its mind as C1 does?

C1 is the model's head and reads the state c. C2 reads F(c), what A makes of the answer that φ gives to "The answer is"
for c itself: nothing of people's sentences, and no other item's.

    layer 1, 2   the same neurons are exchanged, in C1 for c and in C2 for F(c)
    layer 0      neurons of c are exchanged; C1 reads the mixed state, and the narrator speaks anew from it
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.models.classifier import FrozenModel
from explainers.models.inside import head
from explainers.narrative.cause import Narrator
from explainers.narrative.interchange import SHARE, drawn, exchanged, interchanged
from explainers.narrative.telling import seen, tell


@dataclass(frozen=True)
class Side:
    """One classifier's probabilities of the base, of the source, and of the base with the source's neurons."""

    base: tuple[float, ...]
    source: tuple[float, ...]
    exchanged: tuple[float, ...]

    @property
    def classes(self) -> tuple[int, int, int]:
        return _best(self.base), _best(self.source), _best(self.exchanged)


@dataclass(frozen=True)
class Exchange:
    """`sentences` are those of base and source, and for layer 0 that of the mixed state, else empty."""

    model: Side  # C1
    reader: Side  # C2
    sentences: tuple[str, str, str]

    @property
    def agree(self) -> tuple[bool, bool]:
        """Whether both say the same class before, and after."""
        (first, _, then), (other, _, other_then) = self.model.classes, self.reader.classes
        return first == other, then == other_then


def random_neurons(size: int, seed: int) -> tuple[int, ...]:
    """Numbers of 20 % of a layer's neurons."""
    chance = torch.Generator(device="cpu").manual_seed(seed)
    return tuple(sorted(drawn(size, SHARE, chance).tolist()))


@torch.no_grad()
def exchange(
    model: FrozenModel, narrator: Narrator, base: Example, source: Example, layer: int, neurons: Sequence[int]
) -> Exchange:
    """Puts `neurons` of `layer` that the source has into the base, in both classifiers."""
    both = seen(model, (base, source))
    said = tell(narrator, both.states, model.labels)
    places = torch.tensor(list(neurons))
    mixed = interchanged(head(model), both.states[:1], both.states[1:], layer, places)
    spoken = ""
    if layer:
        read = interchanged(narrator.c2, said.read[:1], said.read[1:], layer, places)
    else:
        again = tell(narrator, exchanged(both.states[:1], both.states[1:], places), model.labels)
        read, spoken = narrator.c2(again.read), again.sentences[0]
    return Exchange(
        _side(torch.cat([both.logits, mixed])),
        _side(torch.cat([narrator.c2(said.read), read])),
        (said.sentences[0], said.sentences[1], spoken),
    )


def _side(logits: Tensor) -> Side:
    return Side(*(tuple(row) for row in logits.softmax(-1).tolist()))


def _best(probabilities: Sequence[float]) -> int:
    return max(range(len(probabilities)), key=lambda index: probabilities[index])
