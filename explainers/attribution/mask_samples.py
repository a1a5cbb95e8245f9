"""The masks on which a surrogate is fitted, with their weights, and other samples as they might have been drawn.

When LIME and KernelSHAP have asked enough masks: the order of the top units and the metrics no longer change.

After every `BATCH` masks the estimate is looked at: which units are the top 20 %, and AOPC-C and AOPC-S. Sampling ends
where the last `CHECKS` looks agree with the present one: the same units, and both metrics within `VISIBLE`, the
difference below which a verdict sees none. In any case it ends with the last mask. The metrics need masks of their own,
so that they are read only where the units agree.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from explainers.attribution.shared_masks import inclusion
from explainers.memoized import memoized
from explainers.metrics.erasure import MaskedPredictor
from explainers.metrics.faithfulness import decisive_metrics, measured
from explainers.results.attribution import ranking, top_count

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]

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

    answers: MaskedPredictor
    scores: tuple[float, ...]
    label: int

    @memoized
    def top(self) -> frozenset[int]:
        return frozenset(ranking(self.scores)[: top_count(len(self.scores), TOP)].tolist())

    @memoized
    def metrics(self) -> tuple[float, float]:
        """Asks for the masks of the metrics."""
        values = measured(self.answers, self.scores, self.label, decisive_metrics())
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
