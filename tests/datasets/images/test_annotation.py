import gzip
from pathlib import Path

import pytest

from explainers.datasets.example import Example, InputImage
from explainers.datasets.images.files import (
    Annotated,
    ImageExamples,
    check_classes,
    checked_name,
    csv_rows,
    open_annotations,
    parse_json,
    with_images,
)
from explainers.errors import DataUnavailable

SOURCE = Path("dev.csv")


def about(path: str, text: str) -> Annotated:
    return (path,), Example(text, label=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("1.jpg", "2.jpg"):
        (tmp_path / name).touch()
    return tmp_path


def test_each_example_gets_its_image(folder: Path) -> None:
    result = with_images([about("2.jpg", "a"), about("1.jpg", "b")], SOURCE, folder, ("no", "yes"))
    examples = (
        Example("a", label=1, image=InputImage(path=folder / "2.jpg")),
        Example("b", label=1, image=InputImage(path=folder / "1.jpg")),
    )
    assert result == ImageExamples(examples, ("no", "yes"), "")


def test_missing_images_are_counted_with_their_examples(folder: Path) -> None:
    annotated = [about("1.jpg", "a"), about("8.jpg", "b"), about("8.jpg", "c"), about("9.jpg", "d")]
    result = with_images(annotated, SOURCE, folder, ())
    assert [example.text for example in result.examples] == ["a"]
    assert result.warning == "Images missing: 2 of 3. Examples left out: 3."


def test_the_first_place_where_an_image_lies_counts(folder: Path) -> None:
    annotated = [(("train/1.jpg", "1.jpg", "2.jpg"), Example("a"))]
    (example,) = with_images(annotated, SOURCE, folder, ()).examples
    assert example.image == InputImage(path=folder / "1.jpg")


def test_if_all_are_missing_the_sentence_names_the_first(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"holds none of the images that dev\.csv names, such as 8\.jpg\. "):
        with_images([about("8.jpg", "a"), about("9.jpg", "b")], SOURCE, folder, ())


def test_a_folder_of_that_name_is_no_image(folder: Path) -> None:
    (folder / "3.jpg").mkdir()
    with pytest.raises(DataUnavailable, match=r"holds none of the images that dev\.csv names"):
        with_images([about("3.jpg", "a")], SOURCE, folder, ())


def test_a_file_without_examples_and_a_missing_folder_are_sentences(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"^dev\.csv holds no example"):
        with_images([], SOURCE, folder, ())
    with pytest.raises(DataUnavailable, match=r"none is not a folder\. Give the folder that holds the images"):
        with_images([about("1.jpg", "a")], SOURCE, folder / "none", ())


@pytest.mark.parametrize("name", ["42953.png", "img/42953.png", "train2014/COCO_train2014_000000131366.jpg", "a b..c"])
def test_a_name_inside_the_folder_is_taken(name: str) -> None:
    assert checked_name(name, "here") == name


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "img/../../x.png",
        "/etc/passwd",
        "..\\x.png",
        "C:\\x.png",
        "C:x.png",
        "\\\\host\\x.png",
        "..",
        ".",
        "",
        "x\0.png",
        "x" * 256,
    ],
)
def test_a_name_that_could_lead_out_of_the_folder_is_refused(name: str) -> None:
    with pytest.raises(DataUnavailable, match=r"^dev\.csv, line 7: '.*' names no image inside a folder\."):
        checked_name(name, "dev.csv, line 7")


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_file_is_read_plain_or_packed(tmp_path: Path, name: str) -> None:
    data = "\ufeffé\n".encode()  # with the mark that some editors put before UTF-8
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with open_annotations(tmp_path / name) as file:
        assert file.read() == "é\n"


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.csv", b"\xff\xfe\xfd"), ("a.csv.gz", b"a,b\n"), ("a.csv.gz", gzip.compress(b"a,b\n" * 99)[:-9])],
    ids=["not UTF-8", "not packed", "truncated"],
)
def test_a_damaged_file_is_a_sentence(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with (
        pytest.raises(DataUnavailable, match=r"is not UTF-8 text, plain or as \.gz: .*\. Fetch it again\.$"),
        open_annotations(tmp_path / name) as file,
    ):
        file.read()


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(DataUnavailable, match=r"a\.csv does not exist\. Give"),
        open_annotations(tmp_path / "a.csv"),
    ):
        pass


def test_rows_have_the_chosen_columns_and_the_number_of_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(',b,a\n0,"1, or\n""one""",2\n\n1,3\n')
    assert list(csv_rows(path, ("a", "b"))) == [(3, {"a": "2", "b": '1, or\n"one"'}), (5, {"a": "", "b": "3"})]


@pytest.mark.parametrize(("text", "annotated"), [("b,c\n1,2\n", "b, c"), ("", "nothing")])
def test_a_missing_column_is_a_sentence(tmp_path: Path, text: str, annotated: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataUnavailable, match=rf"^a\.csv, line 1: expected the columns a, b, got {annotated}\.$"):
        list(csv_rows(tmp_path / "a.csv", ("a", "b")))


def test_a_cell_that_is_too_long_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n" + "x" * 140_000)
    with pytest.raises(DataUnavailable, match="field larger than field limit"):
        list(csv_rows(tmp_path / "a.csv", ("a",)))


@pytest.mark.parametrize(("text", "line"), [("{", 5), ('{\n"a": 1,\n}', 7), ("[" * 100_000, 5), ("9" * 5000, 5)])
def test_what_is_not_json_is_named_by_its_line(text: str, line: int) -> None:
    with pytest.raises(DataUnavailable, match=rf"^a\.json, line {line}: this is not JSON: [^\n]*\. Fetch it again\.$"):
        parse_json(text, Path("a.json"), 5)


def test_classes_may_come_in_any_order_but_none_may_be_missing_or_new() -> None:
    check_classes(("b", "a"), ("a", "b"), "the set")
    for other in (("a",), ("a", "b", "c"), ("a", "a"), ()):
        with pytest.raises(DataUnavailable, match=r"^The classes of the set are a, b, and the model's are"):
            check_classes(other, ("a", "b"), "the set")
