import csv
import io
import json
from collections.abc import Callable
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from app.compare.measurements import file_content
from app.compare.runs import Run
from explainers.results.comparison import Comparison

Ran = Callable[..., Run]
ATTACK = '<script>alert(1)</script> <img src=x onerror="alert(2)"> =1+1 good'


@pytest.fixture
def comparison(ran: Ran) -> Comparison:
    return ran(ATTACK).comparison()


class Tags(HTMLParser):
    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.handlers: set[str] = set()
        self.feed(source)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.handlers |= {name for name, _ in attributes if name.startswith("on")}


def test_the_page_is_html_in_which_nothing_that_was_typed_is_a_tag(comparison: Comparison) -> None:
    page = file_content("document.document", comparison)
    assert isinstance(page, str)
    assert page.lower().startswith("<!doctype html>")
    parser = Tags(page)
    assert not parser.handlers
    assert not parser.tags & {"script", "iframe", "object", "embed"}
    assert "&lt;" in page


@pytest.mark.parametrize("maker", ["tables.csv_scores", "tables.csv_metrics", "tables.csv_curves"])
def test_tables_have_a_row_for_every_method(comparison: Comparison, maker: str) -> None:
    table = file_content(maker, comparison)
    assert isinstance(table, str)
    rows = list(csv.DictReader(io.StringIO(table, newline="")))
    assert {"lime", "occlusion"} <= {row["method"] for row in rows}
    assert all(None not in row and None not in row.values() for row in rows)  # as many cells as columns


def test_plots_are_of_their_format(comparison: Comparison) -> None:
    png, svg = file_content("plots.curves_png", comparison), file_content("plots.curves_svg", comparison)
    assert isinstance(png, bytes)
    assert png.startswith(b"\x89PNG\r\n")
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"


def test_the_json_has_everything(comparison: Comparison) -> None:
    content = json.loads(comparison.as_json())
    assert [explanation["method"] for explanation in content["explanations"]] == ["consensus", "lime", "occlusion"]
    assert content["manifest"]["texts"] == [ATTACK]


def test_the_json_says_which_words_were_removed(ran: Ran) -> None:
    content = ran("a good film", removed=(1,)).comparison().as_dict()
    assert content["removed"] == [1]
    assert [(unit["text"], unit["start"]) for unit in content["explanations"][0]["units"]] == [("a", 0), ("film", 7)]
