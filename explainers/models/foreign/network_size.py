"""Compares the network that a configuration describes with the weights in the files, before memory is taken for it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import nn

from explainers.errors import ModelUnavailable
from explainers.models.foreign.file_checks import check_model_bytes

BYTES = 4  # of a number in memory: fp32
TENSORS = 2**16
TIMES, MORE = 2, 10**7  # a network may have weights that its files lack: a new head, a pooler, tables of positions

Shapes = dict[str, tuple[int, ...]]


def stored_shapes(name: str, files: Iterable[Path]) -> Shapes:
    """The shape of every tensor in the files. Raises `ModelUnavailable` if one is damaged, or all is too large."""
    shapes: Shapes = {}
    for path in files:
        try:
            with safe_open(path, "pt") as file:
                for key in file.keys():  # noqa: SIM118  # it is no dict
                    shapes[key] = tuple(file.get_slice(key).get_shape())
        except Exception as error:  # the library's own, or the system's
            raise ModelUnavailable(f"The model {name!r} could not be loaded: {path.name} cannot be read.") from error
        if not shapes:
            raise ModelUnavailable(f"The model {name!r} could not be loaded: {path.name} holds no weights.")
    if len(shapes) > TENSORS:
        raise ModelUnavailable(f"The model {name!r} has {len(shapes):,} tensors; at most {TENSORS:,} are supported.")
    check_model_bytes(name, BYTES * _numbers(shapes.values()))
    return shapes


def described_shapes(auto: Any, config: Any) -> Shapes:
    """The shape of every weight and buffer of the network, which is built without memory."""
    with torch.device("meta"):
        network: nn.Module = auto.from_config(config, attn_implementation="eager")
    tensors = [*network.named_parameters(), *network.named_buffers()]
    return {name: tuple(tensor.shape) for name, tensor in tensors}


def check_network(name: str, described: Shapes, stored: Shapes) -> None:
    """Raises `ModelUnavailable` if the network is too large, or much larger than its files."""
    numbers, kept = _numbers(described.values()), _numbers(stored.values())
    if numbers > TIMES * kept + MORE:
        raise ModelUnavailable(
            f"The configuration of {name!r} describes a network of {numbers:,} weights, but its files hold {kept:,}."
        )
    check_model_bytes(name, BYTES * numbers)


def check_finite(name: str, module: nn.Module) -> None:
    """Raises `ModelUnavailable` if a weight is NaN or infinite."""
    for weight, tensor in module.named_parameters():
        if not bool(torch.isfinite(tensor).all()):
            raise ModelUnavailable(
                f"The weights of {name!r} are damaged: {weight} holds numbers that are NaN or infinite. Fetch it again."
            )


def _numbers(shapes: Iterable[tuple[int, ...]]) -> int:
    total = 0
    for shape in shapes:
        size = 1
        for side in shape:
            size *= side
        total += size
    return total
