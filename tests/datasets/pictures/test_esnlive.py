import csv
import gzip
from pathlib import Path

import pytest

from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.datasets.pictures.esnlive import LABELS, read
from explainers.errors import DataUnavailable

SHARED = Path(__file__).parents[4] / "shared" / "data" / "esnlive" / "esnlive_dev.csv.gz"
HEADER = ",pairID,Flickr30kID,hypothesis,gold_label,explanation"
MAN = "0,12.jpg#2r1c,12.jpg,The old man is chopping .,contradiction,Hair and tree are two things ."
BABY = '1,34.jpg#1r1n,34.jpg,"A baby, perhaps.",neutral,We cannot know'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "flickr30k"
    found.mkdir()
    for name in ("12.jpg", "34.jpg"):
        (found / name).touch()
    return found


def write(folder: Path, *lines: str) -> Path:
    path = folder.parent / "esnlive_dev.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_hypothesis_comes_with_its_picture_its_label_and_what_people_said(folder: Path) -> None:
    found = read(write(folder, HEADER, MAN, BABY), folder)
    assert found.examples == (
        Example(
            "The old man is chopping.",
            label=2,
            explanations=("Hair and tree are two things.",),
            picture=Picture(path=folder / "12.jpg"),
        ),
        Example("A baby, perhaps.", label=1, explanations=("We cannot know",), picture=Picture(path=folder / "34.jpg")),
    )
    assert found.labels == LABELS == ("entailment", "neutral", "contradiction")
    assert found.notice == ""


def test_labels_are_numbered_as_the_models_classes(folder: Path) -> None:
    found = read(write(folder, HEADER, MAN, BABY), folder, ("contradiction", "neutral", "entailment"))
    assert [each.label for each in found.examples] == [0, 1]
    assert found.labels == ("contradiction", "neutral", "entailment")


def test_a_row_without_a_label_or_an_explanation_has_none(folder: Path) -> None:
    (example,) = read(write(folder, HEADER, "0,p,12.jpg,A dog,,"), folder).examples
    assert (example.label, example.explanations) == (None, ())


def test_missing_pictures_are_told(folder: Path) -> None:
    (folder / "34.jpg").unlink()
    found = read(write(folder, HEADER, MAN, BABY), folder)
    assert [each.text for each in found.examples] == ["The old man is chopping."]
    assert found.notice == "Pictures missing: 1 of 2. Examples left out for it: 1."


@pytest.mark.parametrize(
    "row", ["0,p,12.jpg,A dog,maybe,why", "0,p,,A dog,neutral,why", "0,p,12.jpg,,neutral,why", "0", "0,p,12.jpg"]
)
def test_a_row_that_is_wrong_is_named_by_its_line(folder: Path, row: str) -> None:
    path = write(folder, HEADER, MAN, row)
    with pytest.raises(DataUnavailable, match=r"^esnlive_dev\.csv, line 3: expected Flickr30kID, hypothesis, gold_lab"):
        read(path, folder)


def test_columns_of_another_set_are_a_sentence(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"line 1: expected the columns Flickr30kID, .*, got premise, label\."):
        read(write(folder, "premise,label", "a,b"), folder)


def test_a_picture_outside_the_folder_is_refused(folder: Path) -> None:
    path = write(folder, HEADER, MAN, "0,p,../esnlive_dev.csv,A dog,neutral,why")
    with pytest.raises(DataUnavailable, match=r"line 3: '\.\./esnlive_dev\.csv' names no picture inside a folder"):
        read(path, folder)


def test_a_model_of_other_classes_is_told_so(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match="The classes of e-SNLI-VE are entailment, neutral, contradiction, and"):
        read(write(folder, HEADER, MAN), folder, ("negative", "positive"))


@pytest.mark.skipif(not SHARED.is_file(), reason="the annotation files are not here")
def test_the_published_file_is_read_whole(tmp_path: Path) -> None:
    with gzip.open(SHARED, "rt", newline="") as file:
        rows = list(csv.reader(file))[1:]
    for name in {row[2] for row in rows}:
        (tmp_path / name).touch()
    found = read(SHARED, tmp_path)
    assert len(found.examples) == len(rows) == 13_740
    assert found.notice == ""
    counts = [sum(each.label == label for each in found.examples) for label in range(3)]
    assert counts == [4963, 3370, 5407]  # as cut and uniq count them
    assert all(len(each.explanations) == 1 for each in found.examples)
