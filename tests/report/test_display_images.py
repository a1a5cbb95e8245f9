"""Images with coloured patches, in documents."""

import base64
import re
from collections.abc import Callable
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from explainers.datasets.example import InputImage
from explainers.errors import DataUnavailable
from explainers.report import plots
from explainers.report.display_images import LONGEST, display_image
from explainers.report.document import document
from explainers.report.heatmap import heatmap, overlay
from explainers.report.summary import summary
from explainers.report.wording import (
    name_of_units,
    plural,
    quoted_unit,
    share_line,
)
from explainers.results.comparison import Comparison

Compared = Callable[..., Comparison]
GREY = InputImage.of(np.full((40, 80, 3), 128, np.uint8))
SCORES = (0.25, 0.5, -1.0, 0.0, 0.0)  # of a word and four quarters
NUMBER = re.compile(r'width="([\d.]+)"')


def parsed_heatmap(comparison: Comparison, percent: float = 0) -> ElementTree.Element:
    source = heatmap(comparison.results[0].attribution, "positive", percent=percent)
    return ElementTree.fromstring(f"<div>{source}</div>")


def noise(width: int, height: int) -> InputImage:
    return InputImage.of(np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8))


def test_a_small_image_is_displayed_without_loss_and_in_its_size() -> None:
    display = display_image(GREY)
    assert (display.kind, display.width, display.height) == ("png", 80, 40)
    kept = np.asarray(Image.open(BytesIO(base64.b64decode(display.uri.partition(",")[2]))))
    assert (kept == GREY.pixels()).all()


@pytest.mark.parametrize(("width", "height"), [(1600, 1200), (200, 3000), (3000, 7)])
def test_a_large_image_is_reduced_and_boxes_stay_those_of_the_given_image(width: int, height: int) -> None:
    display = display_image(noise(width, height))
    assert max(Image.open(BytesIO(display.content)).size) == LONGEST
    assert len(display.content) < 400_000
    assert display.percent_box((0, 0, width, height)) == (0, 0, 100, 100)
    assert display.percent_box((width // 2, 0, width, height))[0] == pytest.approx(50, abs=0.1)


def test_a_file_that_is_no_image_raises() -> None:
    with pytest.raises(DataUnavailable):
        display_image(InputImage(b"this is text"))


def test_every_patch_is_at_its_position_in_the_image_with_its_score(compared: Compared) -> None:
    page = parsed_heatmap(compared("good", methods={"lime": SCORES}, weights=SCORES, image=GREY))
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
    # the strongest is full, half of it has half of the strength, zero is transparent
    fills = [tile.find("rect").get("fill") for tile in tiles]  # type: ignore[union-attr]
    assert fills == ["rgba(50, 130, 230, 0.350)", "rgba(222, 104, 8, 0.700)", *["rgba(50, 130, 230, 0.000)"] * 2]
    bars = [tile.find("line") for tile in tiles]
    assert [bar is not None for bar in bars] == [True, True, False, False]
    assert bars[0] is not None
    assert bars[1] is not None
    assert (bars[0].get("stroke-dasharray"), bool(bars[1].get("stroke-dasharray"))) == (None, True)


def test_the_top_units_are_framed_among_words_and_patches_alike(compared: Compared) -> None:
    page = parsed_heatmap(compared("good", methods={"lime": SCORES}, weights=SCORES, image=GREY), percent=40)
    framed = [len(tile.findall("rect")) == 2 for tile in page.findall("svg/g")]
    assert framed == [True, False, False, False]  # and the word is the second of two in five


def test_the_heatmap_has_the_shares_of_image_and_text(compared: Compared) -> None:
    page = parsed_heatmap(compared("good", methods={"lime": SCORES}, weights=SCORES, image=GREY))
    # 1.5 of 1.75 is on patches
    assert "image 86 % · text 14 % of the importance" in "".join(page.itertext())


def test_a_text_alone_has_no_image(compared: Compared) -> None:
    attribution = compared("good").results[0].attribution
    assert overlay(attribution, ["red"], ["title"], [False]) == ""
    assert "<svg" not in heatmap(attribution, "positive")


def test_the_document_contains_the_image_and_makes_no_request(compared: Compared) -> None:
    page = document(compared("good", methods={"lime": SCORES}, weights=SCORES, image=GREY))
    assert page.count('<image href="data:image/png;base64,') == 2  # above, and under the colours
    assert "img-src data:" in page
    assert not re.search(r'(?:href|src)="(?!data:|#)', page)


def test_the_name_of_a_patch_is_escaped(compared: Compared) -> None:
    attribution = compared("good", methods={"lime": SCORES}, weights=SCORES, image=GREY).results[0].attribution
    attack = '"><script>alert(1)</script>'
    assert "<script" not in overlay(attribution, ["red"] * 5, [attack] * 5, [True] * 5)


@pytest.mark.parametrize(
    ("share", "line"),
    [
        (None, ""),
        (0.0, "image 0 % · text 100 % of the importance"),
        (1 / 3, "image 33 % · text 67 % of the importance"),
    ],
)
def test_the_shares_as_a_line(share: float | None, line: str) -> None:
    assert share_line(share) == line


def test_units_are_named_by_what_they_are(compared: Compared) -> None:
    words, both = compared("good"), compared("good", methods={"lime": SCORES}, weights=SCORES, image=GREY)
    word, patch = both.decision.encoding.units[:2]
    assert (name_of_units(words.decision), name_of_units(both.decision)) == ("word", "unit")
    assert [plural(name) for name in ("word", "patch")] == ["words", "patches"]
    assert quoted_unit(word, word.text) == "“good”"
    assert quoted_unit(patch, patch.text) == "the patch in row 1, column 1"


def test_the_summary_names_patches_and_units(compared: Compared) -> None:
    first, second = (0.0, 1.0, 0.0, 0.0, 0.0), (0.1, 1.0, 0.2, 0.3, 0.0)
    text = summary(compared("good", methods={"lime": first, "occlusion": second}, weights=first, image=GREY))
    assert text.endswith("LIME and Occlusion rank the patch in row 1, column 1 first.")
    nobody = summary(compared("good", methods={"lime": first, "occlusion": first[::-1]}, weights=first, image=GREY))
    assert nobody.endswith("LIME and Occlusion do not rank the same unit first.")


def test_the_heat_maps_of_all_methods_are_one_file(compared: Compared) -> None:
    methods = {"lime": SCORES, "occlusion": SCORES, "attention_mean": (0.2,) * 5, "integrated_gradients": (0.0,) * 5}
    comparison = compared("good", methods=methods, weights=SCORES, image=GREY, labels=("no", "$x^2$ فيلم"))
    figure = plots.draw_heatmaps(comparison)
    assert [len(axis.patches) for axis in figure.axes] == [4, 4, 4, 4, 0, 0]
    assert figure.axes[0].patches[1].get_facecolor() == pytest.approx((222 / 255, 104 / 255, 8 / 255, 0.7))
    assert plots.heatmaps_png(comparison).startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no image"):
        plots.heatmaps_png(compared("good"))
