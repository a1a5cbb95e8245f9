"""A picture somebody gave, and its pixels as a person sees them: upright, RGB, on white where it is transparent."""

from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from explainers.datasets import decoding
from explainers.errors import DataUnavailable


@dataclass(frozen=True)
class Picture:
    """The content of a PNG, JPEG, WebP, GIF or BMP file, or the path where it lies; exactly one of both.

    All that is asked of it raises `DataUnavailable` where the file is no such picture, is damaged or too large.
    """

    content: bytes = field(default=b"", repr=False)
    path: Path | None = None

    def __post_init__(self) -> None:
        if bool(self.content) == (self.path is not None):
            raise ValueError("A picture is its content or the path where it lies: give exactly one of both.")

    @classmethod
    def of(cls, pixels: NDArray[np.uint8]) -> "Picture":
        """The picture with these pixels, (H, W, 3)."""
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or not pixels.size:
            raise ValueError(f"Pixels are bytes of the shape (H, W, 3), not {pixels.dtype} of {pixels.shape}.")
        return cls(_png(pixels))

    @classmethod
    def uploaded(cls, content: bytes) -> "Picture":
        """What a person gave, which may be nothing."""
        if not content:
            raise DataUnavailable(f"The file is empty. Give a {decoding.POSSIBLE}.")
        return cls(content)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, upright; nothing is decoded for it."""
        image = decoding.opened(*self._file())
        width, height = image.size
        return (height, width) if decoding.orientation(image) >= 5 else (width, height)

    @property
    def notice(self) -> str:
        """What a reader must know of how the picture is read, or nothing; nothing is decoded for it."""
        image = decoding.opened(*self._file())
        notices = {
            "The picture is animated: only its first frame is read.": decoding.animated(image),
            "Where the picture is transparent, it is read as white.": image.has_transparency_data,
            "The picture is in colours of print (CMYK), which are turned into RGB.": image.mode == "CMYK",
        }
        return " ".join(sentence for sentence, holds in notices.items() if holds)

    def pixels(self) -> NDArray[np.uint8]:
        """(H, W, 3), 0…255: every pixel that was given, in an array of the caller's own."""
        return np.array(decoding.upright(*self._file()))

    def png(self) -> bytes:
        """The pixels as a new PNG file, which holds nothing else of what was given."""
        return _png(self.pixels())

    def _file(self) -> tuple[bytes, str]:
        """Its content, and what to call it."""
        return (self.content, "The file") if self.path is None else (decoding.read(self.path), self.path.name)


def _png(pixels: NDArray[np.uint8]) -> bytes:
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)  # a third of the time
    return file.getvalue()
