"""The images that a table names, in its folder and in a ZIP file: what is refused, and how."""

import io
import tracemalloc
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from PIL import Image

from explainers.datasets.example import InputImage
from explainers.datasets.images import files
from explainers.datasets.images.files import ImageFolder, zipped_table
from explainers.datasets.labelled_rows import TABLES, Columns, InputRow, read_file, read_rows, text_id
from explainers.errors import DataUnavailable

LABELS = ("entailment", "neutral", "contradiction")
COLUMNS = Columns(label="label", image="image")


def png(size: tuple[int, int] = (4, 4)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "red").save(file, "PNG")
    return file.getvalue()


def declared(width: int, height: int) -> bytes:
    """Return a PNG file that says that it is of this size."""
    content = bytearray(png())
    content[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    crc = zlib.crc32(content[12:29])
    content[29:33] = crc.to_bytes(4, "big")
    return bytes(content)


FILES = {"a.png": png(), "more/b.png": png(), "text.png": b"no image", "bomb.png": declared(60_000, 60_000)}
TABLE = b"""text,image,label
red,a.png,0
red,more/b.png,1
green,gone.png,0
green,../out.png,0
green,/etc/passwd,0
green,text.png,0
green,bomb.png,0
green,,0
"""


def zipped(files: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (tmp_path / "out.png").write_bytes(png())
    (folder / "mine.csv").write_bytes(TABLE)
    return folder / "mine.csv"


def test_a_row_without_a_usable_image_is_named_and_the_others_are_kept(table: Path) -> None:
    content = zipped(
        {
            "set/mine.csv": TABLE,
            **{f"set/{name}": file for name, file in FILES.items()},
            "out.png": png(),
            "set/README.txt": b"of the table",
        }
    )
    archive = zipped_table(content, "mine.zip", TABLES)
    for read in (
        read_file(table, COLUMNS, LABELS),
        read_rows(archive.content, archive.name, COLUMNS, LABELS, images=archive),
    ):
        assert [(row.text, row.image, row.label) for row in read.rows] == [
            ("red", "a.png", 0),
            ("red", "more/b.png", 1),
        ]
        assert [row.id for row in read.rows] == [text_id("red", None, "a.png"), text_id("red", None, "more/b.png")]
        missing, out, absolute, text, bomb, none = read.problems
        assert missing.startswith("Line 4, image 'gone.png': It is missing in the ")
        assert out.startswith("Line 5, image '../out.png': It leads out of the folder of the table.")
        assert absolute.startswith("Line 6, image '/etc/passwd': It leads out of the folder of the table.")
        assert text.startswith("Line 7, image 'text.png': ")
        assert "cannot be read as an image" in text
        assert bomb.startswith("Line 8, image 'bomb.png': ")
        assert "pixels. Give one of at most 25,000,000 pixels" in bomb
        assert none == "Line 9 has no image. The row is left out."


def test_an_image_that_many_rows_name_is_unpacked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table = "text,image\n" + "".join(f"film {n},a.png\nplot {n},text.png\n" for n in range(5))
    archive = zipped_table(zipped({"mine.csv": table.encode(), **FILES}), "mine.zip", TABLES)
    unpacked: list[str] = []
    monkeypatch.setattr(files, "_unpacked", lambda *given: unpacked.append(given[1].filename) or FILES[unpacked[-1]])
    read = read_rows(archive.content, archive.name, Columns(image="image"), LABELS, images=archive)
    assert (len(read.rows), read.left_out, unpacked) == (5, 5, ["a.png", "text.png"])


def test_a_link_does_not_lead_out_of_the_folder(table: Path) -> None:
    (table.parent / "link.png").symlink_to(table.parent.parent / "out.png")
    with pytest.raises(DataUnavailable, match="leads out of the folder"):
        ImageFolder(table.parent).image("link.png")


def test_a_row_whose_image_no_system_can_find_is_left_out(table: Path) -> None:
    (table.parent / "circle.png").symlink_to("circle.png")
    table.write_text(f"text,image,label\nred,{'я' * 140},0\nred,circle.png,0\nred,a.png,0\n")  # 280 bytes
    read = read_file(table, COLUMNS, LABELS)
    assert [row.line for row in read.rows] == [4]
    assert [problem.split(": ")[1] for problem in read.problems] == [
        "It is missing in the folder of the table. The row is left out."
    ] * 2


def test_an_unpacked_archive_is_a_table_with_its_images(tmp_path: Path) -> None:
    archive = zipped_table(zipped({"mine.jsonl": b'{"text": "red", "image": "a.png"}', "a.png": png()}), "z", TABLES)
    path = archive.unpack(tmp_path / "data", ["a.png"])
    assert read_file(path, Columns(image="image"), LABELS).rows[0].image == "a.png"
    assert InputImage(path=path.parent / "a.png").pixels().shape == (4, 4, 3)
    with pytest.raises(DataUnavailable, match="leads out of the folder"):
        archive.unpack(tmp_path / "other", ["../a.png"])


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"mine.csv": TABLE, "../a.png": png()}, r"mine\.zip has a file that leads out of its folder, '\.\./a\.png'"),
        ({"mine.csv": TABLE, "/a.png": png()}, r"mine\.zip has a file that leads out of its folder, '/a\.png'"),
        ({"a.png": png()}, r"Give one table \(\.csv, .*\) with its images; mine\.zip has 0\."),
        ({"a.csv": TABLE, "b.csv": TABLE}, r"with its images; mine\.zip has 2\."),
        ({f"{number}.png": b"" for number in range(9)}, r"mine\.zip has 9 files; at most 8 are read\."),
        ({"mine.csv": b"0" * 2_000_000}, r"mine\.zip has 2 MB once unpacked; at most 1 MB are read\."),
    ],
)
def test_an_archive_that_cannot_be_used_is_a_sentence(
    members: Mapping[str, bytes], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 8)
    monkeypatch.setattr(files, "MOST_UNPACKED", 1_000_000)
    with pytest.raises(DataUnavailable, match=sentence):
        zipped_table(zipped(members), "mine.zip", TABLES)


def test_what_is_no_archive_or_damaged_is_a_sentence() -> None:
    with pytest.raises(DataUnavailable, match=r"mine\.zip is not a readable ZIP file\. Pack it again\."):
        zipped_table(b"text", "mine.zip", TABLES)
    content = bytearray(zipped({"mine.csv": b"text,image\nred,a.png\n", "a.png": png()}, zipfile.ZIP_STORED))
    content[content.index(b"IDAT")] ^= 0xFF
    archive = zipped_table(bytes(content), "mine.zip", TABLES)
    with pytest.raises(DataUnavailable, match=r"a\.png cannot be unpacked\. Pack it again\."):
        archive.image("a.png")


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compression_that_unpacks_all_at_once_is_refused(compression: int) -> None:
    sentence = r"^mine\.csv is compressed in a way that is not read\. Pack it as an ordinary ZIP file \(deflate\)\.$"
    with pytest.raises(DataUnavailable, match=sentence):
        zipped_table(zipped({"mine.csv": TABLE}, compression), "mine.zip", TABLES)


def test_no_more_is_unpacked_than_an_entry_declares() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("mine.csv", TABLE)
        packed.writestr("a.png", png() + b"0" * 20_000_000)
        bomb = packed.getinfo("a.png")
        bomb.file_size, bomb.CRC = len(png()), zlib.crc32(png())  # as the directory at the end declares it
    archive = zipped_table(file.getvalue(), "mine.zip", TABLES)
    tracemalloc.start()
    try:
        image = archive.image("a.png")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert image.content == png()
    assert peak < 2_000_000


def test_rows_without_images_keep_their_ids() -> None:
    assert text_id("good", None) == text_id("good", None, "") != text_id("good", None, "a.png")
    assert InputRow("1", "good").image == ""
