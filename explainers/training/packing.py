"""Weights in 8 bits: a matrix as whole numbers from -127 to 127 with a scale for each of its rows.

The rounding error of a weight is at most 1/254 of the largest one in its row.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

SCALE = ".scale"
SMALLEST = 4096  # numbers of a matrix that is packed; the rest stays in 16 bits


def packed(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The matrices in 8 bits with their scales (rows, 1) beside them, everything else in 16."""
    result: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.dim() != 2 or weight.numel() < SMALLEST:
            result[name] = weight.half()
            continue
        scale = (weight.float().abs().amax(1, keepdim=True) / 127).clamp(min=1e-30)
        result[name] = (weight / scale).round().to(torch.int8)
        result[name + SCALE] = scale
    return result


def unpacked(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The inverse; weights that were not packed stay as they are."""
    return {
        name: weight.float() * weights[name + SCALE] if name + SCALE in weights else weight
        for name, weight in weights.items()
        if name.removesuffix(SCALE) not in weights or not name.endswith(SCALE)
    }
