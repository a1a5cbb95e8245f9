"""A picture as pages and documents hold it: small enough to be sent and repeated, and nothing of the given file."""

import base64
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO

from PIL import Image

from explainers.datasets.picture import Picture

LONGEST = 800  # pixels of the longer side
MOST_LOSSLESS = 150_000  # bytes; photographs are larger


@dataclass(frozen=True)
class Shown:
    """`width` and `height` are those of the picture as it was given, in whose pixels boxes are."""

    content: bytes = field(repr=False)
    kind: str
    width: int
    height: int

    @property
    def uri(self) -> str:
        return f"data:image/{self.kind};base64,{base64.b64encode(self.content).decode()}"

    def share(self, box: tuple[int, int, int, int]) -> tuple[float, float, float, float]:
        """Left, top, width and height in percent of the picture."""
        left, top, right, bottom = box
        wide, high = 100 / self.width, 100 / self.height
        found = left * wide, top * high, (right - left) * wide, (bottom - top) * high
        first, second, third, fourth = (round(each, 3) for each in found)
        return first, second, third, fourth


@lru_cache(maxsize=16)
def shown(picture: Picture, longest: int = LONGEST) -> Shown:
    """Upright and at most `longest` pixels long. Raises `DataUnavailable` if it cannot be read."""
    image = Image.fromarray(picture.pixels())
    width, height = image.size
    image.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    content, kind = _file(image, "PNG"), "png"
    if len(content) > MOST_LOSSLESS:
        content, kind = _file(image, "JPEG", quality=88), "jpeg"
    return Shown(content, kind, width, height)


def _file(image: Image.Image, kind: str, **how: int) -> bytes:
    file = BytesIO()
    image.save(file, kind, **how)
    return file.getvalue()
