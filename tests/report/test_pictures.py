"""A picture under the colours of its patches, in documents."""

import base64
import re
from collections.abc import Callable
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from explainers.api import Comparison
from explainers.datasets.picture import Picture
from explainers.errors import DataUnavailable
from explainers.report import grids
from explainers.report.document import document
from explainers.report.heatmap import heatmap
from explainers.report.patches import overlay
from explainers.report.pictures import LONGEST, shown
from explainers.report.units import called, divided, name_of_units, plural
from explainers.summary import summary

Compared = Callable[..., Comparison]
GREY = Picture.of(np.full((40, 80, 3), 128, np.uint8))
SCORES = (0.25, 0.5, -1.0, 0.0, 0.0)  # of a word and four quarters
NUMBER = re.compile(r'width="([\d.]+)"')


def drawn_by(comparison: Comparison, percent: float = 0) -> ElementTree.Element:
    found = heatmap(comparison.results[0].attribution, "positive", percent=percent)
    return ElementTree.fromstring(f"<div>{found}</div>")


def noise(width: int, height: int) -> Picture:
    return Picture.of(np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8))


def test_a_small_picture_is_shown_without_loss_and_in_its_own_size() -> None:
    found = shown(GREY)
    assert (found.kind, found.width, found.height) == ("png", 80, 40)
    kept = np.asarray(Image.open(BytesIO(base64.b64decode(found.uri.partition(",")[2]))))
    assert (kept == GREY.pixels()).all()


@pytest.mark.parametrize(("width", "height"), [(1600, 1200), (200, 3000), (3000, 7)])
def test_a_large_picture_is_shown_smaller_and_boxes_stay_those_of_the_given_one(width: int, height: int) -> None:
    found = shown(noise(width, height))
    assert max(Image.open(BytesIO(found.content)).size) == LONGEST
    assert len(found.content) < 400_000
    assert found.share((0, 0, width, height)) == (0, 0, 100, 100)
    assert found.share((width // 2, 0, width, height))[0] == pytest.approx(50, abs=0.1)


def test_what_is_no_picture_is_not_shown() -> None:
    with pytest.raises(DataUnavailable):
        shown(Picture(b"this is text"))


def test_every_patch_lies_where_it_is_in_the_picture_with_its_score(compared: Compared) -> None:
    page = drawn_by(compared("good", methods={"lime": SCORES}, weights=SCORES, picture=GREY))
    (drawing,) = page.findall("svg")
    assert drawing.get("viewBox") == "0 0 80 40"
    tiles = drawing.findall("g")
    sides = ("x", "y", "width", "height")
    assert [tuple(float(tile.find("rect").get(side)) for side in sides) for tile in tiles] == [  # type: ignore[union-attr,arg-type]
        (0, 0, 40, 20),
        (40, 0, 40, 20),
        (0, 20, 40, 20),
        (40, 20, 40, 20),
    ]
    assert tiles[1].findtext("title") == "row 1, column 2: score −1, rank 5 of 5, against positive"
    # the strongest is full, half of it has half of the strength, zero is the picture itself
    fills = [tile.find("rect").get("fill") for tile in tiles]  # type: ignore[union-attr]
    assert fills == ["rgba(50, 130, 230, 0.350)", "rgba(230, 110, 10, 0.700)", *["rgba(50, 130, 230, 0.000)"] * 2]
    bars = [tile.find("line") for tile in tiles]
    assert [bar is not None for bar in bars] == [True, True, False, False]
    assert bars[0] is not None
    assert bars[1] is not None
    assert (bars[0].get("stroke-dasharray"), bool(bars[1].get("stroke-dasharray"))) == (None, True)


def test_the_top_units_are_framed_among_words_and_patches_alike(compared: Compared) -> None:
    page = drawn_by(compared("good", methods={"lime": SCORES}, weights=SCORES, picture=GREY), percent=40)
    framed = [len(tile.findall("rect")) == 2 for tile in page.findall("svg/g")]
    assert framed == [True, False, False, False]  # and the word is the second of two in five


def test_how_the_importance_is_divided_is_said(compared: Compared) -> None:
    page = drawn_by(compared("good", methods={"lime": SCORES}, weights=SCORES, picture=GREY))
    # 1.5 of 1.75 lies in the picture
    assert "picture 86 % · text 14 % of the importance" in "".join(page.itertext())


def test_a_text_alone_has_no_picture(compared: Compared) -> None:
    found = compared("good").results[0].attribution
    assert overlay(found, ["red"], ["said"], [False]) == ""
    assert "<svg" not in heatmap(found, "positive")


def test_the_document_holds_the_picture_and_asks_for_nothing(compared: Compared) -> None:
    page = document(compared("good", methods={"lime": SCORES}, weights=SCORES, picture=GREY))
    assert page.count('<image href="data:image/png;base64,') == 2  # above, and under the colours
    assert "img-src data:" in page
    assert not re.search(r'(?:href|src)="(?!data:|#)', page)


def test_the_name_of_a_patch_is_escaped(compared: Compared) -> None:
    found = compared("good", methods={"lime": SCORES}, weights=SCORES, picture=GREY).results[0].attribution
    attack = '"><script>alert(1)</script>'
    assert "<script" not in overlay(found, ["red"] * 5, [attack] * 5, [True] * 5)


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (None, ""),
        (0.0, "picture 0 % · text 100 % of the importance"),
        (1 / 3, "picture 33 % · text 67 % of the importance"),
    ],
)
def test_the_division_in_words(share: float | None, said: str) -> None:
    assert divided(share) == said


def test_units_are_named_by_what_they_are(compared: Compared) -> None:
    words, both = compared("good"), compared("good", methods={"lime": SCORES}, weights=SCORES, picture=GREY)
    word, patch = both.question.encoding.units[:2]
    assert (name_of_units(words.question), name_of_units(both.question)) == ("word", "unit")
    assert [plural(name) for name in ("word", "patch")] == ["words", "patches"]
    assert called(word, word.text) == "“good”"
    assert called(patch, patch.text) == "the patch in row 1, column 1"


def test_the_summary_speaks_of_patches_and_of_units(compared: Compared) -> None:
    first, second = (0.0, 1.0, 0.0, 0.0, 0.0), (0.1, 1.0, 0.2, 0.3, 0.0)
    said = summary(compared("good", methods={"lime": first, "occlusion": second}, weights=first, picture=GREY))
    assert said.startswith("LIME and Occlusion agree on the patch in row 1, column 1.")
    alone = summary(compared("good", methods={"lime": first}, weights=first, picture=GREY))
    assert "removing the top units costs more than chance" in alone
    nobody = summary(compared("good", methods={"lime": first, "occlusion": first[::-1]}, weights=first, picture=GREY))
    assert nobody.startswith("LIME and Occlusion do not put the same unit first.")


def test_the_heat_maps_of_all_methods_are_one_file(compared: Compared) -> None:
    methods = {"lime": SCORES, "occlusion": SCORES, "attention_mean": (0.2,) * 5, "integrated_gradients": (0.0,) * 5}
    comparison = compared("good", methods=methods, weights=SCORES, picture=GREY, labels=("no", "$x^2$ فيلم"))
    drawn = grids.figure(comparison)
    assert [len(axis.patches) for axis in drawn.axes] == [4, 4, 4, 4, 0, 0]
    assert drawn.axes[0].patches[1].get_facecolor() == pytest.approx((230 / 255, 110 / 255, 10 / 255, 0.7))
    assert grids.png(comparison).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no picture"):
        grids.png(compared("good"))
