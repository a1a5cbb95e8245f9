"""A picture for models that do not read patches among the words' tokens: its pixels, and which unit owns each of them.

What stands in an erased pixel's place comes from the picture before anything was erased: by "mask" and "delete" its
mean colour, by "blur" the same place without its detail. By "zero" the pixels stay and the model loses its tokens.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter
from scipy.ndimage import find_objects

NOBODY = -1  # the owner of a pixel that belongs to no unit
BLUR = 1 / 16  # standard deviation of the blur, as a share of the picture's longer side

Pixels = NDArray[np.uint8]
Places = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Canvas:
    """`pixels` (H, W, 3) of 0…255; `owners` (H, W) holds the number of the unit, or -1 where none owns the pixel.

    `original` are the pixels as they were given, where some are erased by now. `zeroed` and `dropped` (H, W) are true
    where a person took the model's tokens away by "zero" or "delete".
    """

    pixels: Pixels = field(repr=False)
    owners: NDArray[np.int16] = field(repr=False)
    original: Pixels | None = field(default=None, repr=False)
    zeroed: Places | None = field(default=None, repr=False)
    dropped: Places | None = field(default=None, repr=False)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.pixels.shape[0], self.pixels.shape[1]

    def filler(self, erasure: str) -> Pixels:
        """(H, W, 3): what stands in the place of erased pixels."""
        original = self.pixels if self.original is None else self.original
        if erasure == "blur":
            blur = ImageFilter.GaussianBlur(BLUR * max(self.size))
            return np.asarray(Image.fromarray(original).filter(blur))
        return np.broadcast_to(np.rint(original.mean(axis=(0, 1))).astype(np.uint8), original.shape)

    def without(self, gone: Collection[int], place: Mapping[int, int], erasure: str) -> "Canvas":
        """The pixels of units in `gone` erased for good; `place` says which number each other unit has then."""
        taken = np.isin(self.owners, list(gone))  # (H, W)
        numbers = np.full(
            int(self.owners.max(initial=NOBODY)) + 2, NOBODY, np.int16
        )  # the last one is read by nobody's pixels
        for old, new in place.items():
            if old < len(numbers) - 1:
                numbers[old] = new
        painted = erasure != "zero"
        return Canvas(
            np.where(taken[:, :, None], self.filler(erasure), self.pixels) if painted else self.pixels,
            numbers[self.owners],
            self.pixels if self.original is None else self.original,
            _joined(self.zeroed, taken if erasure == "zero" else None),
            _joined(self.dropped, taken if erasure == "delete" else None),
        )

    def lent(self, other: "Canvas", loans: Mapping[int, int]) -> "Canvas":
        """The places of some units show units of another picture, made to fit: unit → the other's unit."""
        return replace(
            self,
            pixels=_lent(self.pixels, self.owners, other, loans),
            original=None if self.original is None else _lent(self.original, self.owners, other, loans),
        )


def _lent(pixels: Pixels, owners: NDArray[np.int16], other: Canvas, loans: Mapping[int, int]) -> Pixels:
    changed, own, others = pixels.copy(), find_objects(owners + 1), find_objects(other.owners + 1)
    for unit, loan in loans.items():
        here = own[unit] if unit < len(own) else None
        there = others[loan] if loan < len(others) else None
        if here is not None and there is not None:  # words have no place
            size = (here[1].stop - here[1].start, here[0].stop - here[0].start)
            fitting = np.asarray(Image.fromarray(other.pixels[there]).resize(size))
            changed[here] = np.where((owners[here] == unit)[:, :, None], fitting, changed[here])
    return changed


def _joined(before: Places | None, more: Places | None) -> Places | None:
    return more if before is None else before if more is None else before | more
