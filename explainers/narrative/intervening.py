"""Interchange interventions on one example and over a set: does the sentence's reader C2 change its mind as C1 does?

C1 is the model's head and reads the state c. C2 reads F(c), what A makes of φ's answers to the sentence that the
narrator says of c itself, the class hidden: nothing of people's sentences, and no other item's.

    layer 1, 2   the same neurons are exchanged, in C1 for c and in C2 for F(c)
    layer 0      neurons of c are exchanged; C1 reads the mixed state, and the narrator speaks anew from it
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.metrics.intervals import Interval
from explainers.models.classifier import TextClassifier
from explainers.models.inside import head
from explainers.narrative.cause import Narrator
from explainers.narrative.interchange import SHARE, drawn, interchanged
from explainers.narrative.pair_intervals import over_pairs
from explainers.narrative.telling import Seen, Told, seen, tell

SAMPLED = 300  # ordered pairs for layer 0, where every pair needs a sentence of its own
Bools = NDArray[np.bool_]


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


@dataclass(frozen=True)
class OverSet:
    """Shares of `looked` of `possible` ordered pairs, with 95 % bootstrap intervals over the examples."""

    looked: int
    possible: int
    before: Interval  # C1 and C2 say the same class of the base
    changed: Interval  # the exchange changes C1's class
    after: Interval  # C1 and C2 say the same class after it
    unmoved: Interval  # … if C2 had kept its class: what `after` has to beat
    followed: Interval | None  # of the exchanges that change C1's class: C2 says the new one; None if none does


def random_neurons(size: int, seed: int) -> tuple[int, ...]:
    """Numbers of 20 % of a layer's neurons."""
    chance = torch.Generator(device="cpu").manual_seed(seed)
    return tuple(sorted(drawn(size, SHARE, chance).tolist()))


@torch.no_grad()
def exchange(
    model: TextClassifier, narrator: Narrator, base: Example, source: Example, layer: int, neurons: Sequence[int]
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
        again = tell(narrator, _mixed(both.states[:1], both.states[1:], places), model.labels)
        read, spoken = narrator.c2(again.read), again.sentences[0]
    return Exchange(
        _side(torch.cat([both.logits, mixed])),
        _side(torch.cat([narrator.c2(said.read), read])),
        (*said.sentences[:2], spoken),  # type: ignore[arg-type]
    )


@torch.no_grad()
def over_set(
    model: TextClassifier, narrator: Narrator, known: Seen, told: Told, layer: int, neurons: Sequence[int]
) -> OverSet:
    """All ordered pairs of the set, for layer 0 a fixed sample of them, with one choice of neurons."""
    count = len(known.states)
    if count < 2:
        raise ExplanationError("An exchange over a set needs at least two pairs.")
    places = torch.tensor(list(neurons))
    looked = ~np.eye(count, dtype=bool)  # row: base, column: source
    first = known.logits.argmax(1).cpu().numpy()[:, None]
    second = narrator.c2(told.read).argmax(1).cpu().numpy()[:, None]
    then = _all_exchanged(head(model), known.states, layer, places)
    if layer:
        other_then = _all_exchanged(narrator.c2, told.read, layer, places)
    else:
        looked = _sampled(looked)
        rows, columns = (torch.from_numpy(each).to(known.states.device) for each in np.nonzero(looked))
        again = tell(narrator, _mixed(known.states[rows], known.states[columns], places), model.labels)
        other_then = np.full((count, count), -1)
        other_then[looked] = narrator.c2(again.read).argmax(1).cpu().numpy()
    changed = then != first
    return OverSet(
        int(looked.sum()),
        count * (count - 1),
        over_pairs(np.broadcast_to(first == second, looked.shape), looked),
        over_pairs(changed, looked),
        over_pairs(then == other_then, looked),
        over_pairs(then == second, looked),
        over_pairs(then == other_then, looked & changed) if (looked & changed).any() else None,
    )


def _all_exchanged(classifier: nn.Sequential, states: Tensor, layer: int, places: Tensor) -> NDArray[np.int64]:
    """The class of every base (row) with every source's (column) neurons, (n, n)."""
    rows = [interchanged(classifier, each.expand_as(states), states, layer, places).argmax(1) for each in states]
    return np.asarray(torch.stack(rows).cpu().numpy())


def _mixed(base: Tensor, source: Tensor, places: Tensor) -> Tensor:
    found = base.clone()
    found[:, places] = source[:, places]
    return found


def _sampled(possible: Bools) -> Bools:
    found = np.zeros_like(possible)
    places = np.random.default_rng(0).permutation(np.flatnonzero(possible))[:SAMPLED]
    found.flat[places] = True
    return found


def _side(logits: Tensor) -> Side:
    return Side(*(tuple(row) for row in logits.softmax(-1).tolist()))


def _best(probabilities: Sequence[float]) -> int:
    return max(range(len(probabilities)), key=lambda index: probabilities[index])
