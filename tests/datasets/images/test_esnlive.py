import csv
import gzip
from pathlib import Path

import pytest

from explainers.datasets.entailment import LABELS
from explainers.datasets.example import Example, InputImage
from explainers.datasets.images.sets import read_esnlive
from explainers.errors import DataUnavailable

SHARED = Path(__file__).parents[4] / "shared" / "data" / "esnlive" / "esnlive_dev.csv.gz"
HEADER = ",pairID,Flickr30kID,hypothesis,gold_label,explanation"
MAN = "0,12.jpg#2r1c,12.jpg,The old man is chopping .,contradiction,Hair and tree are two things ."
BABY = '1,34.jpg#1r1n,34.jpg,"A baby, perhaps.",neutral,We cannot know'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "flickr30k"
    path.mkdir()
    for name in ("12.jpg", "34.jpg"):
        (path / name).touch()
    return path


def write(folder: Path, *lines: str) -> Path:
    path = folder.parent / "esnlive_dev.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_hypothesis_comes_with_image_label_and_explanation(folder: Path) -> None:
    result = read_esnlive(write(folder, HEADER, MAN, BABY), folder)
    assert result.examples == (
        Example(
            "The old man is chopping.",
            label=2,
            explanations=("Hair and tree are two things.",),
            image=InputImage(path=folder / "12.jpg"),
        ),
        Example(
            "A baby, perhaps.", label=1, explanations=("We cannot know",), image=InputImage(path=folder / "34.jpg")
        ),
    )
    assert result.labels == LABELS == ("entailment", "neutral", "contradiction")
    assert result.warning == ""


def test_labels_are_numbered_as_the_models_classes(folder: Path) -> None:
    result = read_esnlive(write(folder, HEADER, MAN, BABY), folder, ("contradiction", "neutral", "entailment"))
    assert [example.label for example in result.examples] == [0, 1]
    assert result.labels == ("contradiction", "neutral", "entailment")


def test_a_row_without_a_label_or_an_explanation_has_none(folder: Path) -> None:
    (example,) = read_esnlive(write(folder, HEADER, "0,p,12.jpg,A dog,,"), folder).examples
    assert (example.label, example.explanations) == (None, ())


def test_missing_images_are_a_warning(folder: Path) -> None:
    (folder / "34.jpg").unlink()
    result = read_esnlive(write(folder, HEADER, MAN, BABY), folder)
    assert [example.text for example in result.examples] == ["The old man is chopping."]
    assert result.warning == "Images missing: 1 of 2. Examples left out: 1."


@pytest.mark.parametrize(
    "row", ["0,p,12.jpg,A dog,maybe,why", "0,p,,A dog,neutral,why", "0,p,12.jpg,,neutral,why", "0", "0,p,12.jpg"]
)
def test_a_row_that_is_wrong_is_named_by_its_line(folder: Path, row: str) -> None:
    path = write(folder, HEADER, MAN, row)
    with pytest.raises(DataUnavailable, match=r"^esnlive_dev\.csv, line 3: expected Flickr30kID, hypothesis, gold_lab"):
        read_esnlive(path, folder)


def test_columns_of_another_set_are_a_sentence(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"line 1: expected the columns Flickr30kID, .*, got premise, label\."):
        read_esnlive(write(folder, "premise,label", "a,b"), folder)


def test_an_image_outside_the_folder_is_refused(folder: Path) -> None:
    path = write(folder, HEADER, MAN, "0,p,../esnlive_dev.csv,A dog,neutral,why")
    with pytest.raises(DataUnavailable, match=r"line 3: '\.\./esnlive_dev\.csv' names no image inside a folder"):
        read_esnlive(path, folder)


def test_a_model_of_other_classes_is_refused(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match="The classes of e-SNLI-VE are entailment, neutral, contradiction, and"):
        read_esnlive(write(folder, HEADER, MAN), folder, ("negative", "positive"))


@pytest.mark.skipif(not SHARED.is_file(), reason="the annotation files are not here")
def test_the_published_file_is_read_whole(tmp_path: Path) -> None:
    with gzip.open(SHARED, "rt", newline="") as file:
        rows = list(csv.reader(file))[1:]
    for name in {row[2] for row in rows}:
        (tmp_path / name).touch()
    result = read_esnlive(SHARED, tmp_path)
    assert len(result.examples) == len(rows) == 13_740
    assert result.warning == ""
    counts = [sum(example.label == label for example in result.examples) for label in range(3)]
    assert counts == [4963, 3370, 5407]  # as cut and uniq count them
    assert all(len(example.explanations) == 1 for example in result.examples)
