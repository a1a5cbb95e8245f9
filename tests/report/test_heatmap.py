import html
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from explainers.models.inputs.encoding import Encoding, Unit
from explainers.report.heatmap import heatmap, legend
from explainers.report.wording import visible
from explainers.results.attribution import Attribution

STYLE = re.compile(
    r"background-color: rgba\(\d+, \d+, \d+, [01]\.\d{3}\); border-radius: 3px; padding-bottom: 1px; "
    r"border-bottom: \dpx (solid|dotted) currentColor(; outline: 1px solid currentColor; outline-offset: 1px)?"
)
TEXTS = (
    "a  good\n\nfilm ,  really\t!",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "it's `code` **bold** [link](javascript:alert(1)) ]]> &amp; &lt;b&gt;",
    "\x00\x01\x1b[31m bell\x07 \x7f\x85",
    "👩‍👩‍👧 🏳️‍🌈 e\u0301 ﷺ",
    "فيلم رائع جدا \u202e gnorw \u202c",
    "\r\ncarriage\rreturn",
)


class Reader(HTMLParser):
    """Text of the blocks, every tag and every attribute."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def attribution(text: str, scores: tuple[float, ...] | None = None, *, signed: bool = True) -> Attribution:
    """One unit per run of characters that are not spaces."""
    units = tuple(Unit(match.group(), *match.span()) for match in re.finditer(r"\S+", text))
    positions = tuple(range(len(units)))
    values = scores if scores is not None else tuple(float(position) for position in positions)
    return Attribution("lime", Encoding((text,), units, positions, (0,) * len(units), positions), 1, values, signed)


def spans(source: str) -> list[dict[str, str]]:
    """The attributes of the units, in order."""
    return [
        {name: html.unescape(value) for name, value in re.findall(r'([\w-]+)="([^"]*)"', element)}
        for element in re.findall(r"<span (data-unit[^>]*)>", source)
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_is_displayed_as_it_was_typed_and_never_interpreted(text: str) -> None:
    read = Reader(heatmap(attribution(text), label=text))
    assert read.text == visible(text)
    assert set(read.tags) <= {"div", "span"}
    assert {name for name, _ in read.attributes} <= {"data-unit", "style", "title", "dir"}


def test_control_characters_become_symbols_and_line_breaks_stay() -> None:
    assert visible("a\x00b\x1b\x7f\x85\n\t\ud800") == "a␀b␛␡\ufffd\n\t\ufffd"


def test_the_tooltip_of_a_unit_has_score_and_rank_and_direction() -> None:
    good, film = spans(heatmap(attribution("good film", (0.123, -0.25)), "positive"))
    assert good["title"] == "score +0.123, rank 1 of 2, supports positive"
    assert film["title"] == "score −0.25, rank 2 of 2, against positive"


def test_the_spread_stands_beside_the_score() -> None:
    spread = replace(attribution("good", (0.5,)), spread=(0.04,))
    assert spans(heatmap(spread, "positive"))[0]["title"] == "score +0.5 (± 0.04), rank 1 of 1, supports positive"


def test_an_unsigned_score_has_no_direction() -> None:
    (good,) = spans(heatmap(attribution("good", (0.5,), signed=False), "positive"))
    assert good["title"] == "score 0.5, rank 1 of 1"


def test_the_line_below_is_as_thick_as_the_score_is_strong() -> None:
    styles = [unit["style"] for unit in spans(heatmap(attribution("a b c d", (0.2, -0.1, 0.0, 0.01)), "positive"))]
    lines = [re.findall(r"border-bottom: (\dpx \w+)", style) for style in styles]
    assert lines == [["4px solid"], ["2px dotted"], ["0px solid"], ["0px solid"]]  # 4·1, 4·0.5, 0, 4·0.05 rounded


def test_numpy_scores_give_styles_that_a_browser_reads() -> None:
    scores = tuple(np.asarray([0.5, -0.25], dtype=np.float32))
    source = heatmap(attribution("good film", scores), "positive")
    assert "np." not in source
    assert all(STYLE.fullmatch(unit["style"]) for unit in spans(source))


def test_a_shared_scale_makes_a_weak_attribution_pale() -> None:
    (alone,) = spans(heatmap(attribution("good", (0.1,)), "positive"))
    (shared,) = spans(heatmap(attribution("good", (0.1,)), "positive", shared=0.4))
    assert "0.700)" in alone["style"]
    assert "0.175)" in shared["style"]  # 0.7 · 0.1 / 0.4


def test_the_top_share_is_framed() -> None:
    framed = ["outline" in unit["style"] for unit in spans(heatmap(attribution("a b c d e"), "positive", percent=40))]
    assert framed == [False, False, False, True, True]  # ⌈5 · 40 %⌉ = 2 highest scores


def test_a_pair_is_two_blocks() -> None:
    units = (Unit("A", 0, 1, 0), Unit("B", 2, 3, 1))
    encoding = Encoding(("A!", "x B"), units, (0, 1), (0, 1), (0, 1))
    pair = Attribution("lime", encoding, 0, (1.0, 2.0), True)
    source = heatmap(pair, "yes")
    assert Reader(source).text == "Text 1A!Text 2x B"
    assert Reader(heatmap(pair, "yes", names=("Premise", "<i>"))).text == "PremiseA!<i>x B"
    assert source.count('dir="auto"') == 2


def test_text_outside_the_units_is_marked() -> None:
    encoding = Encoding(("kept cut off",), (Unit("kept", 0, 4),), (0,), (0,), (0,))
    source = heatmap(Attribution("lime", encoding, 0, (1.0,), True), "yes")
    assert 'title="not part of this explanation"> cut off</span>' in source


def test_the_legend_has_the_scores_at_the_ends_of_the_scale() -> None:
    read = Reader(legend(attribution("a b", (0.12, -0.08)), "posi<b>tive")).text
    assert read == "against −0.08 … supports posi<b>tive +0.12 (full colour at ±0.12)"


def test_zero_has_no_sign_in_the_legend() -> None:
    assert Reader(legend(attribution("a b", (0.5, 0.0)), "yes")).text.startswith("against 0 … supports yes +0.5 ")


def test_the_legend_of_unsigned_scores_claims_no_direction() -> None:
    read = Reader(legend(attribution("a b", (0.12, 0.02), signed=False), "positive", shared=0.5)).text
    assert read == "weight, lowest 0.02 … highest 0.12 (full colour at 0.5; neither for nor against)"
