import io
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from app.annotate import data_files, project_form, projects
from app.annotate.data_files import (
    MOST_MEGABYTES,
    SUFFIXES,
    by_name,
    check_sizes,
    read_items,
)
from app.annotate.projects import MOST_ITEMS, Project, ProjectSpec
from app.server.login import ANYBODY
from app.store import Store
from explainers.annotations.formats import archives, own_records
from explainers.annotations.records import GivenReason, Item
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable, ExplanationError

Make = Callable[..., Project]


def png() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "PNG")
    return file.getvalue()


def test_good_rows_of_a_broken_file_are_kept() -> None:
    lines = [json.dumps({"id": "a", "text": "naïve 🎬 film"}), "{broken", json.dumps({"text": ""}), '["no", "object"]']
    read = read_items({"mine.jsonl": "\n".join(lines).encode()}, ("text",))
    assert [(item.id, item.example.text) for item in read.items] == [("a", "naïve 🎬 film")]
    assert len(read.left_out) == 3
    assert read.left_out[0].startswith("Row 2: ")


@pytest.mark.parametrize(
    ("texts", "names", "multimodal", "sentence"),
    [
        ("text\nonly one\n", ("premise", "hypothesis"), False, "no hypothesis"),
        ("premise,hypothesis\na,b\n", ("text",), False, "two texts"),
        ("text\na\n", ("text",), True, "no image"),
        (f"text\n{'x' * 30_001}\n", ("text",), False, "30,000 characters"),
    ],
)
def test_what_the_model_cannot_read_is_left_out(
    texts: str, names: tuple[str, ...], multimodal: bool, sentence: str
) -> None:
    read = read_items({"mine.csv": texts.encode()}, names, multimodal=multimodal)
    assert read.items == ()
    assert sentence in read.left_out[0]


def test_images_come_with_a_table_of_their_names() -> None:
    files = {"t.csv": b"id,text,image\nA,a red dot,red.png\nB,none,missing.png\nC,broken,bad.png\n", "red.png": png()}
    read = read_items({**files, "bad.png": b"no image"}, ("text",), multimodal=True)
    assert [(item.id, item.example.image is not None) for item in read.items] == [("A", True)]
    assert "missing.png" in read.left_out[0]
    assert "cannot be read as an image" in read.left_out[1]
    assert len(read.left_out) == 2


def test_images_have_reasons_and_classes() -> None:
    rows = b"a dot,red.png,yes,there is a dot,no,someone\na dot,red.png,,it is red,1,\n"
    table = b"text,image,label,reason,class,writer\n" + rows
    read = read_items({"t.csv": table, "red.png": png()}, ("text",), ("no", "yes"), multimodal=True)
    assert [item.id for item in read.items] == ["1", "2"]
    assert [item.reason for item in read.items] == [
        GivenReason("there is a dot", "no", "someone"),
        GivenReason("it is red", "yes", ""),
    ]
    assert [(item.label, item.example.label) for item in read.items] == [("yes", 1), ("", None)]
    assert read.several_reasons
    nameless = read_items({"t.csv": b"text,image\na dot,\n", "red.png": png()}, ("text",), multimodal=True)
    assert nameless.left_out == ("Row 1: It names no image.",)


def test_what_the_model_does_not_have_and_what_is_there_twice_is_said() -> None:
    table = b"text,label\ngood,POS\ndull,banana\ngood ,pear\nbad,banana\nfine,\n"
    read = read_items({"t.csv": table}, ("text",), ("negative", "positive"))
    assert len(read.items) == 5
    assert read.notes == (
        "Kept, without a label: 3 rows whose label is no class of the model (negative (0), positive (1)): "
        "banana, pear.",
        "1 row with the text of an earlier one. Each is an item of its own, which other people may get.",
    )
    assert read_items({"t.csv": table}, ("text",)).notes == read.notes[1:]
    reasons = b"premise,hypothesis,reason,class\na,b,because,No\na,b,so,maybe\n"
    read = read_items({"t.csv": reasons}, ("premise", "hypothesis"), ("no", "yes"))
    assert read.notes == (
        "Kept, and shown as it is: the class of 1 row, which the model does not have (no (0), yes (1)): maybe.",
    )


def test_columns_are_chosen_in_tables_and_lines_that_have_other_names() -> None:
    table = b"nr,review,sentiment,label,answer\n7,a fine film,positive,x,no\n8,a dull plot,negative,y,no\n"
    lines = b'{"nr": "7", "review": "a fine film", "sentiment": "positive", "label": "x", "answer": "no"}\n'
    chosen = {"text": "review", "label": "sentiment", "id": "nr"}
    for name, content in (("t.csv", table), ("t.jsonl", lines)):
        assert data_files.free_columns({name: content})[0] == ("nr", "review", "sentiment", "label", "answer")
        read = read_items({name: content}, ("text",), ("negative", "positive"), columns=chosen)
        first = read.items[0]
        assert (first.id, first.example.text, first.label, first.example.label) == ("7", "a fine film", "positive", 1)
    unlabelled = read_items({"t.csv": table}, ("text",), columns={**chosen, "label": ""})
    assert [item.label for item in unlabelled.items] == ["", ""]
    pairs = b"premise,hypothesis\na,b\n"
    assert read_items({"t.csv": pairs}, ("text",), columns={"text": "hypothesis"}).items[0] == Item(
        own_records.text_id("b"), Example("b")
    )


@pytest.mark.parametrize(
    ("name", "content", "free"),
    [
        ("a.csv", b"body,input\n", ("body", "input")),
        ("a.csv", b"review,reason\n", ("review", "reason")),
        ("a.jsonl", b'{"body": "a film", "item": "B00"}\n', ("body", "item")),
        ("a.csv", b",body,score\n0,a film,1\n", ("body", "score")),
    ],
)
def test_one_name_of_ours_fixes_no_form(name: str, content: bytes, free: tuple[str, ...]) -> None:
    assert data_files.free_columns({name: content})[0] == free


def test_a_column_can_be_text_and_id() -> None:
    for name, content in (("t.csv", b"body\na film\n"), ("t.jsonl", b'{"body": "a film"}\n')):
        (item,) = read_items({name: content}, ("text",), columns={"text": "body", "id": "body"}).items
        assert (item.id, item.example.text) == ("a film", "a film")


def test_labels_of_a_chosen_column_may_be_numbers_of_classes() -> None:
    classes, chosen = ("negative", "positive"), {"text": "body", "label": "stars"}
    table = b"body,stars\na fine film,1\na dull plot,0\n"
    lines = b'{"body": "a fine film", "stars": 1}\n{"body": "a dull plot", "stars": 0}\n'
    for name, content in (("t.csv", table), ("t.jsonl", lines)):
        read = read_items({name: content}, ("text",), classes, columns=chosen)
        assert [(item.label, item.example.label) for item in read.items] == [("positive", 1), ("negative", 0)]
        assert read.notes == ()
    ratings = read_items({"t.csv": table.replace(b",0", b",5")}, ("text",), classes, columns=chosen)
    assert [item.example.label for item in ratings.items] == [None, None]
    assert ratings.notes[0].startswith("Kept, without a label: 2 rows whose label is no class")


def test_what_comes_with_the_texts_is_read_beside_chosen_columns() -> None:
    table = b'body,explanations,rationale\na fine film,"[""good""]","[[2, 6]]"\n'
    (item,) = read_items({"t.csv": table}, ("text",), columns={"text": "body"}).items
    assert item.example.explanations == ("good",)
    assert item.rationale is not None


def test_numbers_of_a_parquet_file_can_be_chosen_as_ids() -> None:
    file = io.BytesIO()
    pd.DataFrame({"body": ["a fine film"], "number": [7]}).to_parquet(file)
    content = {"t.parquet": file.getvalue()}
    assert data_files.free_columns(content) == (("body", "number"), "body")
    assert read_items(content, ("text",), columns={"text": "body", "id": "number"}).items[0].id == "7"


def test_a_chosen_column_names_the_image_files() -> None:
    files = {"t.csv": b"caption,photo\na red dot,red.png\n", "red.png": png()}
    read = read_items(files, ("text",), multimodal=True, columns={"text": "caption", "image": "photo"})
    assert read.left_out == ()
    assert read.items[0].example.image is not None
    chosen = {"text": "caption", "image": "photo"}
    with pytest.raises(DataUnavailable, match="Choose the column with the names of their files"):
        read_items(files, ("text",), multimodal=True, columns={**chosen, "image": ""})
    with pytest.raises(DataUnavailable, match="Give their files as well"):
        read_items({"t.csv": files["t.csv"]}, ("text",), multimodal=True, columns=chosen)
    with pytest.raises(DataUnavailable, match="the model reads only text"):
        read_items(files, ("text",), columns={"text": "caption"})


def test_the_second_texts_of_pairs_have_to_be_chosen() -> None:
    table = {"t.csv": b"q1,q2\na dog runs,it moves\n"}
    with pytest.raises(DataUnavailable, match="Choose the column of their second texts"):
        read_items(table, ("premise", "hypothesis"), columns={"text": "q1", "text_pair": ""})
    chosen = {"text": "q1", "text_pair": "q2"}
    assert read_items(table, ("premise", "hypothesis"), columns=chosen).items[0].example.pair == "it moves"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("records.csv", b"id,text,annotator,answer,offsets\n"),
        ("reasons.csv", b"text,reason,class\n"),
        ("own.jsonl", b'{"item": {"id": "a", "text": "b"}, "annotation": null}\n'),
        ("doccano.jsonl", b'{"text": "a film", "label": [[0, 1, "evidence"]]}\n'),
        ("studio.json", b"[]"),
    ],
)
def test_no_columns_are_chosen_where_the_form_is_fixed(name: str, content: bytes) -> None:
    assert data_files.free_columns({name: content}) == ((), "")


def test_files_without_data_are_refused() -> None:
    with pytest.raises(DataUnavailable, match="needs the columns text and image"):
        read_items({"t.csv": b"text\na dot\n", "red.png": png()}, ("text",), multimodal=True)
    with pytest.raises(DataUnavailable, match="one file of data"):
        read_items({"red.png": png()})


def test_a_project_needs_data_and_not_too_many(annotation_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ProjectSpec("Films", "small")
    with pytest.raises(ExplanationError, match="no data"):
        projects.create(annotation_store, spec, (), ANYBODY)
    one = Item("a", Example("a"))
    with pytest.raises(ExplanationError, match="at most 100,000 items"):
        projects.create(annotation_store, spec, [one] * (MOST_ITEMS + 1), ANYBODY)
    assert projects.projects(annotation_store, ANYBODY) == []
    monkeypatch.setattr(projects, "MOST_ITEMS", 20)
    assert projects.create(annotation_store, spec, [one] * 20, ANYBODY).items == 20


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": " "}, "needs a name"),
        ({"model": ""}, "needs a model"),
        ({"tasks": ()}, "at least one task"),
        ({"tasks": ("rank",)}, "at least one method"),
        ({"tasks": ("rank",), "methods": ("aml",)}, "at least two"),
        ({"tasks": ("rate",)}, "sentences of a narrator"),
        ({"overlap": 0}, "1 to 20 people"),
        ({"guideline": "x" * 20_001}, "20,000 characters"),
    ],
)
def test_an_impossible_project_is_refused_with_a_sentence(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(ExplanationError, match=sentence):
        ProjectSpec(**{"name": "Films", "model": "small", **changes})  # type: ignore[arg-type]


def test_items_with_equal_ids_get_numbers(annotation_store: Store) -> None:
    listed = [Item("a", Example(text)) for text in ("one", "two", "three")] + [Item("a (2)", Example("four"))]
    assert projects._unique_names(listed) == ["a", "a (3)", "a (4)", "a (2)"]
    assert projects.create(annotation_store, ProjectSpec("Films", "small"), listed, ANYBODY).items == 4


@pytest.mark.parametrize("model", ["sst2", "nli", "scenes"])
def test_embedded_models_offer_items(model: str) -> None:
    noun = "scene" if model == "scenes" else ""
    for source in data_files.sources(model, noun):
        listed = data_files.embedded_items(model, source, ("a", "b", "c"), noun, 2)
        assert listed
        assert all(item.example.text for item in listed)


def test_a_large_table_becomes_a_project(annotation_store: Store) -> None:
    rows = MOST_ITEMS // 5
    content = "text\n" + "".join(f"A film number {number}.\n" for number in range(rows))
    read = read_items({"mine.csv": content.encode()}, ("text",))
    project = projects.create(annotation_store, ProjectSpec("Films", "small"), read.items, ANYBODY)
    assert project.items == rows


def test_the_archives_that_are_offered_are_those_that_are_read() -> None:
    assert set(archives.SUFFIXES) <= set(SUFFIXES)
    assert not "items.csv.gz".endswith(SUFFIXES)
    hint, page = (
        project_form.FORMATS,
        (Path(__file__).parents[3] / "assets/docs/annotate.md").read_text(encoding="utf-8"),
    )
    for suffix in archives.SUFFIXES:
        assert suffix in hint
        assert f"`{suffix}`" in page


def test_files_that_are_too_large_together_are_refused_with_their_size() -> None:
    check_sizes([10 * 10**6] * (MOST_MEGABYTES // 10))
    with pytest.raises(DataUnavailable, match="The files have 60 MB together; a project takes at most 50 MB"):
        check_sizes([10 * 10**6] * 6)


def test_a_second_file_of_data_is_named() -> None:
    with pytest.raises(DataUnavailable, match=r"these are 2: bad.csv, good.csv"):
        read_items({"bad.csv": b"nothing\n1\n", "good.csv": b"text\na film\n"})
    with pytest.raises(DataUnavailable, match=r"Two files have the name a.csv"):
        by_name([("a.csv", b"text\n1\n"), ("a.csv", b"text\n2\n")])
    assert by_name([("a.csv", b"1"), ("b.png", b"2")]) == {"a.csv": b"1", "b.png": b"2"}


def test_embedded_items_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[object, ...]] = []

    def items(*about: object) -> list[Item]:
        read.append(about)
        return [Item("1", Example("a film"))]

    monkeypatch.setattr(data_files, "embedded_items", items)
    project_form._embedded.clear()  # type: ignore[attr-defined]
    for count in (3, 3, 4, 3):
        assert len(project_form._embedded("small", data_files.EXAMPLES, ("no", "yes"), "", count)) == 1
    assert [about[-1] for about in read] == [3, 4]
    project_form._embedded.clear()  # type: ignore[attr-defined]


HALF = r"cut \ud83d"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (f'{{"text": "{HALF}"}}', "It holds half of a character"),
        (f'{{"text": "b", "id": "{HALF}"}}', "It holds half of a character"),
        (f'{{"text": "b", "label": "{HALF}"}}', "It holds half of a character"),
        (r'{"text": "b", "id": "\u0000"}', "The field id holds a null character"),
        (f'{{"text": "b", "class": {10**30}}}', "A class is a number from 0 to 2,147,483,647"),
        ('{"text": "b", "class": 7}', "its class 7 is not one of the model's 2"),
        ("[" * 100_000, "It is not JSON"),
        (
            '{"item": {"id": "x", "text": "b"}, "annotation": {"project": "", "item": "x", "annotator": "A", "task": '
            f'"mark", "version": {10**30}, "seconds": 1, "confirmed": 1, "answer": {{}}}}}}',
            "Versions count from 1",
        ),
    ],
    ids=["text", "id", "label", "null", "huge class", "class", "depth", "version"],
)
def test_a_row_that_no_store_holds_is_named_and_left_out_and_the_others_become_a_project(
    annotation_store: Store, row: str, reason: str
) -> None:
    content = "\n".join(['{"text": "a good film", "class": 1}', row, '{"text": "a bad film", "class": 0}']).encode()
    given = read_items({"a.jsonl": content}, classes=("negative", "positive"))
    assert [item.example.text for item in given.items] == ["a good film", "a bad film"]
    (sentence,) = given.left_out
    assert reason in sentence
    assert sentence.startswith(("Row 2: ", "Item ", "The item “"))
    sentence.encode()
    assert projects.create(annotation_store, ProjectSpec("Films", "small"), given.items, ANYBODY).items == 2
