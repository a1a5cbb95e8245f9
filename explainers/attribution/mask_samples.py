"""The masks on which a surrogate is fitted, with their weights, and other samples as they might have been drawn."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from explainers.attribution.shared_masks import inclusion

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
        """Of the first `until` masks, (until,)."""
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
