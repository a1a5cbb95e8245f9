"""An interchange intervention on one example: does C2, which reads the sentence, change its class as C1 does?

C1 is the model's head and reads the state c. C2 reads F(c), which A computes from φ's output (`reconstruction`): from
its next token after "The answer is", or, by another closing of the leak, along the whole sentence that φ generates. φ
reads c; some narrators read the states of the tokens too.

    layer 1, 2   the same neurons are exchanged, in C1 for c and in C2 for F(c)
    layer 0      neurons of c are exchanged; C1 reads the mixed state, and the narrator generates a sentence from it
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explainers.datasets.example import Example
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import classifier_head
from explainers.narrative.interchange import SHARE, draw_neurons, exchange_neurons, run_with_exchange
from explainers.narrative.narrator import Narrator
from explainers.narrative.sentence_batches import generate_batch, head_states


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
class InterchangeCheck:
    """`sentences` are those of base and source, and for layer 0 that of the mixed state, else empty."""

    model: Side  # C1
    reader: Side  # C2
    sentences: tuple[str, str, str]

    @property
    def agree(self) -> tuple[bool, bool]:
        """Whether both predict the same class before, and after."""
        (first, _, then), (other, _, other_then) = self.model.classes, self.reader.classes
        return first == other, then == other_then


def random_neurons(size: int, seed: int) -> tuple[int, ...]:
    """Indices of 20 % of a layer's neurons."""
    generator = torch.Generator(device="cpu").manual_seed(seed)
    return tuple(sorted(draw_neurons(size, SHARE, generator).tolist()))


@torch.no_grad()
def check_interchange(
    model: FrozenModel, narrator: Narrator, base: Example, source: Example, layer: int, neurons: Sequence[int]
) -> InterchangeCheck:
    """Gives `neurons` of `layer` of the base the values of the source, in both classifiers."""
    both = head_states(model, (base, source), narrator.layer)
    generated = generate_batch(narrator, both.inputs, model.labels)
    indices = torch.tensor(list(neurons))
    mixed = run_with_exchange(classifier_head(model), both.states[:1], both.states[1:], layer, indices)
    mixed_sentence = ""
    if layer:
        read = run_with_exchange(narrator.c2, generated.read[:1], generated.read[1:], layer, indices)
    else:
        exchanged = both.inputs[:1].with_states(exchange_neurons(both.states[:1], both.states[1:], indices))
        from_mixed = generate_batch(narrator, exchanged, model.labels)
        read, mixed_sentence = narrator.c2(from_mixed.read), from_mixed.sentences[0]
    return InterchangeCheck(
        _side(torch.cat([both.logits, mixed])),
        _side(torch.cat([narrator.c2(generated.read), read])),
        (generated.sentences[0], generated.sentences[1], mixed_sentence),
    )


def _side(logits: Tensor) -> Side:
    return Side(*(tuple(row) for row in logits.softmax(-1).tolist()))


def _best(probabilities: Sequence[float]) -> int:
    return max(range(len(probabilities)), key=lambda index: probabilities[index])
