"""An image for models whose patches are no tokens: its pixels, and the unit that owns each of them.

Erased pixels are replaced by what comes from the image before anything was erased: by "mask" and "delete" its mean
colour, by "blur" the same pixels without their detail. By "zero" the pixels stay and the model loses its tokens.

The patches of an image as the model reads them among the words' tokens: one embedding per patch.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

NO_OWNER = -1  # the owner of a pixel that belongs to no unit
BLUR = 1 / 16  # standard deviation of the blur, as a share of the image's longer side

Pixels = NDArray[np.uint8]
PixelMask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Canvas:
    """`pixels` (H, W, 3) of 0…255; `owners` (H, W) holds the number of the unit, or -1 where none owns the pixel.

    `original` are the pixels before some were erased for good. `zeroed` and `dropped` (H, W) are true where tokens
    were taken from the model for good by "zero" or "delete".
    """

    pixels: Pixels = field(repr=False)
    owners: NDArray[np.int16] = field(repr=False)
    original: Pixels | None = field(default=None, repr=False)
    zeroed: PixelMask | None = field(default=None, repr=False)
    dropped: PixelMask | None = field(default=None, repr=False)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.pixels.shape[0], self.pixels.shape[1]

    def arrays(self) -> tuple[NDArray[np.generic], ...]:
        """All that the model's answers depend on; an empty one in place of what is not there."""
        optional = (self.original, self.zeroed, self.dropped)
        return self.pixels, self.owners, *(np.zeros(0) if array is None else array for array in optional)

    def replacement(self, erasure: str) -> Pixels:
        """(H, W, 3): the pixels that replace erased ones."""
        original = self.pixels if self.original is None else self.original
        if erasure == "blur":
            blur = ImageFilter.GaussianBlur(BLUR * max(self.size))
            return np.asarray(Image.fromarray(original).filter(blur))
        return np.broadcast_to(np.rint(original.mean(axis=(0, 1))).astype(np.uint8), original.shape)

    def without(self, removed: Collection[int], new_numbers: Mapping[int, int], erasure: str) -> "Canvas":
        """The image with the `removed` units erased for good; `new_numbers` are those of the remaining units."""
        erased = np.isin(self.owners, list(removed))  # (H, W)
        numbers = np.full(int(self.owners.max(initial=NO_OWNER)) + 2, NO_OWNER, np.int16)  # NO_OWNER reads the last one
        for old, new in new_numbers.items():
            if old < len(numbers) - 1:
                numbers[old] = new
        replaced = erasure != "zero"
        return Canvas(
            np.where(erased[:, :, None], self.replacement(erasure), self.pixels) if replaced else self.pixels,
            numbers[self.owners],
            self.pixels if self.original is None else self.original,
            _union(self.zeroed, erased if erasure == "zero" else None),
            _union(self.dropped, erased if erasure == "delete" else None),
        )

    def with_patches_of(self, other: "Canvas", sources: Mapping[int, int]) -> "Canvas":
        """Some units show patches of another image, resized to fit: unit → the other image's unit."""
        return replace(
            self,
            pixels=_with_patches(self.pixels, self.owners, other, sources),
            original=None if self.original is None else _with_patches(self.original, self.owners, other, sources),
        )


def _with_patches(pixels: Pixels, owners: NDArray[np.int16], other: Canvas, sources: Mapping[int, int]) -> Pixels:
    from scipy.ndimage import find_objects  # takes a while, and the page does not need it

    changed, boxes, other_boxes = pixels.copy(), find_objects(owners + 1), find_objects(other.owners + 1)
    for unit, source in sources.items():
        target_box = boxes[unit] if unit < len(boxes) else None
        source_box = other_boxes[source] if source < len(other_boxes) else None
        if target_box is not None and source_box is not None:  # words have no pixels
            size = (target_box[1].stop - target_box[1].start, target_box[0].stop - target_box[0].start)
            resized = np.asarray(Image.fromarray(other.pixels[source_box]).resize(size))
            changed[target_box] = np.where((owners[target_box] == unit)[:, :, None], resized, changed[target_box])
    return changed


def _union(before: PixelMask | None, more: PixelMask | None) -> PixelMask | None:
    return more if before is None else before if more is None else before | more


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
