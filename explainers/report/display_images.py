"""Images for pages and documents: small enough to be sent and repeated, without the metadata of the given file."""

import base64
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO

from PIL import Image

from explainers.datasets.example import InputImage

LONGEST = 800  # pixels of the longer side
MOST_LOSSLESS = 150_000  # bytes; photographs are larger


@dataclass(frozen=True)
class DisplayImage:
    """`width` and `height` are those of the given image, in whose pixels boxes are measured."""

    content: bytes = field(repr=False)
    kind: str
    width: int
    height: int

    @property
    def uri(self) -> str:
        return f"data:image/{self.kind};base64,{base64.b64encode(self.content).decode()}"

    def percent_box(self, box: tuple[int, int, int, int]) -> tuple[float, float, float, float]:
        """Left, top, width and height in percent of the image."""
        left, top, right, bottom = box
        wide, high = 100 / self.width, 100 / self.height
        return (
            round(left * wide, 3),
            round(top * high, 3),
            round((right - left) * wide, 3),
            round((bottom - top) * high, 3),
        )


@lru_cache(maxsize=16)
def display_image(image: InputImage, longest: int = LONGEST) -> DisplayImage:
    """Upright and at most `longest` pixels long. Raises `DataUnavailable` if it cannot be read."""
    resized = Image.fromarray(image.pixels())
    width, height = resized.size
    resized.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    content, kind = _file(resized, "PNG"), "png"
    if len(content) > MOST_LOSSLESS:
        content, kind = _file(resized, "JPEG", quality=88), "jpeg"
    return DisplayImage(content, kind, width, height)


def _file(resized: Image.Image, kind: str, **how: int) -> bytes:
    file = BytesIO()
    resized.save(file, kind, **how)
    return file.getvalue()
