import struct
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from explainers.datasets import example
from explainers.datasets.example import InputImage
from explainers.errors import DataUnavailable

ROOT = Path(__file__).parents[2]
RED, GREEN, BLUE, WHITE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0)
GREY, SILVER = (10, 10, 10), (128, 128, 128)
CORNERS = [[RED, GREEN, BLUE], [WHITE, BLACK, GREY]]  # every turn of it looks different


def saved(pil_image: Image.Image, kind: str, **options: object) -> bytes:
    file = BytesIO()
    pil_image.save(file, kind, **options)
    return file.getvalue()


def image_of(rows: list[list[tuple[int, ...]]]) -> Image.Image:
    return Image.fromarray(np.array(rows, dtype=np.uint8))


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def raw_png(width: int, height: int, bits: int, colour: int, rows: bytes, before: bytes = b"") -> bytes:
    """A PNG file written by hand, with the chunks `before` its data."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + before + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def huge_webp(side: int) -> bytes:
    """A canvas of side × side with one frame of 2 × 2."""
    frame = saved(image_of([[RED] * 2] * 2), "WEBP", lossless=True)[12:]
    small = (b"\0\0\0" * 2) + (b"\x01\0\0" * 2) + b"\0\0\0\0"  # at 0, 0; 2 × 2; no time
    parts = (
        (b"VP8X", b"\x02\0\0\0" + 2 * (side - 1).to_bytes(3, "little")),
        (b"ANIM", b"\0" * 6),
        (b"ANMF", small + frame),
    )
    body = b"WEBP" + b"".join(name + struct.pack("<I", len(data)) + data for name, data in parts)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def huge_bmp(side: int) -> bytes:
    info = struct.pack("<IiiHHIIiiII", 40, side, side, 1, 24, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + info


def frames(kind: str) -> bytes:
    three = [Image.new("RGB", (2, 2), colour) for colour in (RED, GREEN, BLUE)]
    options = {"lossless": True} if kind == "WEBP" else {}
    return saved(three[0], kind, save_all=True, append_images=three[1:], **options)


def pixels(content: bytes) -> list[list[tuple[int, ...]]]:
    return [[tuple(map(int, pixel)) for pixel in row] for row in InputImage(content).pixels()]


@pytest.mark.parametrize("arguments", [{}, {"content": b"x", "path": Path("x")}])
def test_an_image_is_its_content_or_its_path_and_never_both(arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="give exactly one of the two"):
        InputImage(**arguments)


@pytest.mark.parametrize("kind", ["PNG", "GIF", "BMP", "WEBP"])
def test_every_pixel_is_read_as_it_was_written(kind: str) -> None:
    content = saved(image_of(CORNERS), kind, **({"lossless": True} if kind == "WEBP" else {}))
    assert pixels(content) == CORNERS
    assert InputImage(content).size == (3, 2)
    assert InputImage(content).warning == ""


def test_a_photograph_is_read_to_within_its_compression() -> None:
    pixels = InputImage(saved(Image.new("RGB", (20, 10), (200, 100, 50)), "JPEG", quality=95)).pixels()
    assert pixels.shape == (10, 20, 3)
    np.testing.assert_allclose(pixels, np.broadcast_to((200, 100, 50), (10, 20, 3)), atol=3)


def test_a_path_is_read_like_its_content(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(saved(image_of(CORNERS), "PNG"))
    image = InputImage(path=tmp_path / "a.png")
    assert image.pixels().tolist() == np.array(CORNERS).tolist()
    assert image.size == (3, 2)


def test_the_array_is_the_callers_own() -> None:
    image = InputImage(saved(image_of(CORNERS), "PNG"))
    image.pixels()[:] = 0
    assert tuple(image.pixels()[0, 0]) == RED


def test_an_image_of_one_pixel_is_an_image() -> None:
    assert pixels(saved(image_of([[BLUE]]), "PNG")) == [[BLUE]]


@pytest.mark.parametrize(
    ("number", "upright"),
    [
        (1, [[RED, GREEN, BLUE], [WHITE, BLACK, GREY]]),
        (2, [[BLUE, GREEN, RED], [GREY, BLACK, WHITE]]),
        (3, [[GREY, BLACK, WHITE], [BLUE, GREEN, RED]]),
        (4, [[WHITE, BLACK, GREY], [RED, GREEN, BLUE]]),
        (5, [[RED, WHITE], [GREEN, BLACK], [BLUE, GREY]]),
        (6, [[WHITE, RED], [BLACK, GREEN], [GREY, BLUE]]),
        (7, [[GREY, BLUE], [BLACK, GREEN], [WHITE, RED]]),
        (8, [[BLUE, GREY], [GREEN, BLACK], [RED, WHITE]]),
        (9, [[RED, GREEN, BLUE], [WHITE, BLACK, GREY]]),  # no such number
    ],
)
def test_the_cameras_orientation_is_undone(number: int, upright: list[list[tuple[int, ...]]]) -> None:
    exif = Image.Exif()
    exif[0x0112] = number
    content = saved(image_of(CORNERS), "PNG", exif=exif)
    assert pixels(content) == upright
    assert InputImage(content).size == (len(upright[0]), len(upright))


def test_a_photograph_taken_upright_by_a_turned_camera_stands() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    lying = Image.new("RGB", (32, 16), RED)
    lying.paste(Image.new("RGB", (16, 16), BLUE), (0, 0))  # the left half, which is the upper one once it is turned
    image = InputImage(saved(lying, "JPEG", exif=exif, quality=95))
    assert image.size == (16, 32)
    pixels = image.pixels().astype(int)
    assert pixels[4, 8, 2] - pixels[4, 8, 0] > 200 > -200 > pixels[28, 8, 2] - pixels[28, 8, 0]


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")  # which Pillow logs
def test_an_exif_part_that_is_damaged_turns_nothing() -> None:
    content = saved(Image.new("RGB", (4, 2), RED), "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\xff\xff\x12\x01")
    assert InputImage(content).pixels().shape == (2, 4, 3)
    assert InputImage(content).size == (4, 2)


def test_what_is_transparent_is_white_and_what_is_half_so_is_mixed_with_white() -> None:
    content = saved(image_of([[(0, 0, 0, 255), (0, 0, 0, 0), (255, 0, 0, 51)]]), "PNG")
    assert pixels(content) == [[BLACK, WHITE, (255, 204, 204)]]  # 255 - 51 = 204
    assert InputImage(content).warning == "Transparent parts of the image are read as white."


@pytest.mark.parametrize("kind", ["PNG", "GIF"])
def test_a_transparent_colour_of_a_palette_is_white(kind: str) -> None:
    pil_image = Image.new("P", (2, 1))
    pil_image.putpalette([*RED, *BLUE])
    pil_image.putdata([0, 1])
    content = saved(pil_image, kind, transparency=0)
    assert pixels(content) == [[WHITE, BLUE]]
    assert "Transparent" in InputImage(content).warning


def test_grey_with_transparency_is_read_on_white() -> None:
    pil_image = Image.new("LA", (2, 1))
    pil_image.putdata([(10, 255), (10, 0)])
    assert pixels(saved(pil_image, "PNG")) == [[GREY, WHITE]]


def test_black_and_white_is_black_and_white() -> None:
    pil_image = Image.new("1", (2, 1))
    pil_image.putpixel((1, 0), 1)
    assert pixels(saved(pil_image, "PNG")) == [[BLACK, WHITE]]


def test_sixteen_bits_of_grey_are_scaled_and_not_cut_off() -> None:
    rows = b"\0" + struct.pack(">4H", 0, 0x0AFF, 0x8000, 0xFFFF)
    assert pixels(raw_png(4, 1, 16, 0, rows)) == [[BLACK, GREY, SILVER, WHITE]]


def test_sixteen_bits_of_grey_may_have_a_transparent_value() -> None:
    rows = b"\0" + struct.pack(">2H", 0x0A00, 0x0A01)
    content = raw_png(2, 1, 16, 0, rows, chunk(b"tRNS", struct.pack(">H", 0x0A01)))
    assert pixels(content) == [[GREY, WHITE]]


def test_sixteen_bits_a_colour_are_scaled_the_same_way() -> None:
    rows = b"\0" + struct.pack(">6H", 0x0AFF, 0x0AFF, 0x0AFF, 0xFFFF, 0x8000, 0)
    assert pixels(raw_png(2, 1, 16, 2, rows)) == [[GREY, (255, 128, 0)]]


def test_print_colours_become_rgb_with_a_notice() -> None:
    content = saved(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG", quality=95)  # magenta and yellow: red
    np.testing.assert_allclose(InputImage(content).pixels()[4, 4], RED, atol=5)
    assert InputImage(content).warning == "The image is in CMYK, the colours of print, and is converted to RGB."


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP"])
def test_of_an_animation_the_first_frame_is_read_with_a_notice(kind: str) -> None:
    content = frames(kind)
    assert pixels(content) == [[RED] * 2] * 2
    assert InputImage(content).warning.startswith("The image is animated: only its first frame is read.")


def test_an_animation_whose_second_frame_is_damaged_is_still_one() -> None:
    content = frames("GIF")
    second = content.index(b",", content.index(b",") + 1)  # where its frame begins
    cut = content[: second + 3]
    assert pixels(cut) == [[RED] * 2] * 2
    assert "animated" in InputImage(cut).warning


@pytest.mark.parametrize("size", [(30_000, 1), (1, 30_000)])
def test_an_image_may_be_as_long_as_a_browser_draws(size: tuple[int, int]) -> None:
    image = InputImage(saved(Image.new("RGB", size, RED), "PNG"))
    assert image.size == size
    assert image.pixels().shape == (size[1], size[0], 3)


@pytest.mark.parametrize("size", [(40_000, 1), (1, 40_000)])
def test_a_longer_one_is_refused(size: tuple[int, int]) -> None:
    width, height = size
    with pytest.raises(DataUnavailable, match=rf"has {width:,} × {height:,} pixels\. Give one of at most 25,000,000"):
        InputImage(saved(Image.new("1", size), "PNG")).pixels()


def test_one_pixel_more_than_the_limit_is_refused_and_the_limit_is_not() -> None:
    assert InputImage(raw_png(5000, 5000, 8, 2, b"")).size == (5000, 5000)
    with pytest.raises(DataUnavailable, match="has 5,001 × 5,000 pixels"):
        _ = InputImage(raw_png(5001, 5000, 8, 2, b"")).size


BOMBS = {
    "PNG": raw_png(20_000, 20_000, 8, 2, b""),
    "PNG that Pillow only warns of": raw_png(10_000, 10_000, 8, 2, b""),
    "GIF": b"GIF89a" + struct.pack("<HH", 20_000, 20_000) + b"\0\0\0" + b"," + b"\0" * 10,
    "WebP": huge_webp(16_000),
    "BMP": huge_bmp(20_000),
}


@pytest.mark.parametrize("name", BOMBS)
def test_an_image_that_would_fill_the_memory_is_refused(name: str) -> None:
    for limit in (InputImage.pixels, InputImage.png, lambda image: image.size, lambda image: image.warning):
        with pytest.raises(DataUnavailable, match="pixels"):
            limit(InputImage(BOMBS[name]))


MEMORY = """
import resource, sys
from pathlib import Path
from explainers.datasets.example import InputImage
from explainers.errors import DataUnavailable
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in map(Path, sys.argv[1:]):
    try:
        InputImage(path=path).pixels()
    except DataUnavailable:
        continue
    sys.exit(f"{path.name} was read")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units elsewhere")
def test_refusing_takes_no_memory(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number, _ in enumerate(BOMBS)]
    for path, content in zip(paths, BOMBS.values(), strict=True):
        path.write_bytes(content)
    command = [sys.executable, "-W", "ignore", "-c", MEMORY, *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert int(done.stdout) < 50  # megabytes; decoded, the smallest of them has 300


@pytest.mark.parametrize("content", [b"GIF", b"just words, whatever the name says", b"\0" * 100, b"%PDF-1.7\n%%EOF"])
def test_what_is_no_image_is_refused_with_what_is_possible(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "notes.png").write_bytes(content)
    with pytest.raises(DataUnavailable) as caught:
        InputImage(path=tmp_path / "notes.png").pixels()
    assert str(caught.value) == (
        "notes.png cannot be read as an image. Give an undamaged PNG, JPEG, WebP, GIF or BMP file."
    )


@pytest.mark.parametrize("kind", ["TIFF", "ICO", "PPM", "JPEG2000", "TGA", "PCX", "AVIF"])
def test_no_other_decoder_runs(kind: str) -> None:
    with pytest.raises(DataUnavailable, match="cannot be read as an image"):
        InputImage(saved(Image.new("RGB", (16, 16), RED), kind)).pixels()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_a_truncated_image_is_one_sentence(kind: str, share: float) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    content = saved(Image.fromarray(noise), kind)
    with pytest.raises(DataUnavailable, match=r"^The file (is damaged|cannot be read as an image)[^\n]+\.$"):
        InputImage(content[: int(share * len(content))]).pixels()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_bytes_changed_by_chance_give_pixels_or_a_sentence(kind: str, seed: int) -> None:
    draws = np.random.default_rng(seed)
    content = bytearray(saved(Image.fromarray(draws.integers(0, 256, (16, 16, 3), dtype=np.uint8)), kind))
    for at in draws.integers(0, len(content), 8):
        content[at] = draws.integers(0, 256)
    image = InputImage(bytes(content))
    try:
        width, height = image.size
        assert isinstance(image.warning, str)
        assert image.pixels().shape == (height, width, 3)
    except DataUnavailable:
        pass


def test_an_empty_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    with pytest.raises(DataUnavailable, match=r"^a\.png is empty\. Give a PNG, JPEG, WebP, GIF or BMP file\.$"):
        InputImage(path=tmp_path / "a.png").pixels()


def test_what_a_person_uploads_may_be_nothing() -> None:
    with pytest.raises(DataUnavailable, match=r"^The file is empty\."):
        InputImage.uploaded(b"")
    assert InputImage.uploaded(b"x") == InputImage(b"x")


def test_a_missing_path_and_a_folder_are_no_files(tmp_path: Path) -> None:
    for path in (tmp_path / "none.png", tmp_path):
        with pytest.raises(DataUnavailable, match=rf"^{path} does not exist\. Give the path of a PNG, JPEG"):
            InputImage(path=path).pixels()


def test_a_name_too_long_for_the_disk_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match="cannot be read: File name too long"):
        InputImage(path=tmp_path / ("x" * 300)).pixels()


def test_a_file_above_the_limit_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = saved(image_of(CORNERS), "PNG")
    monkeypatch.setattr(example, "LARGEST_FILE", len(content))
    assert pixels(content) == CORNERS
    (tmp_path / "a.png").write_bytes(content + b"\0" * 99)
    assert len(example.read_file(tmp_path / "a.png")) == len(content) + 1
    for large in (InputImage(path=tmp_path / "a.png"), InputImage(content + b"\0")):
        with pytest.raises(DataUnavailable, match=r"has more than \d+ MB\. Save it smaller, perhaps as JPEG\.$"):
            large.pixels()


def test_the_image_of_pixels_has_these_pixels() -> None:
    arguments = np.array(CORNERS, dtype=np.uint8)
    image = InputImage.of(arguments)
    assert image.content.startswith(b"\x89PNG")
    np.testing.assert_array_equal(image.pixels(), arguments)
    assert image == InputImage.of(arguments.copy())


@pytest.mark.parametrize(
    "arguments", [np.zeros((2, 2)), np.zeros((2, 2, 3)), np.zeros((2, 2, 4), np.uint8), np.zeros((0, 2, 3), np.uint8)]
)
def test_pixels_of_another_shape_or_kind_make_no_image(arguments: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"Pixels are bytes of the shape \(H, W, 3\)"):
        InputImage.of(arguments)


def test_the_browser_gets_the_upright_pixels_and_nothing_else_of_the_file() -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "where I live"
    content = saved(image_of(CORNERS), "PNG", exif=exif) + b"<script>"
    visible = InputImage(content).png()
    assert b"where I live" in content
    assert b"where I live" not in visible
    assert b"<script>" not in visible
    assert pixels(visible) == [[WHITE, RED], [BLACK, GREEN], [GREY, BLUE]]
    assert Image.open(BytesIO(visible)).info == {}


def test_threads_read_the_same_pixels() -> None:
    contents = [saved(image_of(CORNERS), kind) for kind in ("PNG", "GIF", "BMP")] * 20
    with ThreadPoolExecutor(8) as threads:
        result = list(threads.map(pixels, contents))
    assert result == [CORNERS] * 60


def test_reading_leaves_pillows_limits_alone() -> None:
    before = Image.MAX_IMAGE_PIXELS
    for content in (saved(image_of(CORNERS), "PNG"), *BOMBS.values()):
        try:
            InputImage(content).pixels()
        except DataUnavailable:
            continue
    assert before == Image.MAX_IMAGE_PIXELS


def test_what_an_image_prints_is_not_its_content() -> None:
    assert repr(InputImage(b"x" * 1000)) == "InputImage(path=None)"
