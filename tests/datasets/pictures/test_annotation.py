import gzip
from pathlib import Path

import pytest

from explainers.datasets.example import Example
from explainers.datasets.picture import Picture
from explainers.datasets.pictures.annotation import (
    Annotated,
    Read,
    inside,
    opened,
    parsed,
    same_classes,
    table,
    with_pictures,
)
from explainers.errors import DataUnavailable

SOURCE = Path("dev.csv")


def about(place: str, text: str) -> Annotated:
    return (place,), Example(text, label=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("1.jpg", "2.jpg"):
        (tmp_path / name).touch()
    return tmp_path


def test_each_example_gets_its_picture(folder: Path) -> None:
    found = with_pictures([about("2.jpg", "a"), about("1.jpg", "b")], SOURCE, folder, ("no", "yes"))
    examples = (
        Example("a", label=1, picture=Picture(path=folder / "2.jpg")),
        Example("b", label=1, picture=Picture(path=folder / "1.jpg")),
    )
    assert found == Read(examples, ("no", "yes"), "")


def test_missing_pictures_are_counted_with_their_examples(folder: Path) -> None:
    given = [about("1.jpg", "a"), about("8.jpg", "b"), about("8.jpg", "c"), about("9.jpg", "d")]
    found = with_pictures(given, SOURCE, folder, ())
    assert [each.text for each in found.examples] == ["a"]
    assert found.notice == "Pictures missing: 2 of 3. Examples left out for it: 3."


def test_the_first_place_where_a_picture_lies_counts(folder: Path) -> None:
    given = [(("train/1.jpg", "1.jpg", "2.jpg"), Example("a"))]
    (example,) = with_pictures(given, SOURCE, folder, ()).examples
    assert example.picture == Picture(path=folder / "1.jpg")


def test_if_all_are_missing_the_sentence_names_the_first(folder: Path) -> None:
    with pytest.raises(
        DataUnavailable, match=r"holds no picture that dev\.csv names, neither 8\.jpg nor another one\. "
    ):
        with_pictures([about("8.jpg", "a"), about("9.jpg", "b")], SOURCE, folder, ())


def test_a_folder_of_that_name_is_no_picture(folder: Path) -> None:
    (folder / "3.jpg").mkdir()
    with pytest.raises(DataUnavailable, match=r"holds no picture that dev\.csv names"):
        with_pictures([about("3.jpg", "a")], SOURCE, folder, ())


def test_a_file_without_examples_and_a_missing_folder_are_sentences(folder: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"^dev\.csv holds no example"):
        with_pictures([], SOURCE, folder, ())
    with pytest.raises(DataUnavailable, match=r"^There is no folder .*none\. Give the folder that holds the pictures"):
        with_pictures([about("1.jpg", "a")], SOURCE, folder / "none", ())


@pytest.mark.parametrize("name", ["42953.png", "img/42953.png", "train2014/COCO_train2014_000000131366.jpg", "a b..c"])
def test_a_name_inside_the_folder_is_taken(name: str) -> None:
    assert inside(name, "here") == name


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
    with pytest.raises(DataUnavailable, match=r"^dev\.csv, line 7: '.*' names no picture inside a folder\."):
        inside(name, "dev.csv, line 7")


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_a_file_is_read_plain_or_packed(tmp_path: Path, name: str) -> None:
    data = "\ufeffé\n".encode()  # with the mark that some editors put before UTF-8
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with opened(tmp_path / name) as file:
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
        opened(tmp_path / name) as file,
    ):
        file.read()


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match=r"^There is no file .*a\.csv\. Give"), opened(tmp_path / "a.csv"):
        pass


def test_rows_have_the_columns_asked_for_and_the_number_of_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(',b,a\n0,"1, or\n""one""",2\n\n1,3\n')
    assert list(table(path, ("a", "b"))) == [(3, {"a": "2", "b": '1, or\n"one"'}), (5, {"a": "", "b": "3"})]


@pytest.mark.parametrize(("text", "given"), [("b,c\n1,2\n", "b, c"), ("", "nothing")])
def test_a_missing_column_is_a_sentence(tmp_path: Path, text: str, given: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataUnavailable, match=rf"^a\.csv, line 1: expected the columns a, b, got {given}\.$"):
        list(table(tmp_path / "a.csv", ("a", "b")))


def test_a_cell_that_is_too_long_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n" + "x" * 140_000)
    with pytest.raises(DataUnavailable, match="field larger than field limit"):
        list(table(tmp_path / "a.csv", ("a",)))


@pytest.mark.parametrize(("text", "line"), [("{", 5), ('{\n"a": 1,\n}', 7), ("[" * 100_000, 5), ("9" * 5000, 5)])
def test_what_is_not_json_is_named_by_its_line(text: str, line: int) -> None:
    with pytest.raises(DataUnavailable, match=rf"^a\.json, line {line}: this is not JSON: [^\n]*\. Fetch it again\.$"):
        parsed(text, Path("a.json"), 5)


def test_classes_may_come_in_any_order_but_none_may_be_missing_or_new() -> None:
    same_classes(("b", "a"), ("a", "b"), "the set")
    for other in (("a",), ("a", "b", "c"), ("a", "a"), ()):
        with pytest.raises(DataUnavailable, match=r"^The classes of the set are a, b, and the model's are"):
            same_classes(other, ("a", "b"), "the set")
