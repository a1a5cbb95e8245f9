import csv
import io
import json
from collections.abc import Callable
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from app.downloads import made_by
from app.engine import Run
from explainers.api import Comparison

Ran = Callable[..., Run]
ATTACK = '<script>alert(1)</script> <img src=x onerror="alert(2)"> =1+1 good'


@pytest.fixture
def comparison(ran: Ran) -> Comparison:
    return ran(ATTACK).comparison()


class Tags(HTMLParser):
    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.handlers: set[str] = set()
        self.feed(source)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.handlers |= {name for name, _ in attributes if name.startswith("on")}


def test_the_page_is_html_in_which_nothing_that_was_typed_is_a_tag(comparison: Comparison) -> None:
    made = made_by("document.document", comparison)
    assert isinstance(made, str)
    assert made.lower().startswith("<!doctype html>")
    tags = Tags(made)
    assert not tags.handlers
    assert not tags.found & {"script", "iframe", "object", "embed"}
    assert "&lt;" in made


@pytest.mark.parametrize("maker", ["tables.csv_scores", "tables.csv_metrics", "tables.csv_curves"])
def test_tables_have_a_row_for_every_method(comparison: Comparison, maker: str) -> None:
    made = made_by(maker, comparison)
    assert isinstance(made, str)
    rows = list(csv.DictReader(io.StringIO(made, newline="")))
    assert {"lime", "occlusion"} <= {row["method"] for row in rows}
    assert all(None not in row and None not in row.values() for row in rows)  # as many cells as columns


def test_pictures_are_of_their_kind(comparison: Comparison) -> None:
    png, svg = made_by("figures.png", comparison), made_by("figures.svg", comparison)
    assert isinstance(png, bytes)
    assert png.startswith(b"\x89PNG\r\n")
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"


def test_the_json_has_everything(comparison: Comparison) -> None:
    found = json.loads(comparison.as_json())
    assert [each["method"] for each in found["explanations"]] == ["lime", "occlusion"]
    assert found["manifest"]["texts"] == [ATTACK]


def test_the_json_says_which_words_were_removed(ran: Ran) -> None:
    found = ran("a good film", removed=(1,)).comparison().as_dict()
    assert found["removed"] == [1]
    assert [(unit["text"], unit["start"]) for unit in found["explanations"][0]["units"]] == [("a", 0), ("film", 7)]
