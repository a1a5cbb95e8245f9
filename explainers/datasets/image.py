"""A user's image, and its pixels as people see them: upright, RGB, transparency on white."""

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from explainers.datasets import image_decoding
from explainers.errors import DataUnavailable


@dataclass(frozen=True)
class InputImage:
    """The content of a PNG, JPEG, WebP, GIF or BMP file, or its path: exactly one of the two.

    Reading it raises `DataUnavailable` if the file is no such image, is damaged or is too large.
    """

    content: bytes = field(default=b"", repr=False)
    path: Path | None = None

    def __post_init__(self) -> None:
        if bool(self.content) == (self.path is not None):
            raise ValueError("An image is its content or its path: give exactly one of the two.")

    @classmethod
    def of(cls, pixels: NDArray[np.uint8]) -> "InputImage":
        """The image with these pixels, (H, W, 3)."""
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
            raise ValueError(f"Pixels are bytes of the shape (H, W, 3), not {pixels.dtype} of {pixels.shape}.")
        return cls(_png(pixels))

    @classmethod
    def uploaded(cls, content: bytes) -> "InputImage":
        """The content that a user uploaded, which may be empty."""
        if not content:
            raise DataUnavailable(f"The file is empty. Give a {image_decoding.ACCEPTED_FORMATS}.")
        return cls(content)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, upright, from the header alone."""
        image = image_decoding.open_image(*self._file())
        width, height = image.size
        return (height, width) if image_decoding.orientation(image) >= 5 else (width, height)

    @property
    def warning(self) -> str:
        """What users must know about how the image is read, or "", from the header alone."""
        image = image_decoding.open_image(*self._file())
        warnings = {
            "The image is animated: only its first frame is read.": image_decoding.animated(image),
            "Transparent parts of the image are read as white.": image.has_transparency_data,
            "The image is in CMYK, the colours of print, and is converted to RGB.": image.mode == "CMYK",
        }
        return " ".join(sentence for sentence, holds in warnings.items() if holds)

    def pixels(self) -> NDArray[np.uint8]:
        """(H, W, 3), 0…255: every pixel of the image, in a new array."""
        return np.array(image_decoding.upright(*self._file()))

    def png(self) -> bytes:
        """The pixels as a new PNG file, without anything else that the original file holds."""
        return _png(self.pixels())

    def _file(self) -> tuple[bytes, str]:
        """Its content, and its name in messages."""
        return (
            (self.content, "The file") if self.path is None else (image_decoding.read_file(self.path), self.path.name)
        )


def _png(pixels: NDArray[np.uint8]) -> bytes:
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)  # a third of the time
    return file.getvalue()
