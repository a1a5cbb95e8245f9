import json
from pathlib import Path

import pytest

from explainers.datasets.example import Example, InputImage
from explainers.datasets.images.sets import MEMES_LABELS, read_hateful_memes
from explainers.errors import DataUnavailable

FIRST = r'{"id":42953,"img":"img\/42953.png","label":0,"text":"its their character not their color that matters"}'
SECOND = '{"id": 23058, "img": "img/23058.png", "label": 1, "text": "don\'t be afraid"}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "img").mkdir()
    for name in ("42953.png", "23058.png"):
        (tmp_path / "img" / name).touch()
    return tmp_path


def write(folder: Path, *lines: str) -> Path:
    path = folder / "dev_seen.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_meme_comes_with_its_image_and_its_label(folder: Path) -> None:
    result = read_hateful_memes(write(folder, FIRST, "", SECOND), folder)
    assert result.examples == (
        Example(
            "its their character not their color that matters",
            label=0,
            image=InputImage(path=folder / "img" / "42953.png"),
        ),
        Example("don't be afraid", label=1, image=InputImage(path=folder / "img" / "23058.png")),
    )
    assert result.labels == MEMES_LABELS == ("not hateful", "hateful")
    assert result.warning == ""


def test_memes_of_a_test_file_have_no_label(folder: Path) -> None:
    (example,) = read_hateful_memes(
        write(folder, '{"id": 1, "img": "img/42953.png", "text": "words"}'), folder
    ).examples
    assert example.label is None


def test_labels_are_numbered_as_the_models_classes(folder: Path) -> None:
    result = read_hateful_memes(write(folder, FIRST, SECOND), folder, ("hateful", "not hateful"))
    assert [example.label for example in result.examples] == [1, 0]


def test_missing_images_are_a_warning(folder: Path) -> None:
    (folder / "img" / "23058.png").unlink()
    result = read_hateful_memes(write(folder, FIRST, SECOND), folder)
    assert result.warning == "Images missing: 1 of 2. Examples left out: 1."


def test_the_folder_is_the_one_that_holds_img(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"none of the images that dev_seen\.jsonl names, such as img/42953"):
        read_hateful_memes(write(folder, FIRST), folder / "img")


@pytest.mark.parametrize(
    "row",
    [
        {"img": "img/1.png", "text": "a", "label": 2},
        {"img": "img/1.png", "text": "a", "label": "1"},
        {"img": "img/1.png", "text": "a", "label": True},
        {"img": "img/1.png", "text": "a", "label": None},
        {"img": "img/1.png", "text": "", "label": 1},
        {"img": "img/1.png", "label": 1},
        {"img": 1, "text": "a", "label": 1},
        {"text": "a", "label": 1},
        ["img/1.png", "a", 1],
        "img/1.png",
        None,
    ],
)
def test_a_line_that_is_wrong_is_named_by_its_number(folder: Path, row: object) -> None:
    path = write(folder, FIRST, json.dumps(row))
    with pytest.raises(DataUnavailable, match=r"^dev_seen\.jsonl, line 2: expected img, text and, unless it is a test"):
        read_hateful_memes(path, folder)


def test_a_line_that_is_not_json_is_named_by_its_number(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"^dev_seen\.jsonl, line 2: this is not JSON"):
        read_hateful_memes(write(folder, FIRST, SECOND[:-1]), folder)


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "img/../../secret.png"])
def test_an_image_outside_the_folder_is_refused(folder: Path, name: str) -> None:
    path = write(folder, json.dumps({"img": name, "text": "a", "label": 0}))
    with pytest.raises(DataUnavailable, match=r"line 1: .* names no image inside a folder"):
        read_hateful_memes(path, folder)


def test_a_model_of_other_classes_is_refused(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match="The classes of Hateful Memes are not hateful, hateful, and the model's"):
        read_hateful_memes(write(folder, FIRST), folder, ("negative", "positive"))
