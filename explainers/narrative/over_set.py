"""Interchange interventions over a set: how often do C1 and C2 say the same after an exchange (`intervening`)?

Every example is a base for every other one as the source, with one choice of neurons. Pairs that share an example are
not independent, so for the intervals the examples are drawn anew and not the pairs: with w_i the number of times that
example i is drawn, a share is Σ w_i w_j hit_ij / Σ w_i w_j over the pairs that count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from explainers.errors import ExplanationError
from explainers.metrics.intervals import Interval
from explainers.models.classifier import FrozenModel
from explainers.models.inside import head
from explainers.narrative.cause import Narrator
from explainers.narrative.interchange import exchanged, interchanged
from explainers.narrative.telling import Seen, Told, tell

SAMPLED = 300  # ordered pairs for layer 0, where every pair needs a sentence of its own
RESAMPLES = 1000
Bools = NDArray[np.bool_]


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


@torch.no_grad()
def over_set(
    model: FrozenModel, narrator: Narrator, known: Seen, told: Told, layer: int, neurons: Sequence[int]
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
        again = tell(narrator, exchanged(known.states[rows], known.states[columns], places), model.labels)
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


def _sampled(possible: Bools) -> Bools:
    found = np.zeros_like(possible)
    places = np.random.default_rng(0).permutation(np.flatnonzero(possible))[:SAMPLED]
    found.flat[places] = True
    return found


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
