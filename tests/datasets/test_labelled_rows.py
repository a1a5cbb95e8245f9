import json
import tracemalloc
from pathlib import Path

import pandas as pd
import pytest

from explainers.datasets import labelled_rows, parquet_process, tables
from explainers.datasets.cells import class_number, probable_class
from explainers.datasets.labelled_rows import (
    Columns,
    InputRow,
    SampledRows,
    column_names,
    read_file,
    read_rows,
    text_id,
    unknown_labels,
)
from explainers.errors import DataUnavailable

LABELS = ("negative", "positive")
ALL = Columns("review", label="stars", id="key")
CSV = b"key,review,stars\na,good film,positive\nb,bad film,0\nc,no label,\n"


NAMED = b"text,label\na good film,pos\na bad film,neg\na film,mixed\nthe plot,Positive\nthe end,\n"


def test_labels_with_other_names_are_mapped_to_classes() -> None:
    columns = Columns("text", label="label", classes=(("pos", "positive"), ("neg", "negative")))
    read = read_rows(NAMED, "mine.csv", columns, LABELS)
    assert [(row.text, row.label) for row in read.rows] == [
        ("a good film", 1),
        ("a bad film", 0),
        ("the plot", 1),
        ("the end", None),
    ]
    assert read.problems == (
        "Line 4 has the label 'mixed'; the classes are negative (0), positive (1). The row is left out.",
    )
    with pytest.raises(DataUnavailable, match=r"'pos' cannot be the class 'good': there are negative \(0\)"):
        read_rows(NAMED, "mine.csv", Columns("text", label="label", classes=(("pos", "good"),)), LABELS)


def test_a_label_that_means_a_class_is_told_how_to_say_so() -> None:
    read = read_rows(NAMED, "mine.csv", Columns("text", label="label"), LABELS)
    assert "Give it its class, in a terminal with --label-class pos=positive." in read.problems[0]
    assert "--label-class" not in read.problems[2]  # mixed


def test_classes_of_labels_need_their_column() -> None:
    with pytest.raises(DataUnavailable, match="Name the column of the labels"):
        read_rows(NAMED, "mine.csv", Columns("text", classes=(("pos", "positive"),)), LABELS)


def test_labels_without_a_class_are_named_once_and_a_likely_class_is_found() -> None:
    assert unknown_labels(NAMED, "mine.csv", "label", LABELS) == ("pos", "neg", "mixed")
    assert [probable_class(label, LABELS) for label in ("pos", "NEG", "positively", "mixed", "")] == [
        "positive",
        "negative",
        "positive",
        None,
        None,
    ]
    assert probable_class("n", ("negative", "neutral")) is None  # either
    assert probable_class("10", ("1", "2")) is None


STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")


def numbered(*numbers: int) -> bytes:
    return b"text,label\n" + b"".join(b"film %d,%d\n" % (place, number) for place, number in enumerate(numbers))


def test_a_number_is_that_of_a_name_where_names_begin_with_numbers() -> None:
    read = read_rows(numbered(*(1, 5) * 30, 6), "mine.csv", Columns("text", label="label"), STARS)
    assert [row.label for row in read.rows] == [0, 4] * 30
    assert read.problems[0].startswith("Line 62 has the label '6'; the classes are 1 star (0)")


@pytest.mark.parametrize(
    ("numbers", "labels", "unknown"),
    [
        ((0, 1, 0, 1), LABELS, ()),
        ((0, 1, 2), LABELS, ("0", "1", "2")),  # three classes
        ((0, 1) * 50 + (7,), LABELS, ("7",)),  # a slip
        ((1, 2, 1), LABELS, ("1", "2")),  # counted from 1
        ((1, 2, 3), ("a", "b", "c", "d", "e"), ("1", "2", "3")),
        ((0, 1, 2, 3, 4), STARS, ("0", "1", "2", "3", "4")),  # numbers of classes, not stars
        ((0, 1, 2, 3), ("music", "3d art", "sport", "film"), ()),
    ],
)
def test_numbers_that_may_not_be_classes_need_one(
    numbers: tuple[int, ...], labels: tuple[str, ...], unknown: tuple[str, ...]
) -> None:
    content, columns = numbered(*numbers), Columns("text", label="label")
    assert unknown_labels(content, "mine.csv", "label", labels) == unknown
    if len(unknown) == len(set(numbers)):
        with pytest.raises(DataUnavailable, match=r"No row of mine.csv can be used. Line 2 has the label"):
            read_rows(content, "mine.csv", columns, labels)
    else:
        assert len(read_rows(content, "mine.csv", columns, labels).rows) == len(numbers) - len(unknown)
    mapped = Columns("text", label="label", classes=tuple((label, labels[1]) for label in unknown))
    assert len(read_rows(content, "mine.csv", mapped, labels).rows) == len(numbers)


def test_the_reason_says_what_to_do_with_numbers_and_case_is_kept_where_it_matters() -> None:
    columns = Columns("text", label="label")
    with pytest.raises(DataUnavailable, match=r"may be ratings, or counted from 1: .* --label-class 1=negative"):
        read_rows(numbered(1, 2), "mine.csv", columns, LABELS)
    assert [class_number(cell, ("US", "us")) for cell in ("US", "us", "Us")] == [0, 1, None]
    mapped = Columns("text", label="label", classes=(("pos", "positive"),))
    assert read_rows(b"text,label\na film,POS\n", "mine.csv", mapped, LABELS).rows[0].label == 1


def test_a_label_that_is_not_utf_8_is_left_out_with_its_line() -> None:
    content = "text,label\na film,négatif\na plot,pos\n".encode("latin-1")
    assert unknown_labels(content, "mine.csv", "label", LABELS) == ("pos",)


def test_rows_have_id_text_label_and_line() -> None:
    read = read_rows(CSV, "mine.csv", ALL, LABELS)
    assert read.rows == (
        InputRow("a", "good film", None, 1, 2),
        InputRow("b", "bad film", None, 0, 3),
        InputRow("c", "no label", None, None, 4),
    )
    assert read.problems == ()


def test_csv_json_lines_and_parquet_say_the_same(tmp_path: Path) -> None:
    rows = [{"key": "a", "review": "good film", "stars": "POSITIVE"}, {"key": "b", "review": "bad film", "stars": "0"}]
    lines = "\n".join(map(json.dumps, [rows[0], {**rows[1], "stars": 0}])).encode()
    pd.DataFrame([{**row, "stars": number} for row, number in zip(rows, (1, 0), strict=True)]).to_parquet(
        tmp_path / "mine.parquet"
    )
    expected = [("a", "good film", 1), ("b", "bad film", 0)]
    for name, content in (
        ("mine.csv", b"key,review,stars\na,good film,positive\nb,bad film,0.0\n"),
        ("mine.jsonl", lines),
        ("mine.parquet", (tmp_path / "mine.parquet").read_bytes()),
    ):
        assert column_names(content, name) == ("key", "review", "stars")
        assert [(row.id, row.text, row.label) for row in read_rows(content, name, ALL, LABELS).rows] == expected


def test_bad_rows_are_named_by_their_line_and_the_others_are_kept() -> None:
    content = (
        b"key,review,stars\n"
        b"a,good film,1\n"
        b"b,,1\n"  # line 3: empty
        b"c,fine,mixed\n"  # line 4: no such class
        b"d,caf\xe9,0\n"  # line 5: Latin-1
        b"a,again,0\n"  # line 6: the id of line 2
        b",no id,0\n"  # line 7
        b'e,"two\nlines",0\n'  # lines 8 and 9
        b"f,last,0\n"  # line 10
    )
    read = read_rows(content, "mine.csv", ALL, LABELS)
    assert [(row.id, row.line) for row in read.rows] == [("a", 2), ("e", 8), ("f", 10)]
    assert read.problems == (
        "Line 3 has no text. The row is left out.",
        "Line 4 has the label 'mixed'; the classes are negative (0), positive (1). The row is left out.",
        "Line 5 is not UTF-8. Save the file as UTF-8. The row is left out.",
        "Line 6 has the id 'a' of line 2. The row is left out.",
        "Line 7 has no id. The row is left out.",
    )


def test_bad_lines_of_json_are_named_too() -> None:
    content = b'{"text": "good"}\n[1]\n{"text"\n\n{"other": 1}\n{"text": "\xe9"}\n{"text": "bad"}\n'
    read = read_rows(content, "mine.jsonl", Columns(), LABELS)
    assert [(row.text, row.line) for row in read.rows] == [("good", 1), ("bad", 7)]
    assert [problem.split(" The row")[0] for problem in read.problems] == [
        "Line 2 is not a JSON object.",
        "Line 3: It is not JSON.",
        "Line 5 has no text.",
        "Line 6 is not UTF-8. Save the file as UTF-8.",
    ]


@pytest.mark.parametrize(
    ("name", "content", "columns", "sentence"),
    [
        ("a.csv", CSV, Columns("words"), r"a\.csv has no column 'words'\. Its columns are: key, review, stars\."),
        ("a.jsonl", b'{"a": 1}', Columns("b"), r"a\.jsonl has no column 'b'\. Its columns are: a\."),
        ("a.csv", b"text\n", Columns(), r"a\.csv has no rows\."),
        ("a.csv", b"text,x\n,1\n", Columns(), r"No row of a\.csv can be used\. Line 2 has no text\."),
        ("a.csv", "text,x\n\u200b\x01,1\n".encode(), Columns(), r"No row of a\.csv can be used\. Line 2 has no text\."),
        ("a.csv", "text\ngood".encode("utf-16"), Columns(), r"a\.csv is not UTF-8 text\."),
        ("a.xlsx", b"", Columns(), r"Give a \.csv, \.tsv, \.parquet, \.jsonl, \.ndjson or \.txt file\."),
        ("a.csv", b"text,b\na,b\n", Columns(pair="b"), r"The model reads single texts\."),
    ],
)
def test_a_file_that_cannot_be_used_is_a_sentence(name: str, content: bytes, columns: Columns, sentence: str) -> None:
    with pytest.raises(DataUnavailable, match=sentence):
        read_rows(content, name, columns, LABELS, ("text",))


def test_without_a_column_of_ids_the_id_follows_from_the_texts_and_not_from_the_place() -> None:
    one = read_rows(b"text\ngood\nbad\ngood\n", "a.csv", Columns(), LABELS)
    other = read_rows(b"text\nbad\ngood\n", "a.csv", Columns(), LABELS)
    good, bad = text_id("good", None), text_id("bad", None)
    assert [row.id for row in one.rows] == [good, bad, f"{good}-2"]
    assert [row.id for row in other.rows] == [bad, good]


def test_a_model_of_pairs_needs_a_second_text_in_every_row(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("a,b\none,two\nthree,\n")
    read = read_file(path, Columns("a", "b"), LABELS, ("premise", "hypothesis"))
    assert [(row.text, row.pair) for row in read.rows] == [("one", "two")]
    assert read.problems == ("Line 3 has no second text. The row is left out.",)
    with pytest.raises(DataUnavailable, match="The model reads pairs, premise and hypothesis"):
        read_file(path, Columns("a"), LABELS, ("premise", "hypothesis"))
    with pytest.raises(DataUnavailable, match=r"missing\.csv cannot be read"):
        read_file(tmp_path / "missing.csv", Columns("a"), LABELS)


def sampled(rows: tuple[InputRow, ...], most: int, seed: int) -> tuple[InputRow, ...]:
    kept = SampledRows("mine.csv", most, seed)
    for row in rows:
        kept.add(row)
    return kept.in_order()


def test_inputs_are_taken_by_seed_and_id_whatever_their_order() -> None:
    rows = tuple(InputRow(str(number), "text") for number in range(20))
    first = sampled(rows, 5, 0)
    assert [row.id for row in first] == ["1", "11", "14", "16", "17"]  # as ever
    assert set(sampled(rows[::-1], 5, 0)) == set(first) != set(sampled(rows, 5, 1))
    assert sampled(rows, 0, 0) == sampled(rows, 99, 0) == rows


def large(path: Path, rows: int = 20_000) -> int:
    """Write rows of 400 characters, the last of which repeats the first; return the size in bytes."""
    texts = [f"film {number} " + "was good " * 43 for number in range(rows - 1)]
    frame = pd.DataFrame({"text": [*texts, texts[0]], "label": [0, 1] * (rows // 2)})
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path, index=False, compression=None, row_group_size=5_000, use_dictionary=False)
    return path.stat().st_size


@pytest.mark.parametrize(("name", "rows"), [("large.csv", 10_000), ("large.jsonl", 10_000), ("large.parquet", 20_000)])
def test_of_a_large_file_only_the_rows_that_are_kept_are_in_memory(tmp_path: Path, name: str, rows: int) -> None:
    size = large(tmp_path / name, rows)
    tracemalloc.start()
    try:
        read = read_file(tmp_path / name, Columns(label="label"), LABELS, most=10)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size > 390 * rows
    assert peak < size / 4  # the whole file alone, or a list of its rows, is more
    assert (len(read.rows), read.usable, read.left_out) == (10, rows, 0)
    whole = read_file(tmp_path / name, Columns(label="label"), LABELS)
    assert read.rows == sampled(whole.rows, 10, 0)
    assert whole.rows[-1].id == f"{whole.rows[0].id}-2"


def test_a_parquet_file_comes_in_batches(tmp_path: Path) -> None:
    large(tmp_path / "large.parquet")
    with parquet_process.parquet.ParquetFile(tmp_path / "large.parquet") as file:
        first, *_ = parquet_process.batches(file, ["label", "text"])
    assert [len(column) for column in first] == [1_000, 1_000]
    assert first[0][:3] == ["0", "1", "0"]


@pytest.mark.parametrize(
    ("module", "limit", "most", "sentence"),
    [
        (labelled_rows, "MOST_ROWS", 2, r"mine\.csv has more than 2 rows\. Split it\."),
        (labelled_rows, "MOST_LABELS", 1, r"The column label has more than 1 different labels\. Choose another\."),
        (
            labelled_rows,
            "MOST_KEPT",
            10,
            r"texts and marks of mine\.csv would be .* Choose fewer inputs \(--n\)",
        ),
        (tables, "LONGEST_LINE", 5, r"Line 1 of mine\.csv has more than 5 characters\. Split it\."),
    ],
)
def test_what_is_above_a_limit_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, module: object, limit: str, most: int, sentence: str
) -> None:
    monkeypatch.setattr(module, limit, most)
    with pytest.raises(DataUnavailable, match=sentence):
        read_rows(NAMED, "mine.csv", Columns("text", label="label"), LABELS)


def test_what_people_marked_counts_towards_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.dumps({"text": "good film", "marks": [[0, 4]] * 50}).encode()
    monkeypatch.setattr(labelled_rows, "MOST_KEPT", 5_200)  # a person and 50 spans at 100, id 12, text 9
    assert len(read_rows(content, "mine.jsonl", Columns(rationale="marks"), LABELS).rows) == 1
    monkeypatch.setattr(labelled_rows, "MOST_KEPT", 5_120)
    with pytest.raises(DataUnavailable, match="of texts and marks of mine"):
        read_rows(content, "mine.jsonl", Columns(rationale="marks"), LABELS)


def test_rows_that_are_left_out_are_counted_and_the_first_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labelled_rows, "NAMED", 1)
    read = read_rows(b"text,x\n,1\n,2\ngood,3\n", "mine.csv", Columns(), LABELS)
    assert (read.left_out, read.problems) == (2, ("Line 2 has no text. The row is left out.",))
