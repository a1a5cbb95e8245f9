"""The masks that LIME, KernelSHAP and the random control share: one list per number of units and seed.

Nothing and everything come first, then pairs of a mask and its complement, none of them twice. By turns a pair is a
prefix of one of the random control's orders, which the control asks in any case, and a subset of a size of which there
are fewest so far, so that every beginning of the list is a fair sample of masks of almost uniform size (leverage
scores: Musco and Witter, 2024). Given how many masks of size k there are, m_k, those are a simple random sample
without replacement: each of the C(n, k) is among them with probability m_k / C(n, k).

The list is made of the control's orders and not the other way round: they stay independent and uniform. Prefixes of
one order lie within each other, so that they tell less than as many other subsets, but they cost nothing more. The
list depends on nothing but the number of units and the seed, and a shorter one is the beginning of a longer one.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, combinations, islice
from math import comb

import numpy as np
from numpy.typing import NDArray

from explainers.attribution.controls import control_orders
from explainers.results.attribution import metric_counts, ranking
from explainers.results.settings import RANDOM_ORDERS

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]

ENUMERATED = 5000  # subsets of one size that are listed and shuffled; where there are more, each is drawn anew
PREFIXES, SIZES, SUBSETS = range(3)  # what a stream of random numbers is for


@lru_cache(maxsize=32)
def shared_masks(units: int, seed: int, most: int) -> Masks:
    """At most `most` masks, (N, units), N even; fewer where there are no more. Read-only."""
    counts = np.zeros(units + 1, dtype=int)
    subsets = _single_subsets(units, seed, counts)
    by_turns = chain.from_iterable(zip(_control_prefixes(units, seed, counts), subsets, strict=False))
    return _with_complements(units, chain(by_turns, subsets), most)


def single_masks(units: int, seed: int, most: int) -> Masks:
    """The same without those of the control: pairs drawn one by one, (N, units)."""
    return _with_complements(units, _single_subsets(units, seed, np.zeros(units + 1, dtype=int)), most)


def control_masks(units: int, seed: int) -> Masks:
    """Those of the control alone, with nothing and everything, (N, units)."""
    prefixes = _control_prefixes(units, seed, np.zeros(units + 1, dtype=int))
    return _with_complements(units, prefixes, 2 * RANDOM_ORDERS * units)


def inclusion(masks: Masks) -> Floats:
    """The probability that a list with as many masks of each size holds this mask, (N,)."""
    sizes = masks.sum(axis=1)
    there = np.array([float(comb(masks.shape[1], size)) for size in range(masks.shape[1] + 1)])
    probabilities: Floats = np.bincount(sizes, minlength=len(there))[sizes] / there[sizes]
    return probabilities


def size_weights(masks: Masks, mass: Floats) -> Floats:
    """Weights (N,) that stand for all masks: those of size k weigh `mass[k]` together, (units + 1,).

    This is the weight of one mask divided by its `inclusion`. A size without masks gives its mass to the nearest one.
    """
    sizes = masks.sum(axis=1)
    counts = np.bincount(sizes, minlength=len(mass))
    there = np.flatnonzero(counts)
    gathered = np.zeros(len(mass))
    for size in np.flatnonzero(mass):
        distance = np.abs(there - size)
        nearest = there[distance == distance.min()]
        gathered[nearest] += mass[size] / len(nearest)
    weights: Floats = gathered[sizes] / counts[sizes]
    return weights


def _with_complements(units: int, candidates: Iterable[Iterator[Masks]], most: int) -> Masks:
    """Nothing, everything, and pairs, (N, units): of each of the `candidates` the first mask that is new."""
    count = min(most // 2, 2 ** (units - 1)) - 1
    rows = np.array([np.zeros(units, dtype=bool), *islice(_new(candidates), count)])
    masks = np.stack([rows, ~rows], axis=1).reshape(-1, units)
    masks.flags.writeable = False
    return masks


def _new(candidates: Iterable[Iterator[Masks]]) -> Iterator[Masks]:
    seen: set[bytes] = set()
    for stream in candidates:
        for mask in stream:
            if not {mask.tobytes(), (~mask).tobytes()} & seen:
                seen.add(mask.tobytes())
                yield mask
                break


def _control_prefixes(units: int, seed: int, counts: NDArray[np.int_]) -> Iterator[Iterator[Masks]]:
    """For each order the units at its beginning, at the counts of the control's curves.

    `counts` notes how many masks of every size there were, (units + 1,), so that others can make up for it.
    """
    shuffle = np.random.default_rng([seed, units, PREFIXES])
    for order in control_orders(units, seed):
        place = np.argsort(ranking(order))
        for count in shuffle.permutation(metric_counts(units)[1:-1]):
            np.add.at(counts, [count, units - count], 1)
            yield iter([place < count])


def _single_subsets(units: int, seed: int, counts: NDArray[np.int_]) -> Iterator[Iterator[Masks]]:
    """Without end, streams of subsets of a size of which `counts` has the fewest, or one of those by chance."""
    subsets = {size: _subsets(units, size, seed) for size in range(1, units)}
    shuffle = np.random.default_rng([seed, units, SIZES])
    while True:
        size = int(shuffle.choice(np.flatnonzero(counts[1:-1] == counts[1:-1].min()) + 1))
        np.add.at(counts, [size, units - size], 1)
        yield subsets[size]


def _subsets(units: int, size: int, seed: int) -> Iterator[Masks]:
    """Masks of this size in random order; without end where there are too many to list."""
    rng = np.random.default_rng([seed, units, SUBSETS, size])
    if comb(units, size) <= ENUMERATED:
        every = np.array(list(combinations(range(units), size)))
        yield from (np.isin(np.arange(units), members) for members in every[rng.permutation(len(every))])
    else:
        while True:
            yield rng.permutation(units) < size
