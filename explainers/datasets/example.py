"""The one type into which every data set is read, and its image.

Image files are decoded here, and none of them is trusted: five decoders may run, and size and format are read from the
header before anything is decoded. Decoding briefly takes 10 to 20 bytes a pixel, most for WebP: 500 MB at the limit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import (  # importing a decoder registers it; otherwise Pillow would load every decoder it has to find WebP's
    BmpImagePlugin,  # noqa: F401
    ExifTags,
    GifImagePlugin,  # noqa: F401
    Image,
    JpegImagePlugin,  # noqa: F401
    PngImagePlugin,  # noqa: F401
    UnidentifiedImageError,
    WebPImagePlugin,  # noqa: F401
)

from explainers.errors import DataUnavailable

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
ACCEPTED_FORMATS = "PNG, JPEG, WebP, GIF or BMP file"
LARGEST_FILE = 20_000_000  # bytes
MOST_PIXELS = 25_000_000  # a camera's 6,000 × 4,000 fit
LONGEST_SIDE = 32_767  # no browser displays a longer one
SMALLER = f"Give one of at most {MOST_PIXELS:,} pixels whose sides have at most {LONGEST_SIDE:,}."
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}  # what undoes a camera's orientation, by its number in EXIF; from 5 on width and height are swapped


def read_file(path: Path) -> bytes:
    """The file's content, at most one byte more than is allowed."""
    try:
        if not path.is_file():
            raise DataUnavailable(f"{path} does not exist. Give the path of a {ACCEPTED_FORMATS}.")
        with path.open("rb") as file:
            return file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise DataUnavailable(
            f"{path} cannot be read: {error.strerror}. Give the path of a {ACCEPTED_FORMATS}."
        ) from error


def open_image(content: bytes, name: str) -> Image.Image:
    """The image with its header read and its size within the limits; not decoded yet."""
    if not content:
        raise DataUnavailable(f"{name} is empty. Give a {ACCEPTED_FORMATS}.")
    if len(content) > LARGEST_FILE:
        raise DataUnavailable(f"{name} has more than {LARGEST_FILE // 10**6} MB. Save it smaller, perhaps as JPEG.")
    with decoder_errors(name):
        image = Image.open(BytesIO(content), formats=FORMATS)
    width, height = image.size
    if width * height > MOST_PIXELS or max(width, height) > LONGEST_SIDE:
        raise DataUnavailable(f"{name} has {width:,} × {height:,} pixels. {SMALLER}")
    return image


@contextmanager
def decoder_errors(name: str) -> Iterator[None]:
    """Turns every error of a decoder into a `DataUnavailable` about the file."""
    try:
        yield
    except UnidentifiedImageError as error:
        raise DataUnavailable(f"{name} cannot be read as an image. Give an undamaged {ACCEPTED_FORMATS}.") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise DataUnavailable(f"{name} has far too many pixels. {SMALLER}") from error
    except Exception as error:
        raise DataUnavailable(f"{name} is damaged. Save it again, or give another file.") from error


def orientation(image: Image.Image) -> int:
    """1 to 8, from the header; 1 if the header cannot be read."""
    try:  # the base class's method: PNG's own would decode the image to read past it
        number = Image.Image.getexif(image).get(ExifTags.Base.Orientation)
    except Exception:  # Pillow raises anything here; a broken header must not hide the whole image
        return 1
    return number if number in UPRIGHT else 1


def animated(image: Image.Image) -> bool:
    """Return whether frames follow the first one, readable or not."""
    try:  # a photograph with a depth map has the format MPO, and is one image to people
        return image.format != "MPO" and bool(getattr(image, "is_animated", False))
    except Exception:  # as above; the warning then says that one frame is read
        return True


def upright(content: bytes, name: str) -> Image.Image:
    """As a person sees it: RGB, on white, and turned as the header says."""
    image = open_image(content, name)
    with decoder_errors(name):
        turned = UPRIGHT.get(orientation(image))
        image = rgb(image)  # this frees the decoder and what it decoded
        return image if turned is None else image.transpose(turned)


def rgb(image: Image.Image) -> Image.Image:
    """On white; of 16 bits the upper 8, as Pillow itself reads colours of 16 bits."""
    if image.mode == "I;16":
        values = np.array(image)
        if "transparency" in image.info:
            values[values == image.info["transparency"]] = 0xFFFF
        return Image.fromarray((values >> 8).astype(np.uint8)).convert("RGB")
    if not image.has_transparency_data:
        return image.convert("RGB")
    white, layer = Image.new("RGB", image.size, "white"), image.convert("RGBA")
    white.paste(layer, mask=layer)
    return white


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
            raise DataUnavailable(f"The file is empty. Give a {ACCEPTED_FORMATS}.")
        return cls(content)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height, upright, from the header alone."""
        image = open_image(*self._file())
        width, height = image.size
        return (height, width) if orientation(image) >= 5 else (width, height)

    @property
    def warning(self) -> str:
        """What users must know about how the image is read, or "", from the header alone."""
        image = open_image(*self._file())
        warnings = {
            "The image is animated: only its first frame is read.": animated(image),
            "Transparent parts of the image are read as white.": image.has_transparency_data,
            "The image is in CMYK, the colours of print, and is converted to RGB.": image.mode == "CMYK",
        }
        return " ".join(sentence for sentence, holds in warnings.items() if holds)

    def pixels(self) -> NDArray[np.uint8]:
        """(H, W, 3), 0…255: every pixel of the image, in a new array."""
        return np.array(upright(*self._file()))

    def png(self) -> bytes:
        """The pixels as a new PNG file, without anything else that the original file holds."""
        return _png(self.pixels())

    def _file(self) -> tuple[bytes, str]:
        """Its content, and its name in messages."""
        return (self.content, "The file") if self.path is None else (read_file(self.path), self.path.name)


def _png(pixels: NDArray[np.uint8]) -> bytes:
    file = BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)  # a third of the time
    return file.getvalue()


@dataclass(frozen=True)
class Evidence:
    """What the label follows from, where it is known: spans of characters of the text, and boxes in the image
    (left, top, right and bottom in pixels)."""

    words: tuple[tuple[int, int], ...] = ()
    boxes: tuple[tuple[int, int, int, int], ...] = ()


@dataclass(frozen=True)
class Example:
    """A text, or with `pair` a premise and its hypothesis, or with `image` an image and a text about it.

    `label` is the class index, if any; `explanations` are people's sentences about why it is right.
    """

    text: str
    pair: str | None = None
    label: int | None = None
    explanations: tuple[str, ...] = ()
    image: InputImage | None = None
    evidence: Evidence | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the text, or both texts of a pair."""
        return (self.text,) if self.pair is None else (self.text, self.pair)


UNSEEN = ("test", "validation")  # parts on which no model is trained


@dataclass(frozen=True)
class Splits:
    """Disjoint parts. `warm_up` are labelled texts of another source, `explainer` texts whose labels are not used."""

    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    test: tuple[Example, ...]
    warm_up: tuple[Example, ...] = ()
    explainer: tuple[Example, ...] = ()
