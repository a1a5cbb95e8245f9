"""An interchange intervention on one example: does C2, which reads the sentence, change its class as C1 does?

C1 is the model's head and reads the state c. C2 reads F(c), which A computes from φ's output (`reconstruction`): from
its next token after "The answer is", or, by another closing of the leak, along the whole sentence that φ generates. φ
reads c; some narrators read the states of the tokens too.

    layer 1, 2   the same neurons are exchanged, in C1 for c and in C2 for F(c)
    layer 0      neurons of c are exchanged; C1 reads the mixed state, and the narrator generates a sentence from it

Interchange interventions over a set: how often do C1 and C2 agree after an exchange (`interchange_check`)?

Every example is a base for every other one as the source, with one choice of neurons. Pairs that share an example are
not independent, so the bootstrap resamples the examples and not the pairs: with w_i the number of times that example i
is drawn, a share is Σ w_i w_j hit_ij / Σ w_i w_j over the pairs that count.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.metrics.bootstrap import Floats, Interval, statistic_interval, wilson
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import classifier_head
from explainers.narrative.interchange import SHARE, draw_neurons, exchange_neurons, run_with_exchange
from explainers.narrative.narrator import Narrator
from explainers.narrative.sentences import HeadStates, SentenceBatch, generate_batch, head_states


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
        """Return whether both predict the same class before, and after."""
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


SAMPLED = 300  # ordered pairs for layer 0, where every pair needs a sentence of its own
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class InterchangeRates:
    """Shares among the ordered pairs of a set, with 95 % intervals over its examples (`over_pairs`)."""

    sampled: int  # pairs that were computed
    all_pairs: int
    before: Interval  # C1 and C2 predict the same class for the base
    changed: Interval  # the exchange changes C1's class
    after: Interval  # C1 and C2 predict the same class after it
    unmoved: Interval  # … if C2 had kept its class: the baseline of `after`
    followed: Interval | None  # among the exchanges that change C1's class: C2 predicts the new one; None if none does


@torch.no_grad()
def interchange_rates(
    model: FrozenModel,
    narrator: Narrator,
    examples: HeadStates,
    generated: SentenceBatch,
    layer: int,
    neurons: Sequence[int],
) -> InterchangeRates:
    """All ordered pairs of the set, for layer 0 a fixed sample of them, with one choice of neurons."""
    count = len(examples.states)
    if count < 2:
        raise ExplanationError("An exchange over a set needs at least two examples.")
    indices = torch.tensor(list(neurons))
    pairs = ~np.eye(count, dtype=bool)  # row: base, column: source
    first = examples.logits.argmax(1).cpu().numpy()[:, None]
    second = narrator.c2(generated.read).argmax(1).cpu().numpy()[:, None]
    then = _all_exchanged(classifier_head(model), examples.states, layer, indices)
    if layer:
        other_then = _all_exchanged(narrator.c2, generated.read, layer, indices)
    else:
        pairs = _sampled(pairs)
        rows, columns = (torch.from_numpy(places).to(examples.states.device) for places in np.nonzero(pairs))
        mixed = exchange_neurons(examples.states[rows], examples.states[columns], indices)
        again = generate_batch(narrator, examples.inputs[rows].with_states(mixed), model.labels)
        other_then = np.full((count, count), -1)
        other_then[pairs] = narrator.c2(again.read).argmax(1).cpu().numpy()
    changed = then != first
    return InterchangeRates(
        int(pairs.sum()),
        count * (count - 1),
        over_pairs(np.broadcast_to(first == second, pairs.shape), pairs),
        over_pairs(changed, pairs),
        over_pairs(then == other_then, pairs),
        over_pairs(then == second, pairs),
        over_pairs(then == other_then, pairs & changed) if (pairs & changed).any() else None,
    )


def _all_exchanged(classifier: nn.Sequential, states: Tensor, layer: int, indices: Tensor) -> NDArray[np.int64]:
    """The class of every base (row) with every source's (column) neurons, (n, n)."""
    rows = [
        run_with_exchange(classifier, state.expand_as(states), states, layer, indices).argmax(1) for state in states
    ]
    return np.asarray(torch.stack(rows).cpu().numpy())


def _sampled(pairs: Bools) -> Bools:
    sample = np.zeros_like(pairs)
    indices = np.random.default_rng(0).permutation(np.flatnonzero(pairs))[:SAMPLED]
    sample.flat[indices] = True
    return sample


def over_pairs(hits: Bools, counted: Bools, *, seed: int = 0) -> Interval:
    """The share of `hits` (n, n) among the pairs that are `counted` (n, n); at least one must be.

    The interval is a bootstrap over the examples, because pairs have them in common. Where every resample gives the
    same share it is Wilson's, of so many pairs that no two of them have an example in common.
    """

    def share(weights: Floats) -> Floats:
        """Among the pairs of the drawn examples; NaN where none of them counts."""
        met = np.einsum("rn,rn->r", weights @ (hits & counted), weights)
        all_of = np.einsum("rn,rn->r", weights @ counted, weights)
        shares: Floats = np.divide(met, all_of, out=np.full(len(weights), np.nan), where=all_of > 0)
        return shares

    interval = statistic_interval(share, len(hits), seed=seed)
    if interval.low == interval.high:
        apart = _pairs_apart(counted)
        low, high = wilson(interval.mean * apart, apart)
        interval = replace(interval, low=max(low, 0.0), high=min(high, 1.0))
    return replace(interval, texts=int(counted.sum()))


def _pairs_apart(counted: Bools) -> int:
    """The number of pairs, taken in turn, that have no example in common with one that was taken before."""
    taken: set[int] = set()
    for base, source in zip(*np.nonzero(counted), strict=True):
        if base not in taken and source not in taken:
            taken |= {int(base), int(source)}
    return len(taken) // 2
