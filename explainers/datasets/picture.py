"""A picture somebody gave, and its pixels as a person sees them: upright, RGB, without transparency."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image


@dataclass(frozen=True)
class Picture:
    """The content of a PNG or JPEG file, or the path where it lies; exactly one of both."""

    content: bytes = b""
    path: Path | None = None

    def pixels(self) -> NDArray[np.uint8]:
        """(H, W, 3), 0…255. Raises `DataUnavailable` with what is wrong."""
        data = self.content if self.path is None else self.path.read_bytes()
        return np.asarray(Image.open(BytesIO(data)).convert("RGB"))
