"""A picture for models that do not read patches as tokens: its pixels, and which unit owns each of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Canvas:
    """`pixels` (H, W, 3) of 0…255; `owners` (H, W) holds the number of the unit, or -1 where none owns the pixel."""

    pixels: NDArray[np.uint8] = field(repr=False)
    owners: NDArray[np.int64] = field(repr=False)

    def without(self, gone: Collection[int], place: Mapping[int, int], erasure: str) -> "Canvas":
        """The pixels of units in `gone` erased for good; `place` says which number each other unit has then."""
        raise NotImplementedError
