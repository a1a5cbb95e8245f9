"""An image decomposed by its units, so that it is a sum for any mask of them.

    pixels(m) = background + Σ_u m_u · contributions_u   the model's input before it is clipped and normalised
    share(m)  = 1 - zeroed - Σ_u (1 - m_u) · areas_u     how much of each of the model's own patches is left

`background` is the image with every unit erased, and `contributions_u` is the difference that unit u makes to it.

Cutting an image into the patches that are the units of an explanation, independent of the model's own patches.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import find_objects
from torch import Tensor
from torch.nn import functional

from explainers.models.inputs.canvas import Canvas
from explainers.models.inputs.encoding import Unit
from explainers.models.multimodal.preprocessing import Preparation, Size


@dataclass(frozen=True)
class Blend:
    """For n units; the model's own patches are in rows and columns."""

    units: tuple[int, ...]  # their numbers
    background: Tensor  # (3, h, w)
    contributions: Tensor  # (n, 3, h, w)
    areas: Tensor  # (n, rows, columns): the share of each patch that the unit covers
    zeroed: Tensor | None  # (rows, columns): the share that is always zero
    dropped: Tensor | None  # (rows, columns): the share that is always dropped
    preparation: Preparation

    def pixels(self, mask: Tensor) -> Tensor:
        """(B, all units) → (B, 3, h, w), prepared."""
        sums = torch.einsum("bn,nchw->bchw", mask[:, list(self.units)], self.contributions)
        return self.preparation.normalised(self.background + sums)

    def share(self, mask: Tensor) -> Tensor:
        """(B, all units) → (B, rows, columns): the share of each patch that "zero" leaves."""
        left = 1 - torch.einsum("bn,nrc->brc", 1 - mask[:, list(self.units)], self.areas)
        return left if self.zeroed is None else left - self.zeroed

    def kept(self, mask: Tensor) -> Tensor:
        """(B, all units) → (B, rows, columns): false where "delete" removes more than half of a patch."""
        dropped = torch.einsum("bn,nrc->brc", 1 - mask[:, list(self.units)], self.areas)
        return (dropped if self.dropped is None else dropped + self.dropped) <= 0.5

    def apply(self, mask: Tensor, erasure: str, *, drops: bool) -> "BlendedImage":
        """The image under masks (B, all units); `drops` says whether patches of the model can be dropped."""
        whole = torch.ones_like(mask)
        zero, delete = erasure == "zero", erasure == "delete"
        return BlendedImage(
            self.pixels(whole if zero else mask),
            self.share(mask if zero else whole) if zero or self.zeroed is not None else None,
            self.kept(mask if delete else whole) if drops and (delete or self.dropped is not None) else None,
        )


@dataclass(frozen=True)
class BlendedImage:
    """An image under B masks."""

    pixels: Tensor  # (B, 3, h, w)
    scale: Tensor | None  # (B, rows, columns): multiplies the model's own patches
    kept: Tensor | None  # (B, rows, columns): which of them are kept


def blend(canvas: Canvas, erasure: str, preparation: Preparation, grid: Size, like: Tensor) -> Blend:
    """`grid` are rows and columns of the model's own patches; the result has the device and precision of `like`."""
    rows, columns = (matrix.to(like) for matrix in preparation.matrices(canvas.size))
    down, across = (matrix.to(like) for matrix in _covering(preparation, canvas.size, grid))
    replacement, owned = canvas.replacement(erasure), canvas.owners >= 0
    image, difference = (
        torch.tensor(array, device=like.device).to(like).permute(2, 0, 1) / 255
        for array in (
            np.where(owned[:, :, None], replacement, canvas.pixels),
            np.subtract(canvas.pixels, replacement, dtype=np.float32),
        )
    )  # (3, H, W)
    units, contributions, areas = [], [], []
    for number, box, covered in _owned(canvas, like):
        units.append(number)
        contributions.append(rows[:, box[0]] @ (difference[:, box[0], box[1]] * covered) @ columns[:, box[1]].T)
        areas.append(down[:, box[0]] @ covered @ across[:, box[1]].T)
    background = rows @ image @ columns.T
    return Blend(
        tuple(units),
        background,
        torch.stack(contributions) if contributions else background.new_zeros(0, *background.shape),
        torch.stack(areas) if areas else background.new_zeros(0, *grid),
        _covered(canvas.zeroed, down, across),
        _covered(canvas.dropped, down, across),
        preparation,
    )


def unit_areas(canvas: Canvas, preparation: Preparation, grid: Size, like: Tensor) -> dict[int, Tensor]:
    """Unit → the share of each of the model's own patches that it covers, (rows · columns,)."""
    down, across = (matrix.to(like) for matrix in _covering(preparation, canvas.size, grid))
    return {
        number: (down[:, box[0]] @ covered @ across[:, box[1]].T).flatten()
        for number, box, covered in _owned(canvas, like)
    }


def painted(canvas: Canvas, erasure: str, preparation: Preparation, mask: Tensor) -> Tensor:
    """The prepared image (3, h, w) under one mask (all units,). It is what `Blend.pixels` gives, without the memory
    for every unit's contribution, which pays off only for many masks of one image."""
    rows, columns = (matrix.to(mask) for matrix in preparation.matrices(canvas.size))
    image, replacement = (
        torch.tensor(pixels, device=mask.device).to(mask).permute(2, 0, 1) / 255
        for pixels in (canvas.pixels, canvas.replacement(erasure))
    )  # (3, H, W)
    share = functional.pad(mask, (0, 1), value=1.0)  # pixels of no unit read the 1
    kept = share[torch.tensor(canvas.owners, device=mask.device).long()]  # (H, W)
    return preparation.normalised((rows @ (replacement + kept * (image - replacement)) @ columns.T)[None])[0]


def _owned(canvas: Canvas, like: Tensor) -> Iterator[tuple[int, tuple[slice, slice], Tensor]]:
    """Every unit of the image with its box, and where in the box its pixels are."""
    for number, box in enumerate(find_objects(np.asarray(canvas.owners) + 1)):
        if box is not None:
            yield number, box, torch.tensor(canvas.owners[box] == number, device=like.device).to(like)


def _covered(pixels: NDArray[np.bool_] | None, down: Tensor, across: Tensor) -> Tensor | None:
    """From pixels of the image, (H, W), to the share of each patch, (rows, columns)."""
    return None if pixels is None else down @ torch.tensor(pixels).to(down) @ across.T


def _covering(preparation: Preparation, size: Size, grid: Size) -> tuple[Tensor, Tensor]:
    """(rows, H) and (columns, W): how much of each patch lies on each line of pixels of the image."""
    left, top, right, bottom = preparation.visible_area(size)
    return _overlap(top, bottom, grid[0], size[0]), _overlap(left, right, grid[1], size[1])


def _overlap(start: float, stop: float, parts: int, length: int) -> Tensor:
    """(parts, length): `start` to `stop` in equal parts; each row sums to 1."""
    edges = torch.linspace(start, stop, parts + 1, dtype=torch.float64)
    pixel = torch.arange(length, dtype=torch.float64)
    common = torch.minimum(edges[1:, None], pixel + 1) - torch.maximum(edges[:-1, None], pixel)
    return common.clamp(min=0) * parts / (stop - start)


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
