"""Interchange interventions over a set: how often do C1 and C2 agree after an exchange (`interchange_check`)?

Every example is a base for every other one as the source, with one choice of neurons. Pairs that share an example are
not independent, so the bootstrap resamples the examples and not the pairs: with w_i the number of times that example i
is drawn, a share is Σ w_i w_j hit_ij / Σ w_i w_j over the pairs that count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.metrics.intervals import Interval
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import classifier_head
from explainers.narrative.interchange import exchange_neurons, run_with_exchange
from explainers.narrative.narrator import Narrator
from explainers.narrative.sentence_batches import HeadStates, SentenceBatch, generate_batch

SAMPLED = 300  # ordered pairs for layer 0, where every pair needs a sentence of its own
RESAMPLES = 1000
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class InterchangeRates:
    """Shares among the ordered pairs of a set, with 95 % bootstrap intervals over its examples."""

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
        rows, columns = (torch.from_numpy(each).to(examples.states.device) for each in np.nonzero(pairs))
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
    rows = [run_with_exchange(classifier, each.expand_as(states), states, layer, indices).argmax(1) for each in states]
    return np.asarray(torch.stack(rows).cpu().numpy())


def _sampled(pairs: Bools) -> Bools:
    sample = np.zeros_like(pairs)
    indices = np.random.default_rng(0).permutation(np.flatnonzero(pairs))[:SAMPLED]
    sample.flat[indices] = True
    return sample


def over_pairs(hits: Bools, counted: Bools, *, seed: int = 0) -> Interval:
    """The share of `hits` (n, n) among the pairs that are `counted` (n, n); at least one must be."""
    n = len(hits)
    draws = np.random.default_rng(seed).multinomial(n, [1 / n] * n, RESAMPLES).astype(float)  # (R, n)
    weights = np.vstack([np.ones((1, n)), draws])  # the first row is the sample itself
    met = np.einsum("rn,rn->r", weights @ (hits & counted), weights)
    all_of = np.einsum("rn,rn->r", weights @ counted, weights)
    shares = met[all_of > 0] / all_of[all_of > 0]
    low, high = np.quantile(shares[1:], (0.025, 0.975)) if len(shares) > 1 else (shares[0], shares[0])
    return Interval(float(shares[0]), float(low), float(high), int(counted.sum()))
