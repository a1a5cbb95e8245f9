"""The masks on which LIME and KernelSHAP fit a surrogate, with their weights; when they have asked enough of them.

They share one list with the random control, for each number of units and seed. Nothing and everything come first, then
pairs of a mask and its complement, none of them twice. By turns a pair is a prefix of one of the random control's
orders, which the control asks in any case, and a subset of a size of which there are fewest so far, so that every
beginning of the list is a fair sample of masks of almost uniform size (leverage scores: Musco and Witter, 2024). Given
how many masks of size k there are, m_k, those are a simple random sample without replacement: each of the C(n, k) is
among them with probability m_k / C(n, k).

The list is made of the control's orders and not the other way round: they stay independent and uniform. Prefixes of
one order lie within each other, so that they tell less than as many other subsets, but they cost nothing more. The
list depends on nothing but the number of units and the seed, and a shorter one is the beginning of a longer one.

After every `BATCH` masks the estimate is looked at: which units are the top 20 %, and AOPC-C and AOPC-S. Sampling ends
where the last `CHECKS` looks agree with the present one: the same units, and both metrics within `VISIBLE`, the
difference below which a verdict sees none. In any case it ends with the last mask. The metrics need masks of their own,
so that they are read only where the units agree. The spread comes from other samples as they might have been drawn.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, count, islice, takewhile
from math import comb
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from explainers.attribution.controls import control_orders
from explainers.memoized import memoized
from explainers.metrics import erasure, faithfulness
from explainers.results.attribution import metric_counts, ranking, top_count
from explainers.results.decision import RANDOM_ORDERS

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
        for size in shuffle.permutation(metric_counts(units)[1:-1]):
            np.add.at(counts, [size, units - size], 1)
            yield iter([place < size])


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


DRAWS = 20  # samples as they might have been


class MaskSample(Protocol):
    """`masks` (N, units), of which every beginning is a sample too if its length is a multiple of `step`."""

    @property
    def masks(self) -> Masks: ...

    @property
    def step(self) -> int: ...

    def weights(self, until: int) -> Floats:
        """The weights of the first `until` masks, (until,)."""
        ...

    def blocks_until(self, until: int) -> int:
        """How many groups of masks, drawn independently of each other, the first `until` are."""
        ...

    def redrawn(self, until: int, rng: np.random.Generator) -> Iterator[Floats]:
        """`DRAWS` times weights of the first `until` masks, (until,), from which the spread of a fit follows."""
        ...


@dataclass(frozen=True, eq=False)
class IndependentMasks:
    """Drawn with replacement. `blocks` numbers masks that stay together; those of block 0 are always in."""

    masks: Masks
    fixed_weights: Floats  # (N,)
    blocks: NDArray[np.int64]  # (N,)
    step: int = 1

    def weights(self, until: int) -> Floats:
        return self.fixed_weights[:until]

    def blocks_until(self, until: int) -> int:
        return int(self.blocks[until - 1]) + 1

    def redrawn(self, until: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Bootstrap: as many blocks as there are, drawn with replacement."""
        blocks = self.blocks[:until]
        count = int(blocks.max()) + 1
        for _ in range(DRAWS):
            times = np.bincount(rng.integers(1, max(count, 2), count - 1), minlength=count)
            times[0] = 1
            yield self.weights(until) * times[blocks]


@dataclass(frozen=True, eq=False)
class SharedMasks:
    """Pairs of complements drawn without replacement (`shared_masks`). `weigh` gives the weights of a beginning."""

    masks: Masks
    weigh: Callable[[Masks], Floats]
    step: int = 2

    def weights(self, until: int) -> Floats:
        return self.weigh(self.masks[:until])

    def blocks_until(self, until: int) -> int:
        return until // 2

    def redrawn(self, until: int, rng: np.random.Generator) -> Iterator[Floats]:
        """Bayesian bootstrap of the pairs (Rubin, 1981), less where a mask was likely to be in: without chance, 0."""
        weights, pairs = self.weights(until), np.arange(until) // 2
        chance = np.sqrt(1 - inclusion(self.masks[:until]))  # finite population correction
        for _ in range(DRAWS):
            yield weights * (1 + chance * (rng.exponential(size=pairs[-1] + 1)[pairs] - 1))


BATCH, CHECKS = 50, 3
TOP = 20  # percent
VISIBLE = 0.02  # as `explainers.comparison.answer.SMALLEST`


@dataclass(eq=False)
class Look:
    """At scores for class `label`. `top` are the units of the highest ones, `metrics` AOPC-C and AOPC-S."""

    answers: erasure.MaskedPredictor
    scores: tuple[float, ...]
    label: int

    @memoized
    def top(self) -> frozenset[int]:
        return frozenset(ranking(self.scores)[: top_count(len(self.scores), TOP)].tolist())

    @memoized
    def metrics(self) -> tuple[float, float]:
        """Asks for the masks of the metrics."""
        values = faithfulness.measured(self.answers, self.scores, self.label, faithfulness.decisive_metrics())
        return values["aopc_c"], values["aopc_s"]

    def near(self, other: "Look") -> bool:
        return all(abs(one - two) <= VISIBLE for one, two in zip(self.metrics, other.metrics, strict=True))


def settled(looks: Sequence[Look]) -> bool:
    """Return whether the last look agrees with the `CHECKS` before it."""
    *before, now = looks
    last = before[-CHECKS:]
    return len(last) == CHECKS and all(now.top == look.top for look in last) and all(map(now.near, last))


def batch_ends(masks: int, units: int) -> list[int]:
    """After how many of so many masks there is a look: every `BATCH`, from 4 masks a unit on so that a fit means much.

    The last one is `masks` itself.
    """
    ends = takewhile(lambda end: end < masks, count(max(BATCH, -(-4 * units // BATCH) * BATCH), BATCH))
    return [*ends, masks]
