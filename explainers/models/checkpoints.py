"""Reads the checkpoint of an interrupted training."""

from pathlib import Path
from typing import Any

import torch


def load_checkpoint(path: Path) -> dict[str, Any]:
    """The checkpoint at `path`: tensors, numbers and containers only.

    It lies in the run's own folder and is never fetched; `weights_only` still refuses anything that could run code.
    """
    checkpoint: dict[str, Any] = torch.load(path, weights_only=True)  # unpickles tensors and containers, no code
    return checkpoint
