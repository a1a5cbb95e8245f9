"""Any bytes as an image: pixels within the limits, or a sentence."""

import io
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from explainers.datasets.example import MOST_PIXELS, InputImage
from explainers.errors import DataUnavailable

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
STARTS = {
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff\xe0",
    b"GIF89a",
    b"RIFF\0\0\0\0WEBPVP8 ",
    b"BM",
}
CHANGES = st.dictionaries(st.integers(0, 2**16), st.integers(0, 255), min_size=1, max_size=5)


def looked_at(content: bytes) -> None:
    """Asks for everything that the app asks an image for. `DataUnavailable` is an answer, nothing else is."""
    image = InputImage(content)
    with suppress(DataUnavailable):
        assert isinstance(image.warning, str)
        width, height = image.size
        assert 0 < width * height <= MOST_PIXELS
        pixels = image.pixels()
        assert (pixels.shape, pixels.dtype) == ((height, width, 3), np.uint8)


@given(start=st.sampled_from(sorted(STARTS)) | st.just(b""), rest=st.binary(min_size=1, max_size=300))
def test_any_bytes_give_an_image_or_a_sentence(start: bytes, rest: bytes) -> None:
    looked_at(start + rest)


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """A small image in each format, with an orientation, transparency or frames where there is such a thing."""
    noise = np.random.default_rng(0).integers(0, 256, (12, 9, 4), dtype=np.uint8)
    image, contents = Image.fromarray(noise), {}
    for name in FORMATS:
        file, exif = io.BytesIO(), Image.Exif()
        exif[0x0112] = 6
        if name in ("GIF", "WEBP", "PNG"):
            image.save(file, name, save_all=True, append_images=[Image.fromarray(noise[::-1].copy())], exif=exif)
        else:
            image.convert("RGB").save(file, name, exif=exif)
        contents[name] = file.getvalue()
    return contents


@given(name=st.sampled_from(FORMATS), changes=CHANGES, cut=st.none() | st.integers(1, 2000))
def test_a_damaged_image_gives_pixels_or_a_sentence(
    files: dict[str, bytes], name: str, changes: dict[int, int], cut: int | None
) -> None:
    content = bytearray(files[name])
    for place, value in changes.items():
        content[place % len(content)] = value
    looked_at(bytes(content[:cut]))


@given(
    name=st.sampled_from(["PNG", "WEBP", "BMP"]),
    values=st.binary(min_size=1, max_size=40),
    width=st.integers(1, 9),
)
@settings(max_examples=100)
def test_an_image_without_loss_is_read_as_it_was_written(name: str, values: bytes, width: int) -> None:
    rows = -(-len(values) // (3 * width))
    pixels = np.resize(np.frombuffer(values, np.uint8), (rows, width, 3))
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, name, lossless=True)
    assert (InputImage(file.getvalue()).pixels() == pixels).all()
