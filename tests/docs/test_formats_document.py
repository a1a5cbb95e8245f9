"""The examples of the document about formats are read as it says."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from explainers.annotations.formats.attributions_file import read_attributions, read_eraser_results
from explainers.annotations.formats.eraser import parse_documents, read_eraser
from explainers.annotations.formats.items_file import CONFIG, parse_items
from explainers.annotations.formats.tables import COLUMNS
from explainers.annotations.record_json import Content, answer_json, read_answer
from explainers.annotations.records import ANSWERS, Item, Marked, Span, Task

DOCUMENT = (Path(__file__).parents[2] / "assets" / "docs" / "formats.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL))


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", SECTIONS[section], re.DOTALL)


def only(content: str, name: str) -> Item:
    imported = parse_items(content.encode(), name)
    assert imported.problems() == ()
    (item,) = imported.items
    return item


def marked_words(item: Item) -> list[str]:
    assert item.rationale is not None
    return [item.example.text[span.start : span.end] for span in item.rationale[0].spans_of_text]


def test_the_table_and_its_columns() -> None:
    (example,) = blocks("Tables: CSV, TSV, Parquet", "csv")
    assert marked_words(only(example, "a.csv")) == ["an ending"]
    assert set(next(csv.reader(io.StringIO(example)))) <= set(COLUMNS)
    documented = set(
        re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.+?) \|", SECTIONS["Tables: CSV, TSV, Parquet"], re.M)))
    )
    assert set(COLUMNS) <= documented | {"text_pair"}


def test_json_lines() -> None:
    (example,) = blocks("JSON lines", "json")
    imported = parse_items(example.encode(), "a.jsonl")
    assert marked_words(imported.items[0]) == ["slow"]
    assert imported.annotations[0].answer == Marked((Span(2, 12),))


@pytest.mark.parametrize("task", ANSWERS)
def test_the_answer_of_every_task(task: Task) -> None:
    row = next(line for line in SECTIONS["JSON lines"].splitlines() if line.startswith(f"| `{task}` "))
    match = re.search(r"`(\{.+?\})`", row)
    assert match is not None
    content: Content = json.loads(match[1])
    assert answer_json(read_answer(task, content)) == content


def test_eraser() -> None:
    annotations, results = blocks("ERASER", "json")
    document, line = annotations.splitlines()
    documents = parse_documents(document)
    imported = read_eraser(line, documents)
    assert imported.problems() == ()
    assert marked_words(imported.items[0]) == ["an ending"]
    file = read_eraser_results(results, documents, "lei")
    assert file.problems() == ()
    assert file.attributions[0].scores[7] == 0.9


@pytest.mark.parametrize(("section", "name"), [("doccano", "a.jsonl"), ("Label Studio", "a.json")])
def test_the_other_tools(section: str, name: str) -> None:
    (example,) = blocks(section, "json")
    assert marked_words(only(example, name)) == ["slow"]


def test_the_configuration_is_that_of_the_export() -> None:
    assert blocks("Label Studio", "xml") == [CONFIG + "\n"]


def test_attributions() -> None:
    (example,) = blocks("Attributions made elsewhere", "json")
    file = read_attributions(example)
    assert file.problems() == ()
    assert file.attributions[0].signed
