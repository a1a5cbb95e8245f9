"""What a model sees of a picture whose patches are tokens among the words' tokens: one embedding per patch."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Seen:
    """L positions of d numbers, before position and LayerNorm. Rows of positions that hold words are zero.

    `fillers` are what stands in an erased patch's place: by "mask" the picture's mean colour, by "blur" the patch
    without its detail.
    """

    at: NDArray[np.bool_] = field(repr=False)  # (L,): true where a patch is
    own: Floats = field(repr=False)  # (L, d)
    fillers: dict[str, Floats] = field(repr=False)  # (L, d) each

    def filler(self, erasure: str) -> Floats:
        return self.fillers["blur" if erasure == "blur" else "mask"]

    def without(self, erased: Collection[int], positions: Sequence[int], erasure: str) -> "Seen":
        """Only the `positions`; patches at `erased` ones show their filler from now on, unless they are zeroed."""
        own = self.own.copy()
        if erasure in ("mask", "blur"):
            rows = [position for position in erased if self.at[position]]
            own[rows] = self.filler(erasure)[rows]
        kept = list(positions)
        return Seen(self.at[kept], own[kept], {name: rows[kept] for name, rows in self.fillers.items()})

    def lent(self, other: "Seen", rows: Sequence[int]) -> "Seen":
        """The positions `rows` of both, in which the other's are counted on from the own ones."""
        taken = list(rows)
        return Seen(
            np.concatenate([self.at, other.at])[taken],
            np.concatenate([self.own, other.own])[taken],
            {name: np.concatenate([self.fillers[name], other.fillers[name]])[taken] for name in self.fillers},
        )
