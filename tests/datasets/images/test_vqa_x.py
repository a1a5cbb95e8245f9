import json
from pathlib import Path
from typing import Any

import pytest

from explainers.datasets.example import Example, InputImage
from explainers.datasets.images.sets import questions, read_vqa_x, vqa_x_classes
from explainers.errors import DataUnavailable

TRAIN, VAL = "COCO_train2014_000000131366.jpg", "COCO_val2014_000000262146.jpg"


def question(*answers: str, **changed: Any) -> dict[str, Any]:
    row = {
        "question": "Is it raining?",
        "answers": [
            {"answer": answer, "answer_confidence": "yes", "answer_id": number}
            for number, answer in enumerate(answers, 1)
        ],
        "image_id": "131366",
        "image_name": TRAIN,
        "explanation": ["the street is wet"],
    }
    return {**row, **changed}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in question("yes").items() if key != name}


def write(folder: Path, **rows: Any) -> Path:
    path = folder / "train_x.json"
    path.write_text(json.dumps(rows))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part, name in (("train2014", TRAIN), ("val2014", VAL)):
        (tmp_path / part).mkdir()
        (tmp_path / part / name).touch()
    return tmp_path


def test_a_question_comes_with_its_image_its_answer_and_why(folder: Path) -> None:
    path = write(
        folder,
        a=question("no", "yes", "yes"),
        b=question("no", question="Is it dry?", image_name=VAL, explanation=["wet", "it rains"]),
    )
    result = read_vqa_x(path, folder, ("yes", "no"))
    assert result.examples == (
        Example(
            "Is it raining?",
            label=0,
            explanations=("the street is wet",),
            image=InputImage(path=folder / "train2014" / TRAIN),
        ),
        Example(
            "Is it dry?", label=1, explanations=("wet", "it rains"), image=InputImage(path=folder / "val2014" / VAL)
        ),
    )
    assert result.labels == ("yes", "no")
    assert result.warning == ""


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("yes",) * 6 + ("no",) * 4, "yes"),
        (("no", "yes", "yes", "no"), "no"),  # as many: the first one given
        (("Yes", "yes ", "no"), "yes"),
        (("", "", "no"), "no"),
    ],
)
def test_the_class_is_what_most_people_answered(folder: Path, answers: tuple[str, ...], expected: str) -> None:
    (result,) = questions(write(folder, a=question(*answers)))
    assert result.answer == expected


def test_classes_are_the_most_frequent_answers_of_the_training_file(folder: Path) -> None:
    answers = ("red", "yes", "no", "yes", "no", "yes")
    path = write(folder, **{str(number): question(answer) for number, answer in enumerate(answers)})
    assert vqa_x_classes(path) == ("yes", "no", "red")
    assert vqa_x_classes(path, most=2) == ("yes", "no")


def test_questions_with_rarer_answers_are_left_out_and_counted(folder: Path) -> None:
    path = write(folder, a=question("yes"), b=question("red"), c=question("tree"))
    result = read_vqa_x(path, folder, ("no", "yes"))
    assert [example.label for example in result.examples] == [1]
    assert result.warning == "Questions left out because their answer is no class of the model: 2 of 3."


def test_both_warnings_are_shown(folder: Path) -> None:
    path = write(folder, a=question("yes"), b=question("red"), c=question("yes", image_name="9.jpg"))
    assert read_vqa_x(path, folder, ("yes",)).warning == (
        "Questions left out because their answer is no class of the model: 1 of 3. "
        "Images missing: 1 of 2. Examples left out: 1."
    )


def test_if_no_answer_is_a_class_there_is_a_sentence(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"No answer in train_x\.json is one of the 2 classes\. Choose a model"):
        read_vqa_x(write(folder, a=question("yes")), folder, ("cat", "dog"))


@pytest.mark.parametrize("number", [262146, "262146"])
def test_without_a_name_the_image_is_found_by_its_number_in_coco(folder: Path, number: int | str) -> None:
    row = {**without("image_name"), "image_id": number}
    (example,) = read_vqa_x(write(folder, a=row), folder, ("yes",)).examples
    assert example.image == InputImage(path=folder / "val2014" / VAL)


def test_images_may_lie_in_the_folder_itself(folder: Path) -> None:
    (folder / "mine.jpg").touch()
    (folder / "train2014" / TRAIN).rename(folder / TRAIN)
    path = write(folder, a=question("yes"), b=question("yes", image_name="mine.jpg"))
    result = read_vqa_x(path, folder, ("yes",)).examples
    assert [example.image for example in result] == [
        InputImage(path=folder / TRAIN),
        InputImage(path=folder / "mine.jpg"),
    ]


@pytest.mark.parametrize(
    "row",
    [
        without("question"),
        without("answers"),
        without("explanation"),
        {key: value for key, value in without("image_name").items() if key != "image_id"},
        {**without("image_name"), "image_id": "../12"},
        {**without("image_name"), "image_id": True},
        question(),
        question(""),
        question("yes", answers="yes"),
        question("yes", answers=["yes"]),
        question("yes", answers=[{"answer": 1}]),
        question("yes", explanation="because"),
        question("yes", explanation=[1]),
        question("yes", question=""),
        question("yes", image_name=7),
        ["yes"],
        None,
    ],
)
def test_a_question_that_is_wrong_is_named_by_its_id(folder: Path, row: Any) -> None:
    path = write(folder, **{"131366000": row})
    with pytest.raises(DataUnavailable, match=r"^train_x\.json, question 131366000: expected question, answers \(each"):
        list(questions(path))


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "train2014/../../x.jpg"])
def test_an_image_outside_the_folder_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(DataUnavailable, match=r"question a: .* names no image inside a folder"):
        read_vqa_x(write(folder, a=question("yes", image_name=name)), folder, ("yes",))


def test_a_list_of_questions_is_another_format(folder: Path) -> None:
    (folder / "train_x.json").write_text(json.dumps([question("yes")]))
    with pytest.raises(DataUnavailable, match=r"expected questions by their id, as in vqaX_train\.json, got a list\."):
        read_vqa_x(folder / "train_x.json", folder, ("yes",))


def test_what_is_not_json_is_named_by_its_line(folder: Path) -> None:
    (folder / "train_x.json").write_text('{\n"1": {},\n')
    with pytest.raises(DataUnavailable, match=r"^train_x\.json, line 3: this is not JSON"):
        vqa_x_classes(folder / "train_x.json")


def test_a_file_without_questions_holds_no_example(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"^train_x\.json holds no example"):
        read_vqa_x(write(folder), folder, ("yes",))
