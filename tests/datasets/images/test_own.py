from pathlib import Path

import pytest

from explainers.datasets.images.sets import own_classes, read_own_table
from explainers.errors import DataUnavailable


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for name in ("1.jpg", "2.jpg"):
        (tmp_path / name).touch()
    path = tmp_path / "mine.csv"
    path.write_text("label,image,text\nyes,1.jpg, A dog \nno,2.jpg,A cat\nno,2.jpg,\nyes,3.jpg,Lost\n")
    return path


def test_classes_are_those_of_the_column(table: Path) -> None:
    assert own_classes(table) == ("no", "yes")


def test_rows_with_text_and_an_image_that_is_there_are_examples(table: Path) -> None:
    read = read_own_table(table, table.parent, ("yes", "no"))
    assert [(example.text, example.label) for example in read.examples] == [("A dog", 0), ("A cat", 1)]
    assert [example.image and example.image.path for example in read.examples] == [
        table.parent / "1.jpg",
        table.parent / "2.jpg",
    ]
    assert read.warning == "Images missing: 1 of 3. Examples left out: 1."


def test_without_labels_there_are_no_classes(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text("text\timage\nA dog\t1.jpg\n")
    (tmp_path / "1.jpg").touch()
    assert own_classes(path) == ()
    assert [example.label for example in read_own_table(path, tmp_path, ()).examples] == [None]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.txt", "A dog", r"Give a table \(\.csv, \.tsv, \.parquet\) with the columns text and image"),
        ("a.csv", "text\nA dog\n", "needs the columns text and image; it has text"),
        ("a.csv", "text,image\nA dog,../1.jpg\n", "names no image inside a folder"),
        ("a.csv", "text,image,label\nA dog,1.jpg,perhaps\n", "'perhaps' is not one of the model's: no, yes"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(tmp_path: Path, name: str, content: str, sentence: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DataUnavailable, match=sentence):
        read_own_table(path, tmp_path, ("no", "yes"))
