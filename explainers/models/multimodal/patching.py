"""Cutting an image into the patches that are the units of an explanation, independent of the model's own patches."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import find_objects

from explainers.models.inputs.encoding import Unit

Pixels = NDArray[np.uint8]
Owners = NDArray[np.int16]


@dataclass(frozen=True)
class Grid:
    """About `cells` rectangles, as square as the image allows."""

    cells: int = 49

    def patch_owners(self, pixels: Pixels) -> tuple[Owners, tuple[str, ...]]:
        """Which patch owns each pixel, (H, W) of 0, 1, …, and what each is called."""
        height, width = pixels.shape[:2]
        columns = min(width, max(1, round((self.cells * width / height) ** 0.5)))
        rows = min(height, max(1, round(self.cells / columns)))
        row, column = (np.searchsorted(_edges(length, parts), np.arange(length), side="right") - 1
                       for length, parts in ((height, rows), (width, columns)))  # fmt: skip
        names = tuple(f"row {r}, column {c}" for r in range(1, rows + 1) for c in range(1, columns + 1))
        return (row[:, None] * columns + column).astype(np.int16), names


@dataclass(frozen=True)
class Superpixels:
    """About `count` regions of like colour (SLIC; Achanta et al., 2012), for models whose own patches do not matter:
    those that join image and text late. A region's box is the smallest rectangle around it."""

    count: int = 49
    compactness: float = 10.0  # the weight of position against colour
    longest: int = 320  # pixels of the longer side when regions are computed

    def patch_owners(self, pixels: Pixels) -> tuple[Owners, tuple[str, ...]]:
        """Which region owns each pixel, (H, W) of 0, 1, …, and what each is called."""
        from skimage.segmentation import slic  # takes a second, which grids do not need

        height, width = pixels.shape[:2]
        scale = min(1.0, self.longest / max(height, width))
        small = max(1, round(width * scale)), max(1, round(height * scale))
        scaled = np.asarray(Image.fromarray(pixels).resize(small, Image.Resampling.BOX))
        regions = slic(scaled, n_segments=self.count, compactness=self.compactness, start_label=0)
        down, across = np.arange(height) * small[1] // height, np.arange(width) * small[0] // width
        _, numbers = np.unique(regions[down[:, None], across], return_inverse=True)
        owners = numbers.reshape(height, width).astype(np.int16)
        return owners, tuple(f"region {number}" for number in range(1, int(owners.max()) + 2))


Patching = Grid | Superpixels


def units(owners: Owners, names: Sequence[str]) -> tuple[Unit, ...]:
    """The patches as units."""
    return tuple(
        Unit(name, 0, 0, segment=1, box=(across.start, down.start, across.stop, down.stop))
        for name, (down, across) in zip(names, find_objects(owners + 1), strict=True)
    )


def _edges(length: int, parts: int) -> NDArray[np.int64]:
    """Where each part begins."""
    return np.rint(np.arange(parts) * length / parts).astype(np.int64)
