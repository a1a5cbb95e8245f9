"""ERASER data sets as rows: from a folder, and from an archive."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from explainers.annotations.formats.eraser import eraser_export
from explainers.annotations.records import Annotation, Item, Marked, Span
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.evaluation import eraser_rows
from explainers.evaluation.eraser_rows import eraser_part

LABELS = ("negative", "positive")
TEXTS = ("text",)
DOCUMENTS = {"a.txt": "the good film\nwas very good", "b.txt": "a dull plot", "c.txt": "a film"}


def item(id: str, label: str, *evidence: tuple[int, int], **more: Any) -> str:
    evidences = [[{"docid": id, "start_token": first, "end_token": last}] for first, last in evidence]
    return json.dumps({"annotation_id": id, "classification": label, "evidences": evidences, "docids": None, **more})


LINES = (
    item("a.txt", "POS", (1, 2), (5, 6)),
    item("b.txt", "NEG", (1, 9)),  # line 2: beyond the document
    item("c.txt", "MIXED"),  # line 3: no such class
    "",
    item("d.txt", "NEG"),  # line 5: no such document
    item("b.txt", "NEG", (1, 2)),
    item("a.txt", "POS"),  # line 7: there already
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "movies" / "docs").mkdir(parents=True)
    for name, text in DOCUMENTS.items():
        (tmp_path / "movies" / "docs" / name).write_text(text)
    (tmp_path / "movies" / "val.jsonl").write_text("\n".join(LINES))
    return tmp_path / "movies"


def zipped(folder: Path) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder.parent))
    return file.getvalue()


def test_wrong_items_are_named_by_their_line_and_the_others_are_kept(folder: Path) -> None:
    for part in (eraser_part(folder, "movies", "val"), eraser_part(zipped(folder), "movies.zip")):
        read = part.rows(LABELS, TEXTS)
        assert [(row.id, row.label, row.line) for row in read.rows] == [("a.txt", 1, 1), ("b.txt", 0, 6)]
        assert [row.text[slice(*span)] for row in read.rows for span in row.rationale[0][0]] == ["good", "good", "dull"]
        assert read.problems == (
            "Line 2: The evidence 1 to 9 is not within the 3 tokens of the document. The row is left out.",
            "Line 3 has the label 'MIXED'; the classes are negative (0), positive (1). The row is left out.",
            "Line 5: There is no document 'd.txt'. The row is left out.",
            "Line 7 has the id 'a.txt' of line 1. The row is left out.",
        )
        assert part.unknown_labels(LABELS, TEXTS) == ("MIXED",)
        assert len(part.rows(LABELS, TEXTS, (("MIXED", "negative"),)).rows) == 3
    (one,) = part.rows(LABELS, TEXTS, most=1).rows
    assert one in read.rows


def test_the_query_is_the_second_text_for_a_model_of_pairs() -> None:
    documents = {"a.txt": "good film", "b.txt": "bad film"}
    lines = "\n".join([item("a.txt", "POS", (0, 1), query="Is it good?"), item("2", "NEG", docids=["a.txt", "b.txt"])])
    part = eraser_rows.EraserPart("mine.zip", "test", ("test",), lines, documents, "")
    pairs = part.rows(LABELS, ("premise", "hypothesis")).rows
    assert [(row.text, row.pair) for row in pairs] == [("good film", "Is it good?"), ("good film", "bad film")]
    single = part.rows(LABELS, TEXTS)
    assert [row.pair for row in single.rows] == [None]
    assert single.problems == ("Line 2 has two documents, and the model reads single texts. The row is left out.",)


def test_labels_of_items_with_two_documents_get_a_class_too() -> None:
    documents, inputs = {"a.txt": "good film", "b.txt": "bad film"}, ("premise", "hypothesis")
    lines = item("1", "contradicted", docids=["a.txt", "b.txt"])
    part = eraser_rows.EraserPart("e-snli.zip", "test", ("test",), lines, documents, "")
    assert part.unknown_labels(("entailment", "contradiction"), inputs) == ("contradicted",)
    assert part.unknown_labels(("entailment", "contradiction"), TEXTS) == ()  # no item can be read


def test_the_marks_of_annotators_are_their_rationales() -> None:
    items = [Item("1", Example("good film"), label="POS")]
    annotations = [
        Annotation("p", "1", who, "mark", version, 1.0, 1.0, Marked((Span(*span),)), own_class=own)
        for who, version, span, own in (
            ("ann", 1, (5, 9), "POS"),
            ("ann", 2, (0, 4), "POS"),  # the newest counts
            ("bob", 1, (0, 9), ""),
            ("eve", 1, (5, 9), "NEG"),  # evidence for another class
        )
    ]
    (row,) = eraser_part(eraser_export(items, annotations), "export.zip").rows(LABELS, TEXTS).rows
    assert row.rationale == ((((0, 4),), ()), (((0, 9),), ()))
    assert row.label == 1


def test_one_part_has_two_names(folder: Path) -> None:
    assert [eraser_part(folder, "movies", split).split for split in ("", "val", "validation")] == ["val"] * 3


@pytest.mark.parametrize(
    ("name", "split", "sentence"),
    [
        ("movies", "dev", r"movies has no part 'dev'\. Choose one of: val\."),
        ("none", "", r"none is no ERASER data set\. Give its unpacked folder"),
        ("movies/docs", "", r"has no \.jsonl file of annotations"),
        ("movies/val.jsonl", "", r"is no ERASER data set\. Give its unpacked folder"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(folder: Path, name: str, split: str, sentence: str) -> None:
    with pytest.raises(DataUnavailable, match=sentence):
        eraser_part(folder.parent / name, name, split)


def test_a_data_set_that_memory_is_not_meant_to_hold_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = folder.parent / "movies.zip"
    packed.write_bytes(zipped(folder))
    monkeypatch.setattr(eraser_rows.archives, "LARGEST", 100)
    for path in (folder, packed):
        with pytest.raises(DataUnavailable, match=r"too large: of an ERASER data set at most"):
            eraser_part(path, path.name)
