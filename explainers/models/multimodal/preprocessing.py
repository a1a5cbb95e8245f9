"""How a model's images are prepared: resized, cropped and normalised, by the numbers of its preprocessor_config.

The library's processors round to whole bytes and have no gradient. Here it is plain algebra, for each colour

    prepared = rows · image · columnsᵀ

so the contribution of a patch can be computed once and scaled by its mask.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from explainers.errors import ModelUnavailable

Size = tuple[int, int]  # height and width
MODES = {2: "bilinear", 3: "bicubic"}  # Pillow's numbers
SLACK = 1e-4  # values this far outside 0…1 are not clipped, or rounding would hide the gradient of pure white
CLOSE = 0.05  # mean difference from the library's processor after normalisation; another size would give about 1


@dataclass(frozen=True)
class Preparation:
    """`resized` maps height and width to the new ones; `crop` is the size that is then cut from the middle."""

    resized: Callable[[int, int], Size]
    crop: Size | None
    mean: tuple[float, ...]
    std: tuple[float, ...]
    mode: str = "bicubic"

    def size(self, size: Size) -> Size:
        """The size of the prepared image."""
        return self.crop or self.resized(*size)

    def visible_area(self, size: Size) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the part that the model reads, in pixels of the image."""
        (height, width), whole = self.size(size), self.resized(*size)
        top, left = _middle(whole, (height, width))
        down, across = size[0] / whole[0], size[1] / whole[1]
        return left * across, top * down, (left + width) * across, (top + height) * down

    def matrices(self, size: Size) -> tuple[Tensor, Tensor]:
        """`rows` (h, H) and `columns` (w, W)."""
        (height, width), whole = self.size(size), self.resized(*size)
        top, left = _middle(whole, (height, width))
        rows, columns = (_resizing(*lengths, self.mode) for lengths in zip(size, whole, strict=True))
        return rows[top : top + height], columns[left : left + width]

    def apply(self, pixels: NDArray[np.uint8]) -> Tensor:
        """(H, W, 3) → (3, h, w), prepared."""
        rows, columns = self.matrices((pixels.shape[0], pixels.shape[1]))
        image = torch.tensor(pixels).permute(2, 0, 1) / 255
        return self.normalised((rows @ image @ columns.T)[None])[0]

    def normalised(self, images: Tensor) -> Tensor:
        """(B, 3, h, w) of 0…1, clipped where resizing overshot."""
        mean, std = (images.new_tensor(channels)[:, None, None] for channels in (self.mean, self.std))
        return (images.clamp(-SLACK, 1 + SLACK) - mean) / std


def preparation(processor: Any, resized: Callable[[int, int], Size] | None = None) -> Preparation:
    """From the numbers of the library's image processor; `resized` for a model with a rule of its own."""
    if processor.resample not in MODES or not (processor.do_resize and processor.do_rescale):
        raise _strange(processor)
    crop: Size | None = None
    if getattr(processor, "do_center_crop", None):
        crop = processor.crop_size.height, processor.crop_size.width
    share = getattr(processor, "crop_pct", None)
    if share and processor.size.shortest_edge < 384:  # ConvNext's rule, also ResNet's
        crop = (processor.size.shortest_edge,) * 2
        resized = _by_short_edge(int(crop[0] / share))
    plain = (0.0,) * 3, (1.0,) * 3
    mean, std = (processor.image_mean, processor.image_std) if processor.do_normalize else plain
    result = Preparation(resized or _by_size(processor), crop, tuple(mean), tuple(std), MODES[int(processor.resample)])
    if crop and any(part < least for part, least in zip(result.resized(64, 64), crop, strict=True)):
        raise _strange(processor)  # it would add a black frame
    return result


def compared(result: Preparation, processor: Any) -> Preparation:
    """The preparation. Raises `ModelUnavailable` unless it prepares a test image like the library's processor."""
    down, across = np.mgrid[0:96, 0:128]
    pixels = np.stack([down * 2, across, (down * across) % 200], axis=2).astype(np.uint8)
    expected = processor(images=pixels, return_tensors="pt", input_data_format="channels_last")["pixel_values"][0]
    actual = result.apply(pixels)
    if actual.shape != expected.shape or float((actual - expected).abs().mean()) > CLOSE:
        raise _strange(processor)
    return result


def _strange(processor: Any) -> ModelUnavailable:
    return ModelUnavailable(
        f"The images of this model are prepared by {type(processor).__name__} in a way that is not supported."
    )


def _by_size(processor: Any) -> Callable[[int, int], Size]:
    size = processor.size
    if size.height and size.width:
        exact = size.height, size.width
        return lambda _height, _width: exact
    if not size.shortest_edge:
        raise _strange(processor)
    return _by_short_edge(size.shortest_edge)


def _by_short_edge(short: int) -> Callable[[int, int], Size]:
    def resized(height: int, width: int) -> Size:
        long = int(short * max(height, width) / min(height, width))
        return (long, short) if height > width else (short, long)

    return resized


def _middle(whole: Size, part: Size) -> tuple[int, int]:
    """Top and left of a centred part."""
    return (whole[0] - part[0]) // 2, (whole[1] - part[1]) // 2


@lru_cache(maxsize=16)
def _resizing(length: int, resized: int, mode: str) -> Tensor:
    """(resized, length): the weights by which torch resizes a line, from its output for unit vectors."""
    with torch.inference_mode(mode=False):  # the cached tensor may need a gradient later
        points = torch.eye(length)[None, None]
        weights: Tensor = nn.functional.interpolate(points, size=(resized, length), mode=mode, antialias=True)[0, 0]
        return weights
