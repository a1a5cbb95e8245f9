"""Reading back what an interrupted training has written."""

from pathlib import Path
from typing import Any

import torch


def restored(path: Path) -> dict[str, Any]:
    """The checkpoint at `path`: tensors, numbers and containers only.

    It lies in the run's own folder and is never fetched; `weights_only` refuses whatever could run code all the same.
    """
    found: dict[str, Any] = torch.load(path, weights_only=True)
    return found
