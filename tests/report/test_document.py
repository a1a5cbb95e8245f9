from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from explainers.api import explain
from explainers.methods.registry import METHODS
from explainers.models.frozen_model import FrozenModel
from explainers.report.document import POLICY, document, fragment
from explainers.report.tables import csv_scores
from explainers.report.wording import visible
from explainers.results.answer import Answer
from explainers.results.comparison import Comparison
from explainers.results.events import Failure

Compared = Callable[..., Comparison]
NASTY = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style><svg onload=alert(1)>",
    "**bold** [link](javascript:alert(1)) `code`",
    "]]> <![CDATA[ <!-- -->",
    "nul \x00 bell \x07 \x85",
    "👩‍👩‍👧 e\u0301 \U0001f600",
    "فيلم \u202e gnorw",
    "$5 or $6",
)
FORBIDDEN = {"script", "img", "iframe", "object", "embed", "link", "base", "form", "a", "foreignobject", "image"}


class Page(HTMLParser):
    """Tags, attributes, the text by tag, and the texts of the cards' blocks."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.blocks: list[str] = []
        self.text: dict[str, str] = {}
        self.attributes: list[tuple[str, str, str]] = []
        self.tags: set[str] = set()
        self.depth = 0  # inside a block of text
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if ("dir", "auto") in attrs:
            self.blocks.append("")
            self.depth = 1
        elif self.depth:
            self.depth += 1
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.depth = max(0, self.depth - 1)

    def handle_data(self, data: str) -> None:
        self.text[self.open[-1] if self.open else ""] = self.text.get(self.open[-1] if self.open else "", "") + data
        if self.depth:
            self.blocks[-1] += data


@pytest.mark.parametrize("nasty", NASTY)
def test_typed_text_is_displayed_and_never_interpreted(compared: Compared, nasty: str) -> None:
    failed = (Failure("occlusion", nasty),)
    page = Page(
        document(compared(f"good {nasty}", nasty, labels=(nasty, nasty), name=nasty, failures=failed, warning=nasty))
    )
    assert not page.open  # every element was closed, so no text ended one
    assert not page.tags & FORBIDDEN
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name in ("src", "srcdoc", "action")]
    assert all(value.startswith("#") for _, name, value in page.attributes if name.endswith("href"))
    assert page.blocks == [visible(f"good {nasty}"), visible(nasty)]
    assert visible(nasty) in page.text["bdi"]
    assert visible(nasty) in page.text["p"]  # the reason why occlusion failed


def test_the_page_stands_alone(compared: Compared) -> None:
    source = document(compared("good film"))
    page = Page(source)
    assert source.startswith("<!doctype html>")
    assert ("meta", "charset", "utf-8") in page.attributes
    assert ("meta", "content", POLICY) in page.attributes
    assert "script-src" not in POLICY
    assert POLICY.startswith("default-src 'none'")
    assert "prefers-color-scheme: dark" in source
    assert not any("url(" in value for _, name, value in page.attributes if name == "style" and "#" not in value)
    assert page.text["title"] == "“good film”: what supports positive"


def test_the_page_has_the_idea_and_the_caution_of_each_method(compared: Compared) -> None:
    page = Page(document(compared("good film")))
    lime, random, other = (next(spec for spec in METHODS if spec.id == id) for id in ("lime", "random", "occlusion"))
    assert lime.caution in page.text["dd"]
    assert random.caution in page.text["dd"]
    assert other.caution not in page.text["dd"]


def test_a_method_that_ended_early_says_so_on_its_card(compared: Compared) -> None:
    whole = compared("good film", methods={"lime": (1.0, 0.0), "occlusion": (0.5, 0.1)})
    first, *others = whole.results
    early = replace(first, attribution=replace(first.attribution, ended_early=True))
    page = Page(document(replace(whole, results=(early, *others), budget=5.0)))
    assert Page(document(whole)).text["small"].count("ended early") == 0
    assert page.text["small"].count("ended early") == 1
    assert "LIME (ended early)" in page.text["span"]
    assert "Occlusion (ended early)" not in page.text["span"]


def test_the_manifest_is_folded_away(compared: Compared) -> None:
    page = Page(document(compared("good film")))
    assert "details" in page.tags
    assert '"sha256"' in page.text["pre"]
    assert '"good film"' in page.text["pre"]


def test_a_notebook_displays_the_fragment(compared: Compared) -> None:
    comparison = compared("good film")
    page = Page(comparison._repr_html_())
    assert "html" not in page.tags
    assert page.blocks == ["good film"]
    assert "0.900" in page.text["dd"]
    assert "LIME" in page.text["h3"]


def test_supported_rows_are_bold_and_those_like_random_are_pale(compared: Compared) -> None:
    right, wrong = (1.0, *(0.0,) * 9), (-1.0, *(0.0,) * 8, 1.0)
    comparison = compared("wonderful b c d e f g h i j", methods={"lime": right, "occlusion": wrong})
    source = fragment(replace(comparison, answer=Answer("supported", supported=("lime",), random=("occlusion",))))
    assert '<td colspan="7">supported</td></tr><tr class="best"><td>LIME</td><td>0.800</td>' in source
    assert 'not shown to be better than random</td></tr><tr class="pale"><td>Occlusion</td><td>0.000</td>' in source


def test_the_table_names_the_operator(compared: Compared) -> None:
    assert "Erased by mask, per word, for the class" in Page(fragment(compared("good film"))).text["p"]


def test_the_classes_stand_in_the_order_of_their_probability(compared: Compared) -> None:
    source = fragment(compared("good film"))
    assert source.index("positive</bdi> (explained)") < source.index("negative</bdi>")


def test_removed_units_are_mentioned(compared: Compared) -> None:
    page = Page(fragment(replace(compared("good film"), removed=(3, 4))))
    assert "2 removed before; the explanations are of the rest." in page.text["p"]


def test_colours_follow_the_preset(compared: Compared) -> None:
    assert "rgba(40, 160, 70, 0.700)" in fragment(compared("good film"), preset="captum")


def test_an_unfinished_comparison_has_a_document_too(compared: Compared) -> None:
    waiting = replace(compared("good film"), results=(), random_control=None)
    assert Page(document(waiting)).blocks == []


def test_the_document_calls_both_texts_by_their_names(pairs: FrozenModel) -> None:
    page = document(explain(pairs, "the film was good", "a dull plot", methods=["occlusion"]))
    assert page.count(">Premise</div>") == page.count(">Hypothesis</div>") == 1
    assert "Premise alone: " in page
    assert " · swapped: " in page


def test_scores_in_a_table_name_the_text_of_their_unit(pairs: FrozenModel) -> None:
    rows = csv_scores(explain(pairs, "the film", "a plot", methods=["occlusion"])).splitlines()
    assert [row.split(",")[6:8] for row in rows[1:]] == [["0", "Premise"]] * 2 + [["1", "Hypothesis"]] * 2
