"""A picture taken apart by its units, so that any mask of them is a sum.

    pixels(m) = bare + Σ_u m_u · adds_u                what the model gets, before it is clipped and normalised
    share(m)  = 1 - zeroed - Σ_u (1 - m_u) · areas_u   how much is left of what each of the model's own patches covers

`bare` shows the filler in every unit's place, and `adds_u` is the difference that unit u makes to it.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.ndimage import find_objects
from torch import Tensor

from explainers.models.canvas import Canvas
from explainers.models.multimodal.preparing import Preparation, Size


@dataclass(frozen=True)
class Blend:
    """Of n units; the model's own patches stand in rows and columns."""

    units: tuple[int, ...]  # their numbers
    bare: Tensor  # (3, h, w)
    adds: Tensor  # (n, 3, h, w)
    areas: Tensor  # (n, rows, columns): which share of each patch the unit covers
    zeroed: Tensor | None  # (rows, columns): the share that is zero for good
    dropped: Tensor | None  # (rows, columns): the share that is gone for good
    preparation: Preparation

    def pixels(self, mask: Tensor) -> Tensor:
        """(B, all units) → (B, 3, h, w), ready for the model."""
        sums = torch.einsum("bn,nchw->bchw", mask[:, list(self.units)], self.adds)
        return self.preparation.normalised(self.bare + sums)

    def share(self, mask: Tensor) -> Tensor:
        """(B, all units) → (B, rows, columns): how much of each patch is left by "zero"."""
        left = 1 - torch.einsum("bn,nrc->brc", 1 - mask[:, list(self.units)], self.areas)
        return left if self.zeroed is None else left - self.zeroed

    def kept(self, mask: Tensor) -> Tensor:
        """(B, all units) → (B, rows, columns): false where "delete" took more than half of a patch."""
        gone = torch.einsum("bn,nrc->brc", 1 - mask[:, list(self.units)], self.areas)
        return (gone if self.dropped is None else gone + self.dropped) <= 0.5

    def shown(self, mask: Tensor, erasure: str, *, drops: bool) -> "Shown":
        """For masks (B, all units); `drops` says whether the model can do without some of its patches."""
        whole = torch.ones_like(mask)
        zero, delete = erasure == "zero", erasure == "delete"
        return Shown(
            self.pixels(whole if zero else mask),
            self.share(mask if zero else whole) if zero or self.zeroed is not None else None,
            self.kept(mask if delete else whole) if drops and (delete or self.dropped is not None) else None,
        )


@dataclass(frozen=True)
class Shown:
    """What B masks leave of a picture."""

    pixels: Tensor  # (B, 3, h, w)
    scale: Tensor | None  # (B, rows, columns): multiplies the model's own patches
    kept: Tensor | None  # (B, rows, columns): which of them are kept


def blend(canvas: Canvas, erasure: str, preparation: Preparation, grid: Size, like: Tensor) -> Blend:
    """`grid` are the model's own rows and columns of patches; the result lies where `like` does, in its precision."""
    rows, columns = (each.to(like) for each in preparation.matrices(canvas.size))
    down, across = (each.to(like) for each in _covering(preparation, canvas.size, grid))
    filler, owned = canvas.filler(erasure), canvas.owners >= 0
    picture, difference = (
        torch.tensor(each, device=like.device).to(like).permute(2, 0, 1) / 255
        for each in (
            np.where(owned[:, :, None], filler, canvas.pixels),
            np.subtract(canvas.pixels, filler, dtype=np.float32),
        )
    )  # (3, H, W)
    units, adds, areas = [], [], []
    for number, box in enumerate(find_objects(np.asarray(canvas.owners) + 1)):
        if box is None:
            continue
        inside = torch.tensor(canvas.owners[box] == number, device=like.device).to(like)
        units.append(number)
        adds.append(rows[:, box[0]] @ (difference[:, box[0], box[1]] * inside) @ columns[:, box[1]].T)
        areas.append(down[:, box[0]] @ inside @ across[:, box[1]].T)
    bare = rows @ picture @ columns.T
    return Blend(
        tuple(units),
        bare,
        torch.stack(adds) if adds else bare.new_zeros(0, *bare.shape),
        torch.stack(areas) if areas else bare.new_zeros(0, *grid),
        _covered(canvas.zeroed, down, across),
        _covered(canvas.dropped, down, across),
        preparation,
    )


def _covered(places: NDArray[np.bool_] | None, down: Tensor, across: Tensor) -> Tensor | None:
    """From places of the picture, (H, W), to the share of each patch, (rows, columns)."""
    return None if places is None else down @ torch.tensor(places).to(down) @ across.T


def _covering(preparation: Preparation, given: Size, grid: Size) -> tuple[Tensor, Tensor]:
    """(rows, H) and (columns, W): how much of each patch lies on each line of the picture's pixels."""
    left, top, right, bottom = preparation.view(given)
    return _overlap(top, bottom, grid[0], given[0]), _overlap(left, right, grid[1], given[1])


def _overlap(start: float, stop: float, parts: int, length: int) -> Tensor:
    """(parts, length): `start` to `stop` in equal parts; each row sums to 1."""
    edges = torch.linspace(start, stop, parts + 1, dtype=torch.float64)
    pixel = torch.arange(length, dtype=torch.float64)
    common = torch.minimum(edges[1:, None], pixel + 1) - torch.maximum(edges[:-1, None], pixel)
    return common.clamp(min=0) * parts / (stop - start)
