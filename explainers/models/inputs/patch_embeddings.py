"""The patches of an image as the model reads them among the words' tokens: one embedding per patch."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PatchEmbeddings:
    """L positions of d numbers, before position and LayerNorm. Rows of positions that hold words are zero.

    `replacements` take an erased patch's place: by "mask" the image's mean colour, by "blur" the patch without its
    detail.
    """

    is_patch: NDArray[np.bool_] = field(repr=False)  # (L,)
    embeddings: Floats = field(repr=False)  # (L, d)
    replacements: dict[str, Floats] = field(repr=False)  # (L, d) each

    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """All that the model's answers depend on."""
        return self.is_patch, self.embeddings, *(self.replacements[name] for name in sorted(self.replacements))

    def replacement(self, erasure: str) -> Floats:
        """(L, d): the embeddings of erased patches."""
        return self.replacements["blur" if erasure == "blur" else "mask"]

    def without(self, erased: Collection[int], positions: Sequence[int], erasure: str) -> "PatchEmbeddings":
        """Only the `positions`; patches at `erased` ones are replaced for good, unless they are zeroed."""
        embeddings = self.embeddings.copy()
        if erasure in ("mask", "blur"):
            rows = [position for position in erased if self.is_patch[position]]
            embeddings[rows] = self.replacement(erasure)[rows]
        kept = list(positions)
        replacements = {name: rows[kept] for name, rows in self.replacements.items()}
        return PatchEmbeddings(self.is_patch[kept], embeddings[kept], replacements)

    def combined(self, other: "PatchEmbeddings", rows: Sequence[int]) -> "PatchEmbeddings":
        """The positions `rows` of both, where the other's positions are numbered from L on."""
        taken = list(rows)
        return PatchEmbeddings(
            np.concatenate([self.is_patch, other.is_patch])[taken],
            np.concatenate([self.embeddings, other.embeddings])[taken],
            {
                name: np.concatenate([self.replacements[name], other.replacements[name]])[taken]
                for name in self.replacements
            },
        )
