"""A published set as its name and its folder, with the annotations beside it."""

import json
from pathlib import Path

import pytest

from explainers.datasets.images.sets import ImageFiles
from explainers.errors import DataUnavailable

HEADER = "Flickr30kID,hypothesis,gold_label,explanation\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(3):
        (tmp_path / f"{number}.jpg").touch()
    return tmp_path


@pytest.fixture
def annotations(folder: Path) -> Path:
    path = folder / "esnlive_dev.csv"
    path.write_text(HEADER + "0.jpg,A dog,entailment,It barks\n1.jpg,A cat,contradiction,It barks\n")
    return path


def test_without_a_model_classes_are_numbered_as_the_set_does(folder: Path, annotations: Path) -> None:
    result = ImageFiles("esnlive", folder).read(annotations)
    assert result.labels == ("entailment", "neutral", "contradiction")
    assert [(example.text, example.label) for example in result.examples] == [("A dog", 0), ("A cat", 2)]


def test_with_a_model_they_are_numbered_as_it_does(folder: Path, annotations: Path) -> None:
    labels = ("contradiction", "entailment", "neutral")
    result = ImageFiles("esnlive", folder).read(annotations, labels)
    assert [example.label for example in result.examples] == [1, 0]
    with pytest.raises(DataUnavailable, match="Choose a model that was trained on it"):
        ImageFiles("esnlive", folder).read(annotations, ("yes", "no"))


def test_the_classes_of_vqa_x_come_from_the_file_itself(folder: Path) -> None:
    rows = {
        str(number): {
            "question": "What is it?",
            "answers": [{"answer": answer}],
            "image_name": f"{number}.jpg",
            "explanation": ["why"],
        }
        for number, answer in enumerate(("dog", "cat", "cat"))
    }
    path = folder / "vqaX_train.json"
    path.write_text(json.dumps(rows))
    files = ImageFiles("vqa_x", folder)
    assert files.read(path).labels == ("cat", "dog")  # the most frequent first
    result = files.read(path, ("dog",))
    assert [(example.label, example.image and example.image.path) for example in result.examples] == [
        (0, folder / "0.jpg")
    ]


def test_without_annotations_the_error_names_the_option(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"^Give the annotation file of esnlive with --data\.$"):
        ImageFiles("esnlive", folder).read(None)
    with pytest.raises(DataUnavailable, match=r"folder does not exist\. Give the annotation file"):
        ImageFiles("esnlive", folder).read(folder / "folder")


def test_an_unknown_set_is_a_sentence(folder: Path, annotations: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"The image set 'snli' is not available\. Choose one of: esnlive, "):
        ImageFiles("snli", folder).read(annotations)
