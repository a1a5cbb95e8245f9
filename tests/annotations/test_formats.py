import csv
import io
import json
import time
import zipfile
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explainers.annotations.formats.items_file import (
    EXPORTS,
    ExportFormat,
    doccano_export,
    label_studio_export,
    parse_items,
    read_doccano,
    read_label_studio,
)
from explainers.annotations.formats.own_records import (
    CODE_POINTS,
    Imported,
    class_number,
    from_utf16,
    to_utf16,
    utf16_offsets,
)
from explainers.annotations.formats.tables import csv_export, original_cell, read_jsonl, read_table, safe_cell
from explainers.annotations.records import (
    Annotation,
    Corrected,
    GivenReason,
    Inspected,
    Item,
    Marked,
    Ranked,
    Rated,
    Rating,
    ReadReason,
    Span,
)
from explainers.datasets.example import Example
from explainers.errors import DataUnavailable

TEXT = "=SUM(A1) 👩‍🔬 un cafe\u0301,\r\nסרט טוב"
MARK = Annotation("p", "a/1", "Ann", "mark", 2, 3.25, 1e9, Marked((Span(0, 4), Span(9, 12))), comment="@home\t=1+1")
ITEMS = (
    Item("a/1", Example(TEXT, label=1, explanations=("weil", "-1")), (Marked((Span(13, 15),)), Marked()), "POS"),
    Item("b", Example("premise 🙂 here", "a hypothesis"), None),
    Item("c", Example("nobody saw this")),
    Item("d", Example("premise", "hypothesis", 2), None, "", GivenReason("=because", "neutral", "people")),
)
ANNOTATIONS = (
    MARK,
    replace(MARK, annotator="'+Bob", task="inspect", version=1, answer=Inspected("lime", "correct", Marked())),
    Annotation("p", "b", "Ann", "mark", 1, 0.5, 2.0, Marked((Span(8, 9),), (Span(2, 12),)), flagged=True),
    Annotation("p", "b", "Bob", "mark", 1, 0.5, 2.0, Marked((Span(0, 7),)), own_class="=contradiction"),
    Annotation("p", "b", "Ann", "rank", 1, 0.5, 2.0, Ranked(("aml", "lime"))),
    Annotation("p", "b", "Ann", "correct", 1, 0.5, 2.0, Corrected("gpt", "-because")),
    Annotation("p", "b", "Ann", "rate", 1, 0.5, 2.0, Rated((Rating("A", "gpt", 1, 5),))),
    Annotation("p", "b", "Bob", "simulate", 1, 0.5, 2.0, None, skipped=True, comment="'=quoted'"),
    Annotation("p", "d", "Ann", "read", 1, 0.5, 2.0, ReadReason("yes", "?", "no", "yes")),
)
every_format = pytest.mark.parametrize("written", EXPORTS, ids=lambda export: export.id)


def read_back(written: ExportFormat, items: tuple[Item, ...], annotations: tuple[Annotation, ...]) -> Imported:
    return parse_items(written.write(items, annotations), "export" + written.suffix)


@every_format
def test_items_and_annotations_come_back_as_they_were(written: ExportFormat) -> None:
    imported = read_back(written, ITEMS, ANNOTATIONS)
    assert imported.problems() == ()
    assert imported.items == ITEMS
    assert imported.annotations == ANNOTATIONS


TYPED = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).filter(
    str.strip
)


@settings(max_examples=40, deadline=None)
@given(TYPED, st.none() | TYPED, TYPED, TYPED, st.data())
def test_any_text_comes_back_in_any_format_but_parquet(
    text: str, pair: str | None, comment: str, annotator: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    spans = (Span(start, data.draw(st.integers(start + 1, len(text)))),)
    marked = Marked(spans, (Span(0, len(pair)),) if pair else ())
    item, mark = (
        Item("1", Example(text, pair), (marked,)),
        replace(MARK, item="1", annotator=annotator, comment=comment),
    )
    annotations = (replace(mark, answer=marked),)
    for written in EXPORTS:
        if written.id != "parquet":  # a process for each; its cells are those of CSV
            imported = read_back(written, (item,), annotations)
            assert (imported.items, imported.annotations, imported.bad_rows) == ((item,), annotations, ()), written.id


@every_format
def test_every_row_names_annotator_and_version_and_how_offsets_count(written: ExportFormat) -> None:
    content = written.write(ITEMS[:1], (MARK,))
    if written.suffix in (".csv", ".jsonl", ".json"):
        text = content.decode()
        assert "Ann" in text
        assert "version" in text
        assert CODE_POINTS in text or "UTF-16 code units" in text


@every_format
def test_every_format_names_the_class_that_was_marked_for(written: ExportFormat) -> None:
    item, annotation = ITEMS[1], replace(ANNOTATIONS[2], own_class="contradiction")
    content = written.write([item], [annotation])
    if written.id == "eraser":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert json.loads(archive.read("annotations.jsonl"))["classification"] == "contradiction"
    elif written.id != "parquet":
        assert "contradiction" in content.decode()
    (read,) = parse_items(content, "export" + written.suffix).annotations
    assert read.own_class == "contradiction"


def test_no_cell_of_the_csv_begins_as_a_formula() -> None:
    rows = list(csv.reader(io.StringIO(csv_export(ITEMS, ANNOTATIONS).decode(), newline="")))
    assert not [cell for row in rows for cell in row if cell[:1] and cell[0] in "=+-@\t\r\n"]
    assert any(cell.startswith("'=SUM") for row in rows for cell in row)


@pytest.mark.parametrize("text", ["=1", "'=1", "''=1", "'quoted'", "plain", "", "\tx", "-", "@a", "+", "\r", "'"])
def test_an_escaped_cell_comes_back(text: str) -> None:
    assert original_cell(safe_cell(text)) == text
    assert safe_cell(text)[:1] not in tuple("=+-@\t\r\n")


def test_offsets_in_utf16_count_an_emoji_twice() -> None:
    offsets = utf16_offsets("a🙂b")
    assert offsets == [0, 1, 3, 4]
    assert to_utf16(Span(1, 3), offsets) == (1, 4)
    assert from_utf16(1, 4, offsets) == Span(1, 3)
    with pytest.raises(DataUnavailable, match="not those of characters"):
        from_utf16(2, 4, offsets)


def test_doccano_gets_utf16_and_the_pair_after_a_line_break() -> None:
    row = json.loads(doccano_export(ITEMS[1:2], ANNOTATIONS[2:3]))
    assert row["text"] == "premise 🙂 here\na hypothesis"
    assert row["label"] == [[8, 10, "evidence"], [18, 28, "evidence"]]


def test_marks_that_were_changed_in_doccano_are_read_as_a_rationale() -> None:
    row = json.loads(doccano_export(ITEMS[1:2], ANNOTATIONS[2:3]))
    row["label"] = [[0, 7, "evidence"], [18, 28, "evidence"]]
    (item,) = read_doccano(json.dumps(row)).items
    assert item.example == ITEMS[1].example
    assert item.rationale == (Marked((Span(0, 7),), (Span(2, 12),)),)


def test_doccano_in_both_of_its_forms() -> None:
    lines = [
        {"id": 7, "text": "🙂 good film", "label": [[3, 7, "POS"]], "Comments": []},
        {"id": 8, "text": "a bad film", "entities": [{"id": 1, "label": "NEG", "start_offset": 2, "end_offset": 5}]},
        {"text": "nothing marked", "label": []},
    ]
    imported = parse_items("\n".join(map(json.dumps, lines)).encode(), "all.jsonl")
    assert [item.rationale for item in imported.items] == [
        (Marked((Span(2, 6),)),),
        (Marked((Span(2, 5),)),),
        (Marked(),),
    ]
    assert [item.id for item in imported.items[:2]] == ["7", "8"]


def task(start: int, end: int, text: str | None, data: str = "🙂 good film") -> dict[str, object]:
    value = {"start": start, "end": end, "labels": ["PER"]} | ({} if text is None else {"text": text})
    region = {"id": "x", "from_name": "l", "to_name": "text", "type": "labels", "value": value, "origin": "manual"}
    return {
        "id": 3,
        "data": {"text": data},
        "annotations": [{"completed_by": 1, "result": [region]}],
        "predictions": [],
    }


@pytest.mark.parametrize("offsets", [(2, 6), (3, 7)], ids=["code points", "UTF-16"])
def test_label_studio_counts_either_way_and_the_marked_text_decides(offsets: tuple[int, int]) -> None:
    imported = read_label_studio(json.dumps([task(*offsets, "good")]))
    assert imported.items[0].rationale == (Marked((Span(2, 6),)),)


def test_label_studio_marks_that_were_changed_are_a_rationale_per_person() -> None:
    (exported,) = json.loads(label_studio_export(ITEMS[:1], (MARK,)))
    first = exported["annotations"][0]
    exported["annotations"] = [
        {**first, "result": first["result"][:1]},
        {**first, "result": []},
        {**first, "was_cancelled": True},
    ]
    (item,) = read_label_studio(json.dumps([exported])).items
    assert item.rationale == (Marked((Span(0, 4),)), Marked())


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (json.dumps([task(0, 99, None)]), "a.json", "The span 0 to 99 is not within"),
        (json.dumps([task(0, 4, "good")]), "a.json", "not those of the marked text"),
        (json.dumps([{"data": 3}]), "a.json", "It is not an object, but a whole number"),
        ('{"text": "a", "label": [[0, 9, "x"]]}', "a.jsonl", "not those of characters"),
        ('{"text": "a", "label": [["x"]]}', "a.jsonl", "A label is a list"),
        ('{"text": "a"}\nbroken', "a.jsonl", "It is not JSON"),
        ('{"text": 3}', "a.jsonl", "The text is missing"),
        ('{"text": "a", "rationale": [[0, 9]]}', "a.jsonl", "ends beyond the text of 1 characters"),
        ('{"text": "a", "rationale": "x"}', "a.jsonl", "The field rationale must be a list, not 'x'"),
        ("text,annotator,version\na,Ann,x\n", "a.csv", "The field version is a number, not 'x'"),
        ("text,annotator,version,task\na,Ann,1,mark\n", "a.csv", "The field seconds is missing"),
        ("text,rationale\na,[[0\n", "a.csv", "It is not JSON"),
        ("text,rationale\n,[]\n", "a.csv", "The text is missing"),
        ('id,text\n1,a\n1,b\n', "a.csv", "Another row has the id '1' and another content"),
    ],
)  # fmt: skip
def test_a_bad_row_has_a_sentence(content: str, name: str, reason: str) -> None:
    imported = parse_items(content.encode(), name)
    (problem,) = imported.problems()
    assert reason in problem
    assert problem.startswith("Row ")


def test_good_rows_are_kept_and_bad_ones_listed_up_to_a_limit() -> None:
    lines = ["text,rationale", *('"good, film","[[0, 4]]"' if n % 2 else "bad,[[0, 99]]" for n in range(100))]
    imported = read_table("\n".join(lines).encode(), "a.csv")
    assert len(imported.items) == 1  # fifty times the same, once
    assert imported.items[0].rationale == (Marked((Span(0, 4),)),)
    assert len(imported.problems()) == 21
    assert imported.problems()[0].startswith("Row 1: ")
    assert imported.problems()[-1] == "30 more rows were not read."
    assert imported.problems(49)[-1] == "1 more row was not read."


@pytest.mark.slow
def test_a_table_of_100_000_rows_is_read_within_seconds() -> None:
    lines = ["id,text,rationale", *(f'{n},"text {n}","[[0, {4 if n % 100 else 99}]]"' for n in range(100_000))]
    started = time.monotonic()
    imported = read_table("\n".join(lines).encode(), "a.csv")
    assert (len(imported.items), len(imported.bad_rows)) == (99_000, 1_000)
    assert time.monotonic() - started < 120


@pytest.mark.parametrize(
    ("content", "name", "sentence"),
    [
        (b"a,b\n1,2\n", "a.csv", "needs a column named text, or premise and hypothesis; it has a, b"),
        (b"\xff\xfe", "a.csv", "not UTF-8"),
        (b"text", "a.xlsx", "cannot be read. Give a file that ends in .csv"),
        (b"{}", "a.json", "is a list of tasks"),
        (b"nonsense", "a.parquet", "not a readable Parquet file"),
        (b'{"annotation_id": "1", "evidences": []}', "a.jsonl", "without their documents"),
    ],
)
def test_an_unusable_file_is_one_sentence(content: bytes, name: str, sentence: str) -> None:
    with pytest.raises(DataUnavailable, match=sentence):
        parse_items(content, name)


def test_columns_of_pairs_have_several_names() -> None:
    (item,) = parse_items(b"premise,hypothesis,label\na dog,an animal,entail\n", "a.csv").items
    assert (item.example.text, item.example.pair, item.label) == ("a dog", "an animal", "entail")
    assert read_jsonl('{"text": "a dog", "text_pair": "an animal"}').items[0].example.pair == "an animal"


@pytest.mark.parametrize(
    ("name", "number"), [("POS", 1), ("negative", 0), ("neutral", None), ("", None), ("ne", 0), ("p", 1)]
)
def test_classes_are_matched_by_name_or_its_beginning(name: str, number: int | None) -> None:
    assert class_number(name, ("negative", "positive")) == number


def test_an_annotation_without_its_item_cannot_be_written() -> None:
    with pytest.raises(DataUnavailable, match="annotations of 1 items"):
        csv_export(ITEMS[1:], ANNOTATIONS)


def test_an_item_that_no_csv_reader_takes_is_refused_by_name() -> None:
    with pytest.raises(DataUnavailable, match="The item long is too long for a CSV cell"):
        csv_export([Item("long", Example("a" * 200_000))], [])
