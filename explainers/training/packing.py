"""Weights in 6 bits: a matrix as whole numbers from -31 to 31 with a scale for each of its rows, four in three bytes.

The rounding error of a weight is at most 1/62 of the largest one in its row. Files with 8 bits, one number a byte, are
read too.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

SCALE = ".scale"
SMALLEST = 4096  # numbers of a matrix that is packed; the rest stays in 16 bits
LARGEST = 31
TOGETHER = 4  # numbers in three bytes


def packed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The matrices in 6 bits with their scales (rows, 1) beside them, everything else in 16."""
    result: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.dim() != 2 or weight.numel() < SMALLEST or weight.shape[1] % TOGETHER:
            result[name] = weight.half()
            continue
        scale = (weight.float().abs().amax(1, keepdim=True) / LARGEST).clamp(min=1e-30)
        result[name] = in_bytes((weight / scale).round().to(torch.int32))
        result[name + SCALE] = scale
    return result


def unpacked(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The inverse; weights that were not packed stay as they are."""
    return {
        name: numbers_of(weight) * weights[name + SCALE] if name + SCALE in weights else weight
        for name, weight in weights.items()
        if name.removesuffix(SCALE) not in weights or not name.endswith(SCALE)
    }


def in_bytes(numbers: Tensor) -> Tensor:
    """Whole numbers from -31 to 31, (rows, columns), as bytes (rows, columns · 3/4)."""
    first, second, third, fourth = (numbers + LARGEST).view(len(numbers), -1, TOGETHER).unbind(-1)
    whole = first | second << 6 | third << 12 | fourth << 18
    return torch.stack([whole & 255, whole >> 8 & 255, whole >> 16], dim=-1).flatten(1).to(torch.uint8)


def numbers_of(stored: Tensor) -> Tensor:
    """The inverse of `in_bytes`, as floats; of 8 bits the numbers as they are."""
    if stored.dtype != torch.uint8:
        return stored.float()
    low, middle, high = stored.int().view(len(stored), -1, 3).unbind(-1)
    whole = low | middle << 8 | high << 16
    numbers = torch.stack([whole >> shift & 63 for shift in (0, 6, 12, 18)], dim=-1)
    return (numbers.flatten(1) - LARGEST).float()
