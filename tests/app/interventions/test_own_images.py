"""A person's own texts with images: what is read, what is left out, and the bounds."""

import io
import zipfile
from collections.abc import Mapping

import pytest
from PIL import Image

from app.interventions import examples
from app.interventions.examples import own_images
from explainers.datasets import tables
from explainers.datasets.images.files import ZippedTable, zipped_table
from explainers.errors import DataUnavailable


def png(size: tuple[int, int] = (4, 4)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, "red").save(file, "PNG")
    return file.getvalue()


def packed(files: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def table_of(content: bytes) -> ZippedTable:
    return zipped_table(content, "mine.zip", tables.SUFFIXES)


def test_texts_with_their_images_are_read_once_and_bad_images_by_name() -> None:
    table = b"text,image\nred,a.png\nred,./a.png\ngreen,a.png\nblue,cut.png\nblue,gone.png\n%s,a.png\n" % (
        b"x" * 10_001
    )
    damaged = png((400, 400))[:200]  # its header is whole
    given = packed({"mine.csv": table, "a.png": png(), "cut.png": damaged})
    read = own_images(table_of(given), ("text", "image"))
    assert [(row.text, row.image) for row in read.rows] == [("red", "a.png"), ("green", "a.png")]
    assert read.rows[0].content is read.rows[1].content
    assert read.left_out == len(read.problems) == 3
    assert sorted(problem.split(",")[0].split(" has")[0] for problem in read.problems) == ["Line 5", "Line 6", "Line 7"]
    assert any("'cut.png'" in problem and "damaged" in problem for problem in read.problems)


def test_a_set_of_texts_with_images_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    def given(rows: int) -> bytes:
        table = b"text,image\n" + b"".join(b"text %d,a.png\n" % number for number in range(rows))
        return packed({"mine.csv": table, "a.png": png()})

    with pytest.raises(DataUnavailable, match=r"^A set has at most 500 texts with images; these are 501\.$"):
        own_images(table_of(given(501)), ("text", "image"))
    with pytest.raises(DataUnavailable, match=r"^A set has at least 2 different texts with images; this is 1\.$"):
        own_images(table_of(given(1)), ("text", "image"))
    monkeypatch.setattr(examples, "MOST_BYTES", 4 * len(png()))
    with pytest.raises(DataUnavailable, match="The images of all rows have more than"):
        own_images(table_of(given(5)), ("text", "image"))
